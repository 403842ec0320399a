//go:build corpus && judge

package archive

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/testdata/corpus"
)

// TestCorpusSlabs judges hyperslabs of every file of the corpus; what no judge
// reads is held against the manifest.
func TestCorpusSlabs(t *testing.T) {
	known := corpusTruth(t)
	b := newSlabJudging(t, 200)
	corpus.Valid(t, func(t *testing.T, f corpus.File) {
		image, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size))
		require.NoError(t, err)
		require.Contains(t, known, f.Name)
		b.file(t, f.Name, image, known[f.Name])
	})
	b.report(t, 43)
}

func TestCorpusSlabsFerret(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(ferretData, "*"))
	require.NoError(t, err)
	b := newSlabJudging(t, 200)
	for _, name := range names {
		image, err := os.ReadFile(name)
		require.NoError(t, err)
		if _, err := cdf3.Read(bytes.NewReader(image), int64(len(image))); errors.Is(err, cdf3.ErrNotCDF) {
			continue
		}
		t.Run(filepath.Base(name), func(t *testing.T) {
			b.file(t, filepath.Base(name), image, imageTruth(t, image))
		})
	}
	require.NotZero(t, b.files, "ferret-datasets is not installed")
	b.report(t, 0)
}

// TestCorpusSlabsSparse judges files of many GB, which are zeros but for some
// extents.
func TestCorpusSlabsSparse(t *testing.T) {
	b := newSlabJudging(t, 200)
	corpus.Sparse(t, func(t *testing.T, f corpus.File) {
		out, err := os.Create(b.path)
		require.NoError(t, err)
		require.NoError(t, out.Truncate(f.Size))
		for _, e := range sparseExtents(t, f.Name) {
			_, err = out.WriteAt(e.data, e.off)
			require.NoError(t, err)
		}
		require.NoError(t, out.Close())
		var ar bytes.Buffer
		_, err = Write(context.Background(), &ar, f, f.Size, &Options{Name: f.Name, Preset: PresetFast})
		require.NoError(t, err)
		b.judge(t, f.Name, f, f.Size, nil, []*File{openFile(t, ar.Bytes(), nil)})
	})
	b.report(t, 0)
}

type sparseExtent struct {
	off  int64
	data []byte
}

// sparseExtents are the parts of a sparse file that are written.
func sparseExtents(t *testing.T, name string) []sparseExtent {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(corpus.Dir(t), "sparse", name+".json"))
	require.NoError(t, err)
	var s struct{ Extents [][2]any }
	require.NoError(t, json.Unmarshal(text, &s))
	var out []sparseExtent
	for _, e := range s.Extents {
		data, err := hex.DecodeString(e[1].(string))
		require.NoError(t, err)
		out = append(out, sparseExtent{int64(e[0].(float64)), data})
	}
	return out
}
