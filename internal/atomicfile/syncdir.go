package atomicfile

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/cdfz-format/cdfz/internal/future"
)

// SyncDir writes the names in a folder to disk. Calls for a folder at the same time share
// the work: one call flushes for all that were waiting when it began. Systems and file
// systems that cannot flush folders are no error.
func SyncDir(dir string) error {
	f, err := os.Open(filepath.Clean(dir))
	if err != nil {
		return err
	}
	defer f.Close()
	return syncOpen(f)
}

// SyncRoot is SyncDir for an open folder.
func SyncRoot(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return syncOpen(f)
}

// sync is SyncDir. It does nothing for a folder that cannot be read.
func (p *place) sync() error {
	if p.f == nil {
		return nil
	}
	return syncOpen(p.f)
}

func syncOpen(dir *os.File) error {
	flush := func() error {
		err := syncFolder(dir)
		if unsupported(Cause(err)) {
			return nil
		}
		return err
	}
	id, ok := idOf(dir)
	if !ok {
		return flush()
	}
	// By number, since a path may lead to another folder meanwhile.
	v, _ := syncs.LoadOrStore(id, new(Flusher))
	return v.(*Flusher).Do(flush)
}

var syncs sync.Map // of *Flusher, by fileID

// fileID are the numbers of a file: those of its file system and in it.
type fileID struct{ dev, ino uint64 }

// Flusher flushes something for several callers. The zero value is ready. It is safe for
// concurrent use.
type Flusher struct {
	mu   sync.Mutex               // held while flushing
	lock sync.Mutex               // of next
	next *future.Future[struct{}] // the flush of the callers that wait
	// wait, if not nil, is called before a flush. Callers until its end share the flush.
	wait func()
}

// Do calls f, or waits for another caller's f that begins after this call.
func (d *Flusher) Do(f func() error) error {
	d.lock.Lock()
	n, first := d.next, d.next == nil
	if first {
		n = future.New[struct{}]()
		d.next = n
	}
	d.lock.Unlock()
	if !first {
		_, err := n.Get()
		return err
	}
	_, err := n.Make(func() (none struct{}, err error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.wait != nil {
			d.wait()
		}
		// Callers from now on wait for another flush: this one may be too early for them.
		d.lock.Lock()
		d.next = nil
		d.lock.Unlock()
		return none, f()
	})
	return err
}
