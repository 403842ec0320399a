package hdf5plugin

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// TestZFPErrors checks parameters and blocks that zfp does not take. The judge compares the
// others with H5Z-ZFP.
func TestZFPErrors(t *testing.T) {
	float := filters.Block{Kind: filters.Float, Size: 4, Shape: []int{30, 40}}
	nan := math.Float64bits(math.NaN())
	for text, params := range map[string][]uint32{
		"expected a mode": {}, "mode 1: expected 4 parameters, found 2": {1, 0}, "expected a rate": {1, 0, 0, 0}, "expected an accuracy": {3, 0, uint32(nan), uint32(nan >> 32)},
		"expected minbits": {4, 0, 9, 8, 7, 0}, "expected a mode from": {6},
	} {
		_, err := completeZFP(params, float)
		require.ErrorIs(t, err, filters.ErrParam)
		require.ErrorContains(t, err, text)
	}
	for text, b := range map[string]filters.Block{
		"expected numbers": {Kind: filters.Text, Size: 1, Shape: []int{9}}, "1 to 4 dimensions": {Kind: filters.Int, Size: 8},
		"expected dimensions of at most 4096": {Kind: filters.Int, Size: 8, Shape: []int{2, 2, 2, 4097}},
	} {
		_, err := completeZFP([]uint32{zfpReversible}, b)
		require.ErrorIs(t, err, filters.ErrParam)
		require.ErrorContains(t, err, text)
	}
	params, err := completeZFP([]uint32{zfpReversible}, float)
	require.NoError(t, err)
	again, err := completeZFP(params, filters.Block{})
	require.NoError(t, err)
	require.Equal(t, params, again, "complete parameters stay")
	native, size := nativeZFP(params)
	require.Equal(t, 4, size)
	require.EqualValues(t, zfpMagic, native[1])
	require.Equal(t, []uint32{1, 2}, givenZFP([]uint32{1, 2}))
}

// FuzzZFP checks that parameters, of a user or of an archive, do not crash.
func FuzzZFP(f *testing.F) {
	addZFPSeeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		var params []uint32
		for ; len(b) >= 4; b = b[4:] {
			params = append(params, uint32(b[0])|uint32(b[1])<<8|uint32(b[2])<<16|uint32(b[3])<<24)
		}
		givenZFP(params)
		nativeZFP(params)
		block := filters.Block{Kind: filters.Float, Size: 8, Shape: []int{30, 40}}
		full, err := completeZFP(params, block)
		if err != nil {
			require.ErrorIs(t, err, filters.ErrParam)
			return
		}
		if _, _, complete := zfpHeader(params); complete {
			return
		}
		again, err := completeZFP(givenZFP(full), block)
		require.NoError(t, err)
		require.Equal(t, full, again)
	})
}

func addZFPSeeds(f *testing.F) {
	s := seeds.Of(f)
	for name, params := range map[string][]uint32{
		"reversible": {zfpReversible}, "rate": {zfpRate, 0, 0, 0x40200000}, "precision": {zfpPrecision, 0, 20}, "accuracy": {zfpAccuracy, 0, 0, 0x3f500000},
		"expert": {zfpExpert, 0, 1, 700, 20, 0xfffffff0}, "complete": {zfpVersions, zfpMagic, 0xf0000ff6, 0x8800000f}, "long": {zfpVersions, zfpMagic, 0x60, 0xfff00000, 0xc0000000, 0x787af},
		"big-endian": {zfpVersions, 0x7a667005, 0xf60f00f0, 0x0f000088},
	} {
		var b []byte
		for _, p := range params {
			b = append(b, byte(p), byte(p>>8), byte(p>>16), byte(p>>24))
		}
		s.AddDamaged(name, b)
	}
}
