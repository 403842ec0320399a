package fileio

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNamesInTurn changes a file in place under two names: the second one waits for the first, and has the size that it left.
func TestNamesInTurn(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.cdfz"), filepath.Join(dir, "b.cdfz")
	require.NoError(t, os.WriteFile(a, []byte("some bytes"), 0o666))
	if err := os.Link(a, b); err != nil {
		t.Skip(err)
	}
	r := newRun()
	first, err := r.OpenToChange(t.Context(), File{Name: a})
	require.NoError(t, err)
	opened := make(chan error)
	var second *Input
	go func() {
		var err error
		second, err = r.OpenToChange(t.Context(), File{Name: b})
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatal("opened under both names", err)
	case <-time.After(100 * time.Millisecond):
	}
	require.NoError(t, first.File.Truncate(4))
	require.NoError(t, first.Close())
	require.NoError(t, <-opened)
	defer second.Close()
	require.EqualValues(t, 4, second.Size)
}
