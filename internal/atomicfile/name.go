package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// tmpMark occurs in names of temporary files: .NAME.cdfz-tmp and eight hex digits.
const tmpMark = ".cdfz-tmp"

// tmpName returns a new temporary name for a target.
func tmpName(base string) string {
	return fmt.Sprintf(".%s%s%08x", shortBase(base), tmpMark, rand.Uint32())
}

// maxBase is the number of bytes of a name that its temporary names keep. Most file systems
// limit names to 255 bytes.
const maxBase = 220

// shortBase returns the part of a name that temporary names keep.
func shortBase(base string) string { return base[:min(len(base), maxBase)] }

// TemporaryLen returns the number of bytes of the temporary names of a target with this name.
func TemporaryLen(base string) int { return len(tmpName(base)) }

// baseOf returns the NAME of a name such as .NAME.MARK01234567, with eight hex digits.
func baseOf(name, mark string) (base string, ok bool) {
	at := len(name) - len(mark) - 8
	if at < 1 || name[0] != '.' || name[at:len(name)-8] != mark || strings.Trim(name[len(name)-8:], "0123456789abcdef") != "" {
		return "", false
	}
	return name[1:at], true
}

// IsTemporary reports whether a file name has the form that Create uses for files being
// written.
func IsTemporary(name string) bool {
	_, ok := baseOf(filepath.Base(name), tmpMark)
	return ok
}

// openNamed makes a file with a temporary name and locks it if possible.
func openNamed(in *place, base string, mode fs.FileMode) (*os.File, string, error) {
	for range 100 {
		name := tmpName(base)
		f, err := in.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		switch err := sys.lock(f); {
		case unsupported(err):
			return f, name, nil // no other process can lock it either
		case err == nil && isNamed(f, in.Lstat, name):
			return f, name, nil
		}
		// Between open and lock, another process took it for a stale file.
		f.Close()
		sys.remove(in, name)
	}
	return nil, "", errors.New("no temporary name is free")
}

// isNamed reports whether an open file still has this name.
func isNamed(f *os.File, stat func(string) (fs.FileInfo, error), name string) bool {
	now, err := stat(name)
	if err != nil {
		return false
	}
	st, err := f.Stat()
	return err == nil && os.SameFile(st, now)
}

// cleaned holds the folders from which this process has removed stale files. The value of a folder
// is the list of files set aside in it that could not be put back.
var cleaned sync.Map

// RemoveStale removes the temporary files that killed programs have left in a folder, once
// per folder and process, so that work on many files of a large folder takes linear time.
// [Create] does the same. It may be called concurrently.
func RemoveStale(dir string) {
	if _, done := cleaned.Load(filepath.Clean(dir)); done {
		return
	}
	if in, err := openPlace(dir); err == nil {
		in.removeStale()
		in.Close()
	}
}

// removeStale removes the temporary files of killed programs from a folder, which are not
// locked, and puts back the files that these programs were removing.
func (p *place) removeStale() {
	if _, done := cleaned.LoadOrStore(p.path, []string(nil)); done || p.f == nil {
		return
	}
	var left []string
	defer func() { cleaned.Store(p.path, left) }()
	for {
		names, err := p.f.Readdirnames(1000)
		for _, n := range names {
			switch {
			case IsTemporary(n):
				p.removeUnlocked(n)
			case IsAside(n):
				if _, ok := p.putBack(n); !ok {
					left = append(left, n)
				}
			}
		}
		if err != nil {
			return
		}
	}
}

// removeEqual removes files set aside that are equal to the new file of a target: a program was
// killed that was to replace the target with it.
func (p *place) removeEqual(base string) {
	left, _ := cleaned.Load(p.path)
	names, _ := left.([]string)
	for _, n := range names {
		if b, _ := baseOf(n, asideMark); b == base {
			p.putBack(n)
		}
	}
}

func (p *place) removeUnlocked(name string) {
	st, err := p.Lstat(name)
	if err != nil || !st.Mode().IsRegular() {
		return
	}
	f, err := p.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) { // it has the permissions of its source already
		f, err = p.OpenFile(name, os.O_RDONLY, 0)
	}
	if err != nil {
		return
	}
	stale := sys.lock(f) == nil
	if stale && removesOpen {
		sys.remove(p, name)
	}
	f.Close()
	if stale && !removesOpen {
		sys.remove(p, name)
	}
}
