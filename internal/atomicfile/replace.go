package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// name gives the complete file the name of the target, which must be free.
func (t *File) name() error {
	if t.tmp == "" {
		if done, err := t.link(t.base); done || err != nil {
			return err
		}
	}
	left, err := renameNew(t.in, t.tmp, t.base)
	if left != "" {
		t.left = t.in.join(left)
	}
	return err
}

// replace replaces the file that has the name of the target. It returns false if that is no
// longer the file that MayReplace has judged.
//
// If the system can exchange two names, the replaced file is checked before it is removed, and
// put back if it is not the judged one. On other systems, a file is lost that another program
// gives this name between the last check and the renaming.
func (t *File) replace() (done bool, err error) {
	named, led, err := t.inTheWay()
	if err != nil || named == nil {
		return false, err
	}
	if err := t.judge(led); err != nil {
		return false, err
	}
	if err := t.stage(); err != nil {
		return false, err
	}
	switch err := sys.exchange(t.in, t.tmp, t.base); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case unsupported(Cause(err)):
		return t.renameOver(named)
	case err != nil:
		return false, err
	}
	if now, err := t.in.Lstat(t.tmp); err == nil && unchanged(now, named) {
		// Another program may have taken it for the file of a killed one.
		if err := sys.remove(t.in, t.tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.left = t.in.join(t.tmp)
		}
		t.in.removeEqual(t.base)
		return true, nil
	}
	if err = sys.exchange(t.in, t.tmp, t.base); err == nil {
		if isNamed(t.f, t.in.Lstat, t.tmp) {
			return false, nil
		}
		err = errMoved
	}
	kept := t.in.join(t.tmp)
	t.tmp = "" // it is not ours
	return false, fmt.Errorf("another program replaced the target meanwhile, with a file that is now %s (%v)", kept, err)
}

// judge asks MayReplace about an existing file.
func (t *File) judge(old fs.FileInfo) error {
	if t.o.MayReplace == nil {
		return nil
	}
	new, f := io.ReaderAt(t), t.f
	if t.tmp != "" && !removesOpen { // it is closed
		var err error
		if f, err = t.in.OpenFile(t.tmp, os.O_RDONLY, 0); err != nil {
			return err
		}
		defer f.Close()
		new = f
	}
	st, err := f.Stat()
	if err != nil {
		return err
	}
	return t.o.MayReplace(old, new, st.Size())
}

// unchanged reports whether two descriptions are of one file in one state.
func unchanged(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.Mode() == b.Mode() && a.ModTime().Equal(b.ModTime())
}

// renameOver replaces the target if it is still the file that was judged.
func (t *File) renameOver(judged fs.FileInfo) (done bool, err error) {
	now, err := t.in.Lstat(t.base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !unchanged(now, judged):
		return false, nil
	}
	err = sys.rename(t.in, t.tmp, t.base)
	return err == nil, err
}

// stage gives the complete file a name that can be exchanged with that of the target. It is the
// name of a file that is being removed, which the replaced file has after the exchange: if the
// program is killed then, the replaced file is put back and not removed.
func (t *File) stage() error {
	if t.tmp != "" && !IsTemporary(t.tmp) {
		return nil
	}
	for {
		name := asideName(t.base)
		done, err := false, error(nil)
		if t.tmp == "" {
			done, err = t.link(name)
		}
		if !done && err == nil {
			_, err = renameNew(t.in, t.tmp, name)
		}
		if err == nil {
			t.tmp = name
			return nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}
