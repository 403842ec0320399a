package atomicfile

import (
	"errors"
	"io/fs"
	"sync"
	"syscall"
)

// unlinkable holds the file systems where files without a name can be made but not named, by the numbers of their
// folders: some overlays and some FUSE and network file systems. Files there have a temporary name from the start.
var unlinkable sync.Map // of uint64

// volume returns the number of the file system of a folder.
func (p *place) volume() (dev uint64, ok bool) {
	if p.f == nil {
		return 0, false
	}
	id, ok := idOf(p.f)
	return id.dev, ok
}

// triesUnnamed reports whether a file without a name may be made in a folder.
func (p *place) triesUnnamed() bool {
	dev, ok := p.volume()
	if !ok {
		return true
	}
	_, known := unlinkable.Load(dev)
	return !known
}

// cannotName reports whether an error of nameUnnamed means that the file system cannot name such files. A folder
// that is gone is among these errors, but then there is no temporary name in it either.
func cannotName(err error) bool {
	if errors.Is(err, fs.ErrExist) {
		return false
	}
	for _, e := range []error{syscall.EXDEV, syscall.EISDIR, syscall.ENOENT, syscall.EPERM, syscall.EACCES, syscall.EMLINK, syscall.ELOOP} {
		if errors.Is(err, e) {
			return true
		}
	}
	return unsupported(Cause(err))
}

// link gives the complete file without a name a name, which must be free. On file systems that cannot do this, it
// copies the file to one with a temporary name, which is in t.tmp then and has to be renamed. done tells which.
func (t *File) link(name string) (done bool, err error) {
	_ = sys.lock(t.f) // the name may be temporary
	err = sys.nameUnnamed(t.f, t.in, name)
	if err == nil || !cannotName(err) {
		return err == nil, err
	}
	f, tmp, tmpErr := openNamed(t.in, t.base, 0o600)
	if tmpErr != nil {
		return false, err
	}
	if dev, ok := t.in.volume(); ok {
		unlinkable.Store(dev, nil)
	}
	t.setDirect(false)
	unnamed := t.f
	t.f, t.tmp = f, tmp
	defer unnamed.Close()
	st, err := unnamed.Stat()
	if err != nil {
		return false, err
	}
	_ = f.Chmod(st.Mode().Perm())
	if _, err := unnamed.Seek(0, 0); err != nil {
		return false, err
	}
	if _, err := f.ReadFrom(unnamed); err != nil {
		return false, err
	}
	return false, t.complete()
}
