//go:build !unix

package joinedfiles

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func odd(t *testing.T, dir string) []string {
	if err := os.Mkdir(filepath.Join(dir, "folder.ncml"), 0o700); err != nil {
		require.ErrorIs(t, err, os.ErrExist)
	}
	return []string{"folder.ncml"}
}
