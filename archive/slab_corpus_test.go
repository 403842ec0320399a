//go:build corpus && judge

package archive

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/corpus"
)

// TestCorpusSlabs judges hyperslabs of every file of the corpus. Those that no judge
// reads are compared with the manifest.
func TestCorpusSlabs(t *testing.T) {
	known := corpusTruth(t)
	b := newSlabJudging(t, 40)
	corpus.Valid(t, func(t *testing.T, f corpus.File) {
		require.Contains(t, known, f.Name)
		b.file(t, f.Name, f.Bytes(t), known[f.Name])
	})
	b.report(t, 43)
}

func TestCorpusSlabsFerret(t *testing.T) {
	b := newSlabJudging(t, 40)
	corpus.Ferret(t, func(t *testing.T, f corpus.File) {
		image := f.Bytes(t)
		b.file(t, f.Name, image, imageTruth(t, image))
	})
	b.report(t, 0)
}

// TestCorpusSlabsSparse judges files of many GB that are mostly zeros.
func TestCorpusSlabsSparse(t *testing.T) {
	b := newSlabJudging(t, 200)
	corpus.Sparse(t, func(t *testing.T, f corpus.File) {
		f.WriteFile(t, b.path)
		b.judge(t, f.Name, f, f.Size, nil, []*File{openFile(t, sparseArchive(t, f), nil)})
	})
	b.report(t, 0)
}
