//go:build corpus

package gen_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/testdata/corpus"
)

// TestCorpusRoundTrip makes files from the text of real files. Text loses little: the
// NULs at the end of strings that are padded with another character, and values of
// variables with a C_format attribute.
func TestCorpusRoundTrip(t *testing.T) {
	same, n := 0, 0
	corpus.Valid(t, func(t *testing.T, c corpus.File) {
		b := c.Bytes(t)
		f, err := archive.New(bytes.NewReader(b), int64(len(b)), nil)
		require.NoError(t, err)
		n++
		got, err := regenerate(t, f)
		if err != nil {
			t.Logf("%s: %v", c.Name, err)
		} else if d := compareFiles(t, f, got); d != "" {
			t.Logf("%s: %s", c.Name, d)
		} else {
			same++
		}
	})
	t.Logf("%d files, %d the same", n, same)
	require.Greater(t, same*100, n*80)
}
