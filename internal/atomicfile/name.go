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

// tmpMark is in the names of temporary files: .NAME.cdfz-tmp and eight hex digits.
const tmpMark = ".cdfz-tmp"

// tmpPath returns a new temporary name for a target.
func tmpPath(dir, base string) string {
	// 255 bytes is the longest name of most file systems.
	if len(base) > 220 {
		base = base[:220]
	}
	return filepath.Join(dir, fmt.Sprintf(".%s%s%08x", base, tmpMark, rand.Uint32()))
}

var tmpPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^\..*` + regexp.QuoteMeta(tmpMark) + `[0-9a-f]{8}$`)
})

// IsTemporary reports whether a file name is one that Create uses for files that
// are being written.
func IsTemporary(name string) bool {
	return strings.Contains(name, tmpMark) && tmpPattern().MatchString(filepath.Base(name))
}

// openNamed makes a file with a temporary name, and locks it where there are locks.
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
			return f, name, nil // nobody else can lock it either
		case err == nil && isNamed(f, name):
			return f, name, nil
		}
		// Another process took it for a stale one between open and lock.
		f.Close()
		sys.remove(name)
	}
	return nil, "", errors.New("no temporary name is free")
}

// isNamed reports whether a name is still that of an open file.
func isNamed(f *os.File, name string) bool {
	now, err := os.Stat(name)
	if err != nil {
		return false
	}
	st, err := f.Stat()
	return err == nil && os.SameFile(st, now)
}

// cleaned has the folders that this process removed stale files from.
var cleaned sync.Map

// removeStaleOnce calls removeStale for each folder once per process, so that
// writing many files into a large folder stays linear.
func removeStaleOnce(dir string) {
	if _, done := cleaned.LoadOrStore(dir, true); !done {
		removeStale(dir)
	}
}

// removeStale removes the temporary files in a folder that killed programs left:
// those that nobody has locked.
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
