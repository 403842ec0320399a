package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/cdfz-format/cdfz/internal/nofollow"
)

// asideMark occurs in names of files that are being removed: .NAME.cdfz-del and eight hex digits.
const asideMark = ".cdfz-del"

// asideName returns a new name for a file that is being removed.
func asideName(base string) string {
	return fmt.Sprintf(".%s%s%08x", shortBase(base), asideMark, rand.Uint32())
}

// IsAside reports whether a file name has the form of those that Remove uses.
func IsAside(name string) bool {
	base, ok := baseOf(filepath.Base(name), asideMark)
	return ok && base != ""
}

// Remove removes the file f from a folder, if it has this name there and check returns nil. The
// error is one of package nofollow if the name belongs to another file, which stays.
//
// Systems remove names, not files, and another program may give the name to another file at any
// time. So the file is first renamed to a name that no other program knows, and put back if it
// proves to be the wrong one. If the program is killed meanwhile, the next Create in the folder
// or PutBack puts the file back.
func Remove(dir *os.Root, name string, f *os.File, check func() error) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if err := nofollow.Is(dir, name, st); err != nil {
		return err
	}
	// PutBack leaves locked files alone. Another call that has the lock is soon done.
	for n := 1; errors.Is(sys.lock(f), ErrLocked); n++ {
		if n == 50 {
			return ErrLocked
		}
		time.Sleep(2 * time.Millisecond)
		if err := nofollow.Is(dir, name, st); err != nil {
			return err
		}
	}
	in := &place{lookup: dir, path: dir.Name()}
	if in.f, err = dir.Open("."); err != nil {
		return err
	}
	defer in.f.Close()
	aside, err := moveAside(in, name)
	if err != nil {
		return err
	}
	err = nofollow.Is(dir, aside, st)
	if err == nil {
		err = check()
	}
	if err == nil {
		if err = sys.remove(in, aside); err == nil {
			return nil
		}
	}
	if _, back := renameNew(in, aside, name); back != nil {
		err = fmt.Errorf("%w; the file is now %s: %w", err, in.join(aside), Cause(back))
	}
	return err
}

// moveAside renames a file to a new name.
func moveAside(in *place, name string) (aside string, err error) {
	for range 100 {
		aside = asideName(name)
		err = sys.renameFree(in, name, aside)
		// Not by link and remove, as in renameNew: the name may belong to another file meanwhile.
		if unsupported(Cause(err)) {
			if _, err = in.Lstat(aside); err == nil {
				err = fs.ErrExist
			} else if errors.Is(err, fs.ErrNotExist) {
				err = sys.rename(in, name, aside)
			}
		}
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return aside, err
}

// PutBack restores the name of a file that a killed program was removing, and returns the name. If
// another file has it, the one set aside stays, unless nothing is lost without it: the folder has
// another name for it, or the other file has the same bytes, time and permissions. Then it is
// removed, and the name is "".
func PutBack(dir *os.Root, aside string) (name string, ok bool) {
	in := &place{lookup: dir, path: dir.Name()}
	var err error
	if in.f, err = dir.Open("."); err != nil {
		return "", false
	}
	defer in.f.Close()
	return in.putBack(aside)
}

func (p *place) putBack(aside string) (name string, ok bool) {
	base, ok := baseOf(aside, asideMark)
	if !ok || base == "" || len(base) >= maxBase { // or it may be cut off
		return "", false
	}
	st, err := p.Lstat(aside)
	if err == nil && st.Mode()&fs.ModeSymlink != 0 { // of RemoveLink, which nothing locks
		_, err = renameNew(p, aside, base)
		return base, err == nil
	}
	if err != nil || !st.Mode().IsRegular() {
		return "", false
	}
	f, err := p.OpenFile(aside, os.O_RDONLY, 0)
	if err != nil {
		return "", false
	}
	defer f.Close()
	// Where there are no locks, it may be in use.
	if sys.lock(f) != nil || !isNamed(f, p.Lstat, aside) {
		return "", false
	}
	if _, err = renameNew(p, aside, base); err == nil {
		return base, true
	}
	if errors.Is(err, fs.ErrExist) && (p.hasOther(st, aside) || p.equal(f, st, base)) {
		return "", sys.remove(p, aside) == nil
	}
	return "", false
}

// hasOther reports whether the folder has another name for a file, which is not one of a file that
// is being removed or written.
func (p *place) hasOther(st fs.FileInfo, name string) bool {
	if p.f == nil || linksOf(st) < 2 {
		return false
	}
	in, err := p.OpenFile(".", os.O_RDONLY, 0) // p.f may be amid its names
	if err != nil {
		return false
	}
	defer in.Close()
	for {
		names, err := in.Readdirnames(1000)
		for _, n := range names {
			if n == name || IsAside(n) || IsTemporary(n) {
				continue
			}
			if other, err := p.Lstat(n); err == nil && os.SameFile(st, other) {
				return true
			}
		}
		if err != nil {
			return false
		}
	}
}

// equal reports whether the file with a name has the bytes, the time and the permissions of an open
// one.
func (p *place) equal(f *os.File, st fs.FileInfo, name string) bool {
	same := func(b fs.FileInfo) bool {
		return st.Size() == b.Size() && st.Mode() == b.Mode() && st.ModTime().Equal(b.ModTime())
	}
	// It is not opened before it is known to be no FIFO.
	if now, err := p.Lstat(name); err != nil || !same(now) {
		return false
	}
	other, err := p.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer other.Close()
	a, b := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(f, a)
		m, otherErr := io.ReadFull(other, b)
		if n != m || !bytes.Equal(a[:n], b[:m]) {
			return false
		}
		if err != nil || otherErr != nil {
			now, statErr := other.Stat()
			return ended(err) && ended(otherErr) && statErr == nil && same(now)
		}
	}
}

func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }
