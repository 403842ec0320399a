//go:build corpus && judge

package archive

import (
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/testdata/corpus"
)

// TestCorpusPython restores the corpus with the independent reader.
func TestCorpusPython(t *testing.T) {
	var p pythonReader
	p.dir = t.TempDir()
	all := variants()
	corpus.Valid(t, func(t *testing.T, f corpus.File) {
		image, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size))
		require.NoError(t, err)
		o := all[len(p.names)%len(all)]
		o.Name = f.Name
		switch {
		case f.Size > 128<<10 && os.Getenv("CDFZ_SOAK") == "":
			o.Preset = PresetPortable // the reader is slow for lorenz
		case len(p.names)%2 == 0:
			o.Filters = []VarFilter{{Vars: []string{"*"}, Chain: filters.Chain{{ID: filters.Lorenz}}}}
		}
		p.add(t, image, &o)
	})
	p.check(t)
	p.some(10).run(t, "--walk")
}

// TestCorpusPythonFerret does the same with larger files.
func TestCorpusPythonFerret(t *testing.T) {
	var p pythonReader
	p.dir = t.TempDir()
	corpus.Ferret(t, func(t *testing.T, f corpus.File) {
		image, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size))
		require.NoError(t, err)
		p.add(t, image, &WriteOptions{Name: f.Name})
	})
	p.check(t)
}
