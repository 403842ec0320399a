package chains

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/filters"
	_ "github.com/cdfz-format/cdfz/filters/all"
)

// TestCheck checks parameters that only some types allow.
func TestCheck(t *testing.T) {
	scale := func(params ...uint32) filters.Chain {
		return filters.Chain{{ID: filters.ScaleOffset, Params: params}}
	}
	require.NoError(t, Check(scale(2, 32)))
	require.NoError(t, Check(scale(2, 64))) // of integers of 8 bytes
	require.NoError(t, Check(scale(0, 2)))  // of floats
	require.ErrorContains(t, Check(scale(2, 65)), "expected 0 to 64 bits, found 65")
	require.ErrorContains(t, Check(scale(1, 0)), "expected scale type")
}
