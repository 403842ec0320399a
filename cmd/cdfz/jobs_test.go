package main

import (
	"bytes"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/filters"
)

// slowFilter is a filter that leaves blocks unchanged and counts how many are decoded
// at the same time.
type slowFilter struct{ now, most atomic.Int64 }

func (f *slowFilter) Encode(dst, src []byte, _ []uint32, _ filters.Block) ([]byte, error) {
	return append(dst, src...), nil
}
func (f *slowFilter) Decode(dst, src []byte, _ []uint32, _ int) ([]byte, error) {
	for n := f.now.Add(1); ; {
		most := f.most.Load()
		if n <= most || f.most.CompareAndSwap(most, n) {
			break
		}
	}
	time.Sleep(time.Millisecond)
	f.now.Add(-1)
	return append(dst, src...), nil
}

var registerSlow = sync.OnceValue(func() *slowFilter {
	f := &slowFilter{}
	if err := filters.Register(filters.Method{ID: 298, Name: "slow", New: func() filters.Session { return f }}); err != nil {
		panic(err)
	}
	return f
})

// TestJobs checks that -j limits the number of blocks decoded at the same time.
func TestJobs(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	f := registerSlow()
	image, err := os.ReadFile("../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("a.nc", image, 0o644))
	cdfz := func(args ...string) int64 {
		f.most.Store(0)
		var msg bytes.Buffer
		require.Zero(t, run(t.Context(), args, new(bytes.Buffer), new(bytes.Buffer), &msg), "%v: %s", args, &msg)
		return f.most.Load()
	}
	cdfz("archive", "-q", "--zarr", "always", "--block", "4K", "-F", "*,298", "a.nc")
	require.Greater(t, cdfz("get", "a.nc.cdfz", "ta"), int64(1))
	for _, args := range [][]string{{"get", "a.nc.cdfz", "ta"}, {"dump", "a.nc.cdfz"}, {"verify", "a.nc.cdfz"}, {"restore", "-f", "a.nc.cdfz"}} {
		require.EqualValues(t, 1, cdfz(append([]string{"-j", "1"}, args...)...), "%v", args)
		require.LessOrEqual(t, cdfz(append([]string{"-j", "2"}, args...)...), int64(2), "%v", args)
	}
}
