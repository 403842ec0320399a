//go:build unix

package joinedfiles

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// odd makes files that are named like descriptions and are none, and returns their names.
func odd(t *testing.T, dir string) []string {
	names := []string{"folder.ncml", "fifo.ncml"}
	if err := os.Mkdir(filepath.Join(dir, names[0]), 0o700); err != nil {
		require.ErrorIs(t, err, os.ErrExist)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, names[1]), 0o600); err != nil {
		require.ErrorIs(t, err, os.ErrExist)
	}
	if s, err := net.Listen("unix", filepath.Join(dir, "s.ncml")); err == nil {
		t.Cleanup(func() { s.Close() })
		names = append(names, "s.ncml")
	}
	return names
}
