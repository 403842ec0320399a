package shards

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Shard{"1/1": {1, 1}, "3/8": {3, 8}, "65536/65536": {65536, 65536}} {
		got, err := Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, text, got.String())
	}
	for _, text := range []string{"", "1", "0/8", "9/8", "-1/8", "1/0", "1/65537", "1/8/2", "a/8", "1/", "99999999999999999999/8"} {
		_, err := Parse(text)
		require.EqualError(t, err, "expected I/N, shard I from 1 to N of at most 65536 shards", text)
	}
	require.True(t, Shard{}.Takes("x"))
}

// TestKey checks that names have the hash that other programs compute, and that an archive is in the shard
// of its source.
func TestKey(t *testing.T) {
	require.EqualValues(t, uint64(0xd1354464de3b52b7), Key("1990/tas.nc")) // xxhsum -H3
	for _, name := range []string{"1990/tas.nc.cdfz", "1990/tas.nc.gz", "1990/tas.nc.zst", "1990/tas.nc.xz", "1990/tas.nc.bz2"} {
		require.Equal(t, Key("1990/tas.nc"), Key(name), name)
	}
	require.NotEqual(t, Key("1990/tas.nc"), Key("1991/tas.nc"))
	// These never change: runs of two versions may share a tree.
	var got []int
	for i := range 12 {
		got = append(got, favourite(Key(fmt.Sprintf("%d.nc", i)), 8))
	}
	require.Equal(t, []int{3, 4, 7, 5, 0, 7, 3, 6, 3, 1, 5, 2}, got)
}

// TestTakes checks that shards are disjoint and complete, and that few files move if there is one more.
func TestTakes(t *testing.T) {
	for _, n := range []int{1, 2, 8, 40} {
		moved := 0
		for i := range 1000 {
			name := fmt.Sprintf("run%d/day/tas_%04d.nc", i%7, i)
			takers := 0
			for s := range n {
				if (Shard{s + 1, n}).Takes(name) {
					takers++
				}
			}
			require.Equal(t, 1, takers)
			if f := favourite(Key(name), n+1); f != favourite(Key(name), n) {
				require.Equal(t, n, f)
				moved++
			}
		}
		require.InDelta(t, 1000.0/float64(n+1), moved, 60)
	}
}

// logNormal returns files whose sizes have a logarithm with a standard deviation of sigma.
func logNormal(r *rand.Rand, files int, sigma float64) []File {
	list := make([]File, files)
	for i := range list {
		list[i] = File{Key(fmt.Sprintf("%d/%d.nc", r.Uint32(), i)), int64(1e8 * math.Exp(sigma*r.NormFloat64()))}
	}
	return list
}

// inTurn returns the bytes of the busiest of n workers, when each takes the next of 10 n shards by name
// as soon as it is done with one.
func inTurn(files []File, n int) float64 {
	load := make([]float64, 10*n)
	for _, f := range files {
		load[favourite(f.Key, 10*n)] += float64(f.Size)
	}
	workers := make([]float64, n)
	for _, size := range load {
		free := 0
		for w := range workers {
			if workers[w] < workers[free] {
				free = w
			}
		}
		workers[free] += size
	}
	return slices.Max(workers)
}

// TestBalance prints the table of docs/trees.md (-v), and checks what it states.
func TestBalance(t *testing.T) {
	const trees = 20
	t.Log("sigma shards largest file | most bytes by name: mean, worst | 10 shards a worker, in turn: mean, worst | balanced: mean, worst | files that moved: mean")
	for _, sigma := range []float64{0.5, 1, 1.5} {
		for _, n := range []int{2, 8, 40} {
			var largest, byName, worstName, turn, worstTurn, balanced, worst, moved float64
			r := rand.New(rand.NewPCG(1, uint64(n)))
			for range trees {
				files := logNormal(r, 1000, sigma)
				total, top := 0.0, 0.0
				for _, f := range files {
					total += float64(f.Size)
					top = max(top, float64(f.Size))
				}
				part := total / float64(n)
				most := func(shards []int) float64 {
					load := make([]float64, n)
					for i, s := range shards {
						load[s] += float64(files[i].Size)
					}
					m := 0.0
					for _, x := range load {
						m = max(m, x)
					}
					return m / part
				}
				names := make([]int, len(files))
				for i, f := range files {
					names[i] = favourite(f.Key, n)
				}
				got, err := Balanced(files, n)
				require.NoError(t, err)
				x, y, z := most(names), most(got), inTurn(files, n)/part
				turn, worstTurn = turn+z/trees, max(worstTurn, z)
				largest, byName, balanced = max(largest, top/part), byName+x/trees, balanced+y/trees
				worstName, worst = max(worstName, x), max(worst, y)
				require.LessOrEqual(t, y, max(1+slack, top/part))
				after, err := Balanced(append(files, logNormal(r, 10, sigma)...), n)
				require.NoError(t, err)
				for i := range got {
					if got[i] != after[i] {
						moved += 1 / float64(len(got)*trees)
					}
				}
			}
			t.Logf("%.1f %3d  %.2f | %.2f %.2f | %.2f %.2f | %.2f %.2f | %.1f %%", sigma, n, largest, byName, worstName, turn, worstTurn, balanced, worst, 100*moved)
			require.Less(t, moved, 0.08)
		}
	}
}

// TestBalanced checks sets with one file, equal files, files without bytes, and other orders.
func TestBalanced(t *testing.T) {
	got, err := Balanced(nil, 3)
	require.NoError(t, err)
	require.Empty(t, got)
	got, err = Balanced([]File{{1, 0}, {2, 0}, {3, 0}}, 2)
	require.NoError(t, err)
	require.Equal(t, []int{favourite(1, 2), favourite(2, 2), favourite(3, 2)}, got)
	got, err = Balanced([]File{{5, 100}}, 8)
	require.NoError(t, err)
	require.Len(t, got, 1)
	for _, sizes := range [][]int64{{-1}, {math.MaxInt64}, {math.MaxInt64 / 2, 1}} {
		var files []File
		for i, s := range sizes {
			files = append(files, File{uint64(i), s})
		}
		_, err = Balanced(files, 2)
		require.ErrorIs(t, err, ErrSizes)
	}
	r := rand.New(rand.NewPCG(5, 6))
	files := logNormal(r, 300, 1)
	want, err := Balanced(files, 8)
	require.NoError(t, err)
	order := r.Perm(len(files))
	mixed := make([]File, len(files))
	for i, p := range order {
		mixed[i] = files[p]
	}
	got, err = Balanced(mixed, 8)
	require.NoError(t, err)
	for i, p := range order {
		require.Equal(t, want[p], got[i])
	}
	require.Equal(t, Set(files), Set(mixed))
	require.NotEqual(t, Set(files), Set(files[1:]))
	mixed[7].Size++
	require.NotEqual(t, Set(files), Set(mixed))
}
