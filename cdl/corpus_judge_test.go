//go:build corpus && judge

package cdl

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/testdata/corpus"
)

// ferretData is where Debian's ferret-datasets lie.
const ferretData = "/usr/share/ferret-vis/data"

func TestJudgeCorpus(t *testing.T) {
	s := newScale(t)
	corpus.Valid(t, func(t *testing.T, f corpus.File) {
		image, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size))
		require.NoError(t, err)
		s.file(t, f.Name, image)
	})
	s.report(t)
}

func TestJudgeCorpusFerret(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(ferretData, "*"))
	require.NoError(t, err)
	s := newScale(t)
	for _, name := range names {
		image, err := os.ReadFile(name)
		require.NoError(t, err)
		if _, err := cdf3.Read(bytes.NewReader(image), int64(len(image))); errors.Is(err, cdf3.ErrNotCDF) {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) { s.file(t, filepath.Base(name), image) })
	}
	require.NotZero(t, s.files, "ferret-datasets is not installed")
	s.report(t)
}

// TestJudgeCorpusSparse compares headers and coordinates of files of many GB, which are
// zeros but for some extents.
func TestJudgeCorpusSparse(t *testing.T) {
	corpus.Sparse(t, func(t *testing.T, f corpus.File) {
		b, err := os.ReadFile(filepath.Join(corpus.Dir(t), "sparse", f.Name+".json"))
		require.NoError(t, err)
		var s struct{ Extents [][2]any }
		require.NoError(t, json.Unmarshal(b, &s))
		path := filepath.Join(t.TempDir(), f.Name)
		out, err := os.Create(path)
		require.NoError(t, err)
		require.NoError(t, out.Truncate(f.Size))
		for _, e := range s.Extents {
			b, err := hex.DecodeString(e[1].(string))
			require.NoError(t, err)
			_, err = out.WriteAt(b, int64(e[0].(float64)))
			require.NoError(t, err)
		}
		require.NoError(t, out.Close())
		src, err := archive.OpenFile(path, nil)
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
