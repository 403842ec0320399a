package protect

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/receiptfile"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/storage"
	"github.com/cdfz-format/cdfz/internal/storage/storagetest"
)

func TestMain(m *testing.M) {
	done := storagetest.OnDisk()
	code := m.Run()
	done()
	os.Exit(code)
}

// TestDelete lists the sources that are kept.
func TestDelete(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	name := filepath.Join(dir, "a")
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	open := func() (*os.File, os.FileInfo) {
		f, err := os.Open(name)
		require.NoError(t, err)
		t.Cleanup(func() { f.Close() })
		st, err := f.Stat()
		require.NoError(t, err)
		return f, st
	}
	write(name, "abc")
	f, st := open()
	require.NoError(t, Delete(root, "a", f, st))
	require.NoFileExists(t, name)
	write(name, "abc")
	require.NoError(t, os.Symlink(name, filepath.Join(dir, "link")))
	f, st = open()
	require.ErrorContains(t, Delete(root, "link", f, st), "symbolic link")
	require.FileExists(t, name)

	// Another name of the file is removed meanwhile.
	hard := filepath.Join(dir, "hard")
	require.NoError(t, os.Link(name, hard))
	f, st = open()
	require.NoError(t, os.Remove(hard))
	require.NoError(t, Delete(root, "a", f, st))

	// The same size and time, but other bytes.
	write(name, "abc")
	f, st = open()
	time.Sleep(20 * time.Millisecond) // longer than the clock of the file system ticks
	write(name, "xyz")
	require.NoError(t, os.Chtimes(name, st.ModTime(), st.ModTime()))
	if runtime.GOOS == "linux" { // others do not tell
		require.ErrorContains(t, Delete(root, "a", f, st), "changed")
	}
	write(name, "more")
	require.ErrorContains(t, Delete(root, "a", f, st), "changed")
	f, st = open()
	require.NoError(t, os.Rename(name, hard))
	require.ErrorIs(t, Delete(root, "a", f, st), ErrKept)
	write(name, "more")
	require.ErrorContains(t, Delete(root, "a", f, st), "another file has its name")
	require.FileExists(t, name)
	require.FileExists(t, hard)
	if runtime.GOOS == "linux" {
		f, st = open()
		other, _ := open()
		require.NoError(t, atomicfile.Lock(other))
		require.ErrorContains(t, Delete(root, "a", f, st), "locked")
		require.FileExists(t, name)
	}
}

// TestDeletedMeanwhile deletes or moves a source while it is read: another run may do so because of the archive
// that is to go.
func TestDeletedMeanwhile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a")
	r := &receiptfile.Receipt{Source: name, Size: 3, SHA256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}
	for what, meanwhile := range map[string]func() error{
		"nothing": func() error { return nil },
		"delete":  func() error { return os.Remove(name) },
		"move":    func() error { return os.Rename(name, name+".old") },
	} {
		require.NoError(t, os.WriteFile(name, []byte("abc"), 0o600))
		ctx := &looked{Context: t.Context(), do: meanwhile}
		why, err := SourceLost(ctx, new(storage.Mounts), r)
		require.NoError(t, err)
		require.NoError(t, ctx.err)
		require.Equal(t, what == "nothing", why == "", "%s: %s", what, why)
	}
}

// looked calls do when it is first asked for its error.
type looked struct {
	context.Context
	do  func() error
	err error
}

func (c *looked) Err() error {
	if c.do != nil {
		c.err, c.do = c.do(), nil
	}
	return c.Context.Err()
}
