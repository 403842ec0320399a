package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// tmpMark occurs in names of temporary files: .NAME.cdfz-tmp and eight hex digits.
const tmpMark = ".cdfz-tmp"

// tmpPath returns a new temporary name for a target.
func tmpPath(dir, base string) string {
	return filepath.Join(dir, fmt.Sprintf(".%s%s%08x", shortBase(base), tmpMark, rand.Uint32()))
}

// shortBase returns a name without what would make a temporary name too long: most file
// systems limit names to 255 bytes.
func shortBase(base string) string { return base[:min(len(base), 220)] }

var tmpPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^\..*` + regexp.QuoteMeta(tmpMark) + `[0-9a-f]{8}$`)
})

// IsTemporary reports whether a file name has the form that Create uses for files being
// written.
func IsTemporary(name string) bool {
	return strings.Contains(name, tmpMark) && tmpPattern().MatchString(filepath.Base(name))
}

// openNamed makes a file with a temporary name and locks it if possible.
func openNamed(dir, base string, mode fs.FileMode) (*os.File, string, error) {
	for range 100 {
		name := tmpPath(dir, base)
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		switch err := sys.lock(f); {
		case unsupported(err):
			return f, name, nil // no other process can lock it either
		case err == nil && isNamed(f, name):
			return f, name, nil
		}
		// Between open and lock, another process took it for a stale file.
		f.Close()
		sys.remove(name)
	}
	return nil, "", errors.New("no temporary name is free")
}

// isNamed reports whether an open file still has this name.
func isNamed(f *os.File, name string) bool {
	now, err := os.Stat(name)
	if err != nil {
		return false
	}
	st, err := f.Stat()
	return err == nil && os.SameFile(st, now)
}

// cleaned holds the folders from which this process has removed stale files.
var cleaned sync.Map

// RemoveStale removes the temporary files that killed programs have left in a folder, once
// per folder and process, so that work on many files of a large folder takes linear time.
// [Create] calls it. It may be called concurrently.
func RemoveStale(dir string) {
	if _, done := cleaned.LoadOrStore(dir, true); !done {
		removeStale(dir)
	}
}

// removeStale removes the temporary files of killed programs from a folder: those that
// are not locked.
func removeStale(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	for {
		names, err := d.Readdirnames(1000)
		for _, n := range names {
			if IsTemporary(n) {
				removeUnlocked(filepath.Join(dir, n))
			}
		}
		if err != nil {
			return
		}
	}
}

func removeUnlocked(name string) {
	st, err := os.Lstat(name)
	if err != nil || !st.Mode().IsRegular() {
		return
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) { // it has the permissions of its source already
		f, err = os.Open(name)
	}
	if err != nil {
		return
	}
	stale := sys.lock(f) == nil
	if stale && removesOpen {
		sys.remove(name)
	}
	f.Close()
	if stale && !removesOpen {
		sys.remove(name)
	}
}
