//go:build judge

package joined

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
)

// TestNCO compares joined files with those that ncrcat and ncecat write, byte for byte. NCO sorts
// dimensions by their first use, and ncrcat adds an attribute cell_methods, which NO_CLL_MTH prevents.
func TestNCO(t *testing.T) {
	for name, s := range map[string]spec{"CDF-1": {version: cdf3.Classic}, "CDF-2": {version: cdf3.Offset64}, "CDF-5": {version: cdf3.Data64}} {
		for _, fresh := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				d := &folder{}
				names := []string{"a.nc", "b.nc", "c.nc"}
				from := 0
				for i, n := range []int{3, 1, 4} {
					s := s
					s.from, s.n = from, n
					if from += n; fresh {
						s.n, s.times = 3, []float64{0, 1, 2}
					}
					image := s.build(t)
					require.NoError(t, os.WriteFile(filepath.Join(dir, names[i]), image, 0o666))
					d.put(t, names[i]+archive.Suffix, image)
				}
				o, args := &BuildOptions{}, []string{"ncrcat", "--no_cll_mth"}
				if fresh {
					o, args = &BuildOptions{Dim: "run", New: true}, []string{"ncecat", "-u", "run"}
				}
				args = append(append(args, "-h"), append(names, "out.nc")...)
				cmd := exec.Command(args[0], args[1:]...)
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, "%s", out)
				want, err := os.ReadFile(filepath.Join(dir, "out.nc"))
				require.NoError(t, err)
				ds := d.join(t, o, "a.nc.cdfz", "b.nc.cdfz", "c.nc.cdfz")
				defer ds.Close()
				f := ds.File()
				got := imageOf(t, f)
				require.NoError(t, os.WriteFile(filepath.Join(dir, "joined.nc"), got, 0o666))
				diff := exec.CommandContext(context.Background(), "bash", "-c", "diff <(ncdump -n x out.nc) <(ncdump -n x joined.nc)")
				diff.Dir = dir
				text, err := diff.CombinedOutput()
				require.NoError(t, err, "%s", text)
				require.Equal(t, want, got)
			})
		}
	}
}
