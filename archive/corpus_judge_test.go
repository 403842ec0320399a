//go:build corpus && judge

package archive

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/corpus"
)

// corpusTruth reads the values of the corpus's files as recorded from netCDF-C and
// other readers.
func corpusTruth(t *testing.T) map[string]truth {
	b, err := os.ReadFile(filepath.Join(corpus.Dir(t), "manifest.json"))
	require.NoError(t, err)
	var m struct {
		Valid []struct {
			File string
			Vars truth
		}
	}
	require.NoError(t, json.Unmarshal(b, &m))
	out := map[string]truth{}
	for _, v := range m.Valid {
		out[v.File] = v.Vars
	}
	return out
}

// ownDimension returns xarray's error for a variable with several dimensions and the
// name of one of them.
func ownDimension(name string) string {
	return "MissingDimensionsError: '" + name + "' has more than 1-dimension and the same name as one of its dimensions"
}

func TestCorpusJudge(t *testing.T) {
	known := corpusTruth(t)
	b := newJudging(t)
	corpus.Valid(t, func(t *testing.T, f corpus.File) {
		require.Contains(t, known, f.Name)
		b.file(t, f.Name, f.Bytes(t), known[f.Name])
	})
	b.report(t, map[string]string{
		"real/fvcom.nc3.c77ac5.nc":         ownDimension("siglay"),
		"real/fvcom.nc5.32a1e4.nc":         ownDimension("siglay"),
		"real/fvcom.nc6.ebdbfe.nc":         ownDimension("siglay"),
		"real/model1_md2.663491.nc.gz":     ownDimension("cell_angular"),
		"real/non_COARDS.nc5.66d58d.nc.gz": ownDimension("COADSX"),
		"real/non_COARDS.nc6.54152d.nc.gz": ownDimension("COADSX"),
		"real/pr_inundation.nc5.ad85be.nc": ownDimension("time_bounds"),
		"real/pr_inundation.nc6.73fdad.nc": ownDimension("time_bounds"),
		"real/stringtime.02e797.nc":        ownDimension("time_dim_1"),
		"real/uwnd_dsg.64d827.nc":          ownDimension("trajectory"),
	}, map[string]string{
		// A variable with the same dimension twice.
		"generated/cdf1_rank.nc":                 "o decoded dimensions",
		"generated/cdf2_rank.nc":                 "o decoded dimensions",
		"generated/cdf5_rank.nc":                 "o decoded dimensions",
		"real/chap2.nc3.d0d4da.nc":               "no_reason decoded dimensions",
		"real/chap2.nc5.7009e1.nc":               "no_reason decoded dimensions",
		"real/chap2.nc6.f322a5.nc":               "no_reason decoded dimensions",
		"real/ref_ctest1_nc4.nc5.2ae6ba.nc":      "b112 decoded dimensions",
		"real/ref_nc_test_netcdf4.nc5.bf710d.nc": "b112 decoded dimensions",
		"real/ref_tst_chardata.nc3.6c3fbf.nc":    "c111 decoded dimensions",
		"real/ref_tst_chardata.nc5.c96735.nc":    "c111 decoded dimensions",
		"real/ref_tst_chardata.nc6.97cb5b.nc":    "c111 decoded dimensions",
	}, 34)
}

func TestCorpusJudgeFerret(t *testing.T) {
	b := newJudging(t)
	corpus.Ferret(t, func(t *testing.T, f corpus.File) {
		image := f.Bytes(t)
		b.file(t, f.Name, image, imageTruth(t, image))
	})
	b.report(t, nil, nil, 0)
}

// TestCorpusNetCDFC compares what ncdump prints of files and of their archives.
func TestCorpusNetCDFC(t *testing.T) {
	library := userFormat(t)
	corpus.Some(t, 12, func(t *testing.T, f corpus.File) {
		if image := f.Bytes(t); !openRecords(image) {
			newNetCDFC(t, library, image).dump(t)
		}
	})
}
