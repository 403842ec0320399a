package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Hold keeps a name of a folder for this process until it is closed. It is not safe for concurrent use.
type Hold struct {
	t *File
	f *os.File // nil where there are no locks
}

// HoldName keeps a name of a folder, which no file needs to have, so that programs which agree on it take turns: the error is
// ErrLocked if another one keeps it. Meanwhile a locked temporary file of this name is there, which other programs remove if this
// one is killed. MakeDirs makes missing folders, which Close removes if they are still empty; no other option counts. Nothing is
// kept if the system or the file system has no locks.
func HoldName(path string, o *Options) (*Hold, error) {
	t := &File{path: path, o: Options{MakeDirs: o != nil && o.MakeDirs}}
	dir, base := filepath.Split(path)
	if err := t.openPlace(dir); err != nil {
		t.closePlace()
		return nil, cannotWrite(filepath.Dir(path), err)
	}
	t.base = fmt.Sprintf(".%s%s%08x", shortBase(base), tmpMark, 0)
	h := &Hold{t: t}
	if err := h.lock(); err != nil {
		h.closePlace()
		return nil, err
	}
	return h, nil
}

// lock makes the file, or finds it, and locks it.
func (h *Hold) lock() error {
	const tries = 50
	var err error
	for range tries {
		var made bool
		if h.f, made, err = h.open(); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return cannotWrite(h.t.in.path, err)
		}
		err = sys.lock(h.f)
		switch {
		case err == nil && isNamed(h.f, h.t.in.Lstat, h.t.base):
			return nil
		case unsupported(err):
			if made {
				return h.release()
			}
			h.f.Close()
			h.f = nil
			return nil
		}
		h.f.Close()
		h.f = nil
		if err != nil {
			if !errors.Is(err, ErrLocked) {
				return err
			}
			time.Sleep(time.Millisecond) // it may be a program that removes the file of a killed one
		}
	}
	if err == nil {
		err = ErrLocked
	}
	return err
}

// open makes the file, or opens that of another program.
func (h *Hold) open() (f *os.File, made bool, err error) {
	if f, err = h.t.in.OpenFile(h.t.base, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666); !errors.Is(err, fs.ErrExist) {
		return f, true, err
	}
	if f, err = h.t.in.OpenFile(h.t.base, os.O_RDWR, 0); errors.Is(err, fs.ErrPermission) { // it is another user's
		f, err = h.t.in.OpenFile(h.t.base, os.O_RDONLY, 0)
	}
	return f, false, err
}

// release removes the file. Its lock ends last, so that no other program removes the file of a third one.
func (h *Hold) release() error {
	f := h.f
	h.f = nil
	if removesOpen {
		return errors.Join(sys.remove(h.t.in, h.t.base), f.Close())
	}
	return errors.Join(f.Close(), sys.remove(h.t.in, h.t.base))
}

func (h *Hold) closePlace() {
	removeDirs(h.t.o.Root, h.t.dirs)
	h.t.closePlace()
}

// Close lets the name go.
func (h *Hold) Close() (err error) {
	if h.f != nil {
		err = h.release()
	}
	h.closePlace()
	return err
}
