package protect

import (
	"io/fs"
	"os"

	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/nofollow"
)

// RemoveArchive deletes an archive that another one replaces, if its name still belongs to the file that st describes,
// and check, which may be nil, returns nil. The caller must have asked Vouched, or leave the file another name.
func RemoveArchive(dir *os.Root, name string, st fs.FileInfo, check func() error) error {
	f, now, err := nofollow.File(dir, name, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if !os.SameFile(now, st) {
		return nofollow.ErrReplaced
	}
	return atomicfile.Remove(dir, name, f, func() error {
		if check == nil {
			return nil
		}
		return check()
	})
}
