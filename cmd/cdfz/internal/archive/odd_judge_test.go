//go:build judge

package archive

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
)

// TestJudgeRefused compares the warnings about files that netCDF-C refuses, because of the places of their values, with
// ncdump: for the classic files of testdata, and for random places.
func TestJudgeRefused(t *testing.T) {
	refused := map[bool]int{}
	check := func(t *testing.T, path string, image []byte) {
		h, err := cdf3.Read(bytes.NewReader(image), int64(len(image)))
		require.NoError(t, err, path)
		out, _ := exec.Command("ncdump", "-k", path).CombinedOutput()
		want := strings.Contains(string(out), "Unknown file format")
		refused[want]++
		size := int64(len(image))
		require.Equal(t, want, overlapping(h, size) != "" || misplaced(h) != "", "%s: %s%s, %s, %+v, size %d", path, overlapping(h, size), misplaced(h), out, h.Vars, len(image))
	}
	names, err := filepath.Glob("../../../../testdata/classic/*.nc")
	require.NoError(t, err)
	for _, name := range names {
		image, err := os.ReadFile(name)
		require.NoError(t, err)
		check(t, name, image)
	}
	dir, r := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		h := &cdf3.Header{Version: cdf3.Version(1 + i%2), NumRecsField: uint64(r.IntN(3)), Dims: []cdf3.Dim{{Name: "t"}, {Name: "x", Len: 1 + r.Int64N(6)}}}
		for k := range 1 + r.IntN(3) {
			v := cdf3.Var{Name: fmt.Sprintf("v%d", k), Type: []cdf3.Type{cdf3.Byte, cdf3.Short, cdf3.Int}[r.IntN(3)], DimIDs: []int{1}}
			if r.IntN(2) == 0 {
				v.DimIDs = []int{0, 1}
			}
			h.Vars = append(h.Vars, v)
		}
		require.NoError(t, h.Layout())
		for k := range h.Vars {
			if r.IntN(2) == 0 {
				h.Vars[k].Begin += r.Int64N(33) - 16
			}
		}
		image, err := h.Append(nil)
		require.NoError(t, err)
		image = append(image, make([]byte, 400)...)
		name := filepath.Join(dir, fmt.Sprintf("%d.nc", i))
		require.NoError(t, os.WriteFile(name, image, 0o644))
		check(t, name, image)
	}
	require.Greater(t, refused[true], 50)
	require.Greater(t, refused[false], 50)
}
