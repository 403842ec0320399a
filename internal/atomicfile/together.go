package atomicfile

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// togetherBelow is the size in bytes below which files are flushed together. Writing a larger
// file takes longer than flushing it.
const togetherBelow = 1 << 20

// slowFlush is the time after which a flush of a file system is assumed to wait for the data of
// other programs. For ten times as long as it took, files then flush themselves.
const slowFlush = 2 * time.Second

// flushEvery is the time between the flushes of a volume. Each of them costs more than its files.
const flushEvery = 25 * time.Millisecond

// volume flushes the files that are being written on one file system. One flush serves all
// waiting files and takes little longer than a flush of one file.
type volume struct {
	flusher Flusher
	id      uint64
	files   int // being written; guarded by volumes, like waiting
	waiting int // files that wait for the next flush
	// full receives a value when all files wait.
	full chan struct{}
	last time.Time // end of the last flush; used by flusher
	// folder is a folder on the file system. It was opened before the files were written, so
	// that the system reports their errors on it.
	folder *os.File
	// failed is set after an error: files must flush themselves. The system reports an error
	// once, but it may concern a file that did not wait for that flush.
	failed atomic.Bool
	slow   atomic.Int64 // files flush themselves until this time in nanoseconds
}

// volumes are the file systems with files that are being written.
var volumes = struct {
	sync.Mutex
	of map[uint64]*volume
}{of: map[uint64]*volume{}}

var errAlone = errors.New("files must flush themselves")

// useVolume returns the volume of a new file in a folder, or nil if it must flush itself. The
// caller must call release.
func useVolume(f *os.File, in *place) *volume {
	id, ok := sys.volumeOf(f)
	if !ok {
		return nil
	}
	volumes.Lock()
	defer volumes.Unlock()
	v := volumes.of[id]
	if v == nil {
		folder, err := in.OpenFile(".", os.O_RDONLY, 0)
		if err != nil {
			return nil
		}
		if other, ok := sys.volumeOf(folder); !ok || other != id {
			folder.Close()
			return nil
		}
		v = &volume{id: id, folder: folder, full: make(chan struct{}, 1)}
		v.flusher.wait = v.wait
		volumes.of[id] = v
	}
	v.files++
	return v
}

// release ends the use of a volume. v may be nil.
func (v *volume) release() {
	if v == nil {
		return
	}
	volumes.Lock()
	defer volumes.Unlock()
	v.files--
	v.look()
	if v.files == 0 {
		delete(volumes.of, v.id)
		v.folder.Close()
	}
}

// look ends the wait for other files if all wait.
func (v *volume) look() {
	if v.waiting < v.files {
		return
	}
	select {
	case v.full <- struct{}{}:
	default:
	}
}

// arrive counts a file that waits for the next flush.
func (v *volume) arrive() {
	volumes.Lock()
	defer volumes.Unlock()
	v.waiting++
	v.look()
}

// wait gives other files time to wait for the same flush.
func (v *volume) wait() {
	timer := time.NewTimer(time.Until(v.last.Add(flushEvery)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-v.full:
	}
	volumes.Lock()
	defer volumes.Unlock()
	v.waiting = 0
}

// alone reports whether files must flush themselves.
func (v *volume) alone() bool { return v.failed.Load() || time.Now().UnixNano() < v.slow.Load() }

// flush writes all that was written on the file system before the call to disk, unless it
// returns an error. v may be nil.
func (v *volume) flush() error {
	if v == nil || v.alone() {
		return errAlone
	}
	v.arrive()
	err := v.flusher.Do(func() error {
		if v.alone() {
			return errAlone
		}
		start := time.Now()
		err := sys.flushVolume(v.folder)
		v.last = time.Now()
		if err != nil {
			v.failed.Store(true)
		}
		if took := v.last.Sub(start); took > slowFlush {
			v.slow.Store(v.last.Add(10 * took).UnixNano())
		}
		return err
	})
	if err == nil && v.failed.Load() {
		return errAlone
	}
	return err
}
