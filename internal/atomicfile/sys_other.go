//go:build !linux

package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

func openUnnamed(*place, string, fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

func nameUnnamed(*os.File, *place, string) error { return errors.ErrUnsupported }

func procPath(*os.File) string { return "" }

// startFlush does nothing, since other systems have no call for it.
func startFlush(*os.File, int64, int64) {}

// hasHoles reports whether a file system has holes, as all of Unix may. Windows has them in files that
// are marked alone.
func hasHoles(*os.File) bool { return removesOpen }

func punch(*os.File, int64, int64) error { return errors.ErrUnsupported }

func setDirect(*os.File, bool) error { return errors.ErrUnsupported }

func setTime(*os.File, time.Time) error { return errors.ErrUnsupported }

// SetModified returns [errors.ErrUnsupported].
func SetModified(*os.File, time.Time) error { return errors.ErrUnsupported }

func renameFree(*place, string, string) error { return errors.ErrUnsupported }

// volumeOf returns false: other systems have no flush for a file system that waits and reports
// errors.
func volumeOf(*os.File) (id uint64, ok bool) { return 0, false }

func flushVolume(*os.File) error { return errors.ErrUnsupported }

// syncTree writes the files in a folder to disk.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return SyncDir(name)
		}
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		return f.Sync()
	})
}

// SetLinkAttributes returns [errors.ErrUnsupported].
func SetLinkAttributes(*os.Root, string, int, int, time.Time) error { return errors.ErrUnsupported }
