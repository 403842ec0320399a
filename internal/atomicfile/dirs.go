package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// made holds the folders that this process has made and that no finished file is in yet,
// with the number of files being written that need them.
var made = struct {
	sync.Mutex
	uses map[string]int
}{uses: map[string]int{}}

// makeDirs makes the missing folders of a path. It returns those that are gone unless the
// caller keeps them, outermost first. The caller must call keepDirs or removeDirs.
func makeDirs(dir string) ([]string, error) {
	made.Lock()
	defer made.Unlock()
	var dirs []string
	for d := dir; d != filepath.Dir(d); d = filepath.Dir(d) {
		if _, err := os.Stat(d); made.uses[d] == 0 && !errors.Is(err, fs.ErrNotExist) {
			break
		}
		dirs = append(dirs, d)
	}
	slices.Reverse(dirs)
	for i, d := range dirs {
		if err := os.Mkdir(d, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			release(dirs[:i])
			return nil, err
		}
		made.uses[d]++
	}
	return dirs, nil
}

// keepDirs makes folders stay.
func keepDirs(dirs []string) {
	made.Lock()
	defer made.Unlock()
	for _, d := range dirs {
		delete(made.uses, d)
	}
}

// removeDirs removes folders that no other file needs.
func removeDirs(dirs []string) {
	made.Lock()
	defer made.Unlock()
	release(dirs)
}

func release(dirs []string) {
	for _, d := range slices.Backward(dirs) {
		n, ok := made.uses[d]
		if !ok {
			continue // a finished file is in it
		}
		if n > 1 {
			made.uses[d] = n - 1
			continue
		}
		delete(made.uses, d)
		os.Remove(d) // fails if in use by another program
	}
}
