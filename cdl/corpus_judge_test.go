//go:build corpus && judge

package cdl

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

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

func TestJudgeFerret(t *testing.T) {
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
