package archive

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInPython compares the list of the Python package's filters with the package.
func TestInPython(t *testing.T) {
	b, err := os.ReadFile("../../../../python/cdfz/_filters.py")
	require.NoError(t, err)
	table := regexp.MustCompile(`(?ms)^FILTERS = \{(.*?)\}\n`).FindSubmatch(b)
	require.NotNil(t, table)
	var ids []uint32
	for _, m := range regexp.MustCompile(`(?:^|[,\s])(\d+): `).FindAllSubmatch(table[1], -1) {
		id, err := strconv.ParseUint(string(m[1]), 10, 16)
		require.NoError(t, err)
		ids = append(ids, uint32(id))
	}
	require.Equal(t, slices.Sorted(slices.Values(inPython)), slices.Sorted(slices.Values(ids)))
}
