package treefile

import (
	"bytes"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// FuzzRead reads tree files. What is read has no path that leads out, and is written again.
func FuzzRead(f *testing.F) {
	s := seeds.Of(f)
	tree, err := New(sample())
	require.NoError(f, err)
	whole := written(f, tree)
	s.AddDamaged("whole", whole)
	s.Add("head", text())
	s.Add("out", text(`{"path":".","kind":"folder"}`, `{"path":"../x","kind":"plain"}`))
	s.Add("loop", text(`{"path":".","kind":"folder"}`, `{"path":"x","kind":"hardlink","to":"x"}`))
	s.Add("newer", []byte("{\"cdfz_tree\":2}\n"))
	s.Add("lines", bytes.Repeat([]byte("{}\n"), 100))
	f.Fuzz(func(t *testing.T, b []byte) {
		tree, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		for i := range tree.Entries() {
			e := &tree.Entries()[i]
			for _, p := range []string{e.Path, e.Stored(), e.Placed()} {
				require.False(t, path.IsAbs(p) || p == ".." || strings.HasPrefix(path.Clean(p), "../"), p)
			}
			require.NotNil(t, tree.Linked(e))
		}
		again := written(t, tree)
		got, err := Read(bytes.NewReader(again))
		require.NoError(t, err)
		require.Equal(t, again, written(t, got))
	})
}
