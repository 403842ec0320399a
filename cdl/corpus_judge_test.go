//go:build corpus && judge

package cdl

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/testdata/corpus"
)

func TestJudgeCorpus(t *testing.T) {
	s := newScale(t)
	corpus.Some(t, 3, func(t *testing.T, f corpus.File) {
		s.file(t, f.Name, f.Bytes(t))
	})
	s.report(t)
}

func TestJudgeCorpusFerret(t *testing.T) {
	s := newScale(t)
	corpus.Ferret(t, func(t *testing.T, f corpus.File) { s.file(t, f.Name, f.Bytes(t)) })
	s.report(t)
}

// TestJudgeCorpusSparse compares headers and coordinates of files of many GB that are
// mostly zeros.
func TestJudgeCorpusSparse(t *testing.T) {
	corpus.Sparse(t, func(t *testing.T, f corpus.File) {
		path := filepath.Join(t.TempDir(), f.Name)
		f.WriteFile(t, path)
		src, err := archive.Open(t.Context(), path, nil)
		require.NoError(t, err)
		defer src.Close()
		for flag, o := range map[string]Options{"-h": {Header: true}, "-c": {Coords: true}} {
			want, ok := ncdump(t, flag, path)
			require.True(t, ok)
			o.Name = Name(path)
			require.Equal(t, string(want), dump(t, src, &o))
		}
	})
}
