package receiptfile

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIndex finds receipts of several files by image and by archive, and those that are added meanwhile.
func TestIndex(t *testing.T) {
	dir := t.TempDir()
	var x Index
	open := func(name string) func(context.Context) (*Source, error) {
		return func(context.Context) (*Source, error) {
			f, err := os.Open(name)
			if err != nil {
				return nil, err
			}
			st, err := f.Stat()
			return &Source{f, st.Size(), f.Close}, err
		}
	}
	moved := testReceipt(1)
	moved.Archive = "/other/\xff.nc.cdfz"
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	addTo(t, a, testReceipt(1), testReceipt(2))
	addTo(t, b, testReceipt(3), moved)
	for _, name := range []string{a, b} {
		require.NoError(t, x.Add(t.Context(), name, open(name)))
	}
	image := func(i int) []Found {
		list, err := x.OfImage(t.Context(), testReceipt(i).SHA256)
		require.NoError(t, err)
		return list
	}
	require.Equal(t, []Found{{testReceipt(1), a}, {moved, b}}, image(1))
	require.Equal(t, []Found{{testReceipt(3), b}}, image(3))
	require.Empty(t, image(4))
	list, err := x.OfArchive(t.Context(), moved.Archive)
	require.NoError(t, err)
	require.Equal(t, []Found{{moved, b}}, list)
	list, err = x.Where(t.Context(), func(r *Receipt) bool { return r.Size == 3 })
	require.NoError(t, err)
	require.Len(t, list, 4)

	// A line is still there when it was added after.
	addTo(t, a, testReceipt(5))
	require.Len(t, image(2), 1)
	f, err := Open(b)
	require.NoError(t, err)
	require.NoError(t, f.Add(t.Context(), testReceipt(6)))
	list, err = f.Index().OfImage(t.Context(), testReceipt(6).SHA256)
	require.NoError(t, err)
	require.Equal(t, testReceipt(6), list[0].Receipt)
	require.NoError(t, f.Close())

	// Damage, another file, a file that was changed since.
	text := readFile(t, a)
	text[len(text)/2] ^= 1
	bad := filepath.Join(dir, "bad")
	require.NoError(t, os.WriteFile(bad, text, 0o600))
	var damaged *LineError
	require.ErrorAs(t, x.Add(t.Context(), bad, open(bad)), &damaged)
	require.Len(t, image(2), 1)
	require.ErrorIs(t, x.Add(t.Context(), "x", open(os.Args[0])), ErrNotReceipts)
	require.NoError(t, os.WriteFile(a, text[1:], 0o600))
	_, err = x.OfImage(t.Context(), testReceipt(2).SHA256)
	require.ErrorContains(t, err, "the file was changed meanwhile")
	require.NoError(t, os.Remove(a))
	_, err = x.OfImage(t.Context(), testReceipt(2).SHA256)
	require.ErrorIs(t, err, os.ErrNotExist)
}
