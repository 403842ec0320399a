package parity_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/parity"
)

// refusing is a disk with an error in the sector that holds byte at.
type refusing struct {
	io.ReaderAt
	at  int64
	err error
}

func (r refusing) ReadAt(p []byte, off int64) (int, error) {
	if off <= r.at && r.at < off+int64(len(p)) {
		return 0, r.err
	}
	return r.ReaderAt.ReadAt(p, off)
}

// TestCopy loses no more than the sector that the disk refuses to read, and fails if the
// source does.
func TestCopy(t *testing.T) {
	const bad = 5
	src := bytes.Repeat([]byte("x"), 1<<20+3*sector+7)
	want := bytes.Clone(src)
	clear(want[bad*sector : (bad+1)*sector])
	f, err := os.Create(filepath.Join(t.TempDir(), "copy"))
	require.NoError(t, err)
	defer f.Close()
	r := refusing{bytes.NewReader(src), bad*sector + 9, syscall.EIO}
	require.NoError(t, parity.Copy(t.Context(), f, r, int64(len(src))))
	got, err := os.ReadFile(f.Name())
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))
	r.err = errors.New("no connection")
	require.ErrorIs(t, parity.Copy(t.Context(), f, r, int64(len(src))), r.err)
}
