package atomicfile

import (
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/cdfz-format/cdfz/internal/nofollow"
)

// Clone lets a new file share all bytes of another one, so that they take no room. It returns false if the file system
// cannot do that. Nothing may have been written before.
func (t *File) Clone(src *os.File) bool {
	if t.size > 0 || !clone(t.f, src) {
		return false
	}
	st, err := t.f.Stat()
	if err != nil {
		return false
	}
	t.size, t.flushed = st.Size(), st.Size()
	_, err = t.f.Seek(0, io.SeekEnd)
	return err == nil
}

// MakeFolder makes a folder below another one, with those above it, if it is missing. Links are not followed.
// rights is as Options.FolderRights.
func MakeFolder(root *os.Root, rel string, rights func(rel string) func(f *os.File)) error {
	p, dirs, err := below(root, rel, true, rights)
	if err != nil {
		return err
	}
	p.Close()
	syncDirs(root, dirs)
	keepDirs(root, dirs)
	return nil
}

// RemoveLink removes the symbolic link with a name, if it has the text to. Another file that has the name meanwhile gets
// it back.
func RemoveLink(dir *os.Root, name, to string) error {
	in := &place{lookup: dir, path: dir.Name()}
	var err error
	if in.f, err = dir.Open("."); err != nil {
		return err
	}
	defer in.f.Close()
	is := func(name string) error {
		st, err := dir.Lstat(name)
		if err != nil {
			return err
		}
		if st.Mode()&fs.ModeSymlink == 0 {
			return nofollow.ErrReplaced
		}
		if now, err := dir.Readlink(name); err != nil || now != to {
			return nofollow.ErrReplaced
		}
		return nil
	}
	if err := is(name); err != nil {
		return err
	}
	aside, err := moveAside(in, name)
	if err != nil {
		return err
	}
	if err = is(aside); err == nil {
		if err = sys.remove(in, aside); err == nil {
			return nil
		}
	}
	if _, back := renameNew(in, aside, name); back != nil {
		err = fmt.Errorf("%w; the file is now %s: %w", err, in.join(aside), Cause(back))
	}
	return err
}

// RemoveFolder removes an empty folder from another one. It never removes anything else.
func RemoveFolder(dir *os.Root, name string) { removeDir(dir, name) }
