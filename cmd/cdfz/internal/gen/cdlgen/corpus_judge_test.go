//go:build corpus && judge

package cdlgen_test

import (
	"bytes"
	"context"
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdl"
	"github.com/cdfz-format/cdfz/testdata/corpus"
)

// lostInText lists the files of the corpus whose text does not make the same file. The
// same is missing from the file that ncgen makes of the text.
var lostInText = map[string]string{
	"MR5905167_372.dff1fc.nc":        "NULs at the end of strings where _FillValue is a blank",
	"MD5903593_001.639519.nc":        "NULs at the end of strings where _FillValue is a blank",
	"cdf5_single_rec_char_scalar.nc": "records at the end that are NUL",
	"cdf1_name_nul.nc":               "NUL in a name",
	"cdf2_name_nul.nc":               "NUL in a name",
	"cdf5_name_nul.nc":               "NUL in a name",
	"cdf1_att_dup_and_odd.nc":        "the type of a _FillValue that is not the variable's",
	"cdf2_att_dup_and_odd.nc":        "the type of a _FillValue that is not the variable's",
	"cdf5_att_dup_and_odd.nc":        "the type of a _FillValue that is not the variable's",
}

// TestCorpusRoundTrip makes files from the text of real files: values, attributes and
// dimensions are the same.
func TestCorpusRoundTrip(t *testing.T) {
	same, lost := 0, 0
	corpus.Valid(t, func(t *testing.T, c corpus.File) {
		b := c.Bytes(t)
		f, err := archive.New(t.Context(), bytes.NewReader(b), int64(len(b)), nil)
		require.NoError(t, err)
		got, err := regenerate(t, f)
		require.NoError(t, err)
		d := compareFiles(t, f, got)
		why := lostInText[path.Base(c.Name)]
		if why == "" {
			require.Empty(t, d, "%s", c.Name)
			same++
			return
		}
		require.NotEmpty(t, d, "%s: %s", c.Name, why)
		plain := full
		plain.Special = false
		var text bytes.Buffer
		require.NoError(t, cdl.Dump(context.Background(), &text, f, &plain))
		judge := ncgen(t, kindOf[f.Header().Version], text.Bytes())
		want, err := archive.New(t.Context(), bytes.NewReader(judge), int64(len(judge)), nil)
		require.NoError(t, err)
		require.Empty(t, compareFiles(t, want, got), "%s: %s", c.Name, why)
		lost++
	})
	t.Logf("%d files the same, %d not", same, lost)
	require.Equal(t, len(lostInText), lost)
}
