package archive

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
)

// TestModuleNames checks that `go install` accepts the names of all files. It refuses a module with a name that some
// system does not allow, such as "nul".
func TestModuleNames(t *testing.T) {
	require.NoError(t, filepath.WalkDir("..", func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == ".." {
			return err
		}
		if base := e.Name(); e.IsDir() && (base == "bin" || base[0] == '.') {
			return fs.SkipDir
		}
		rel, err := filepath.Rel("..", name)
		if err == nil && !e.IsDir() {
			err = module.CheckFilePath(filepath.ToSlash(rel))
		}
		return err
	}))
}
