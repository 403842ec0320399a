package image_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/image"
	"github.com/cdfz-format/cdfz/archive/internal/packtest"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/write"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/unlimited"
)

// pooled makes an image of 8 variables of type int and 64 KiB, all in one pool of the given shape of blocks, and its
// archive. Of the variables, fixed have no record dimension.
func pooled(t *testing.T, fixed int, shape, block []int64) (original, ar []byte) {
	t.Helper()
	const vars, records, x = 8, 64, 256
	h := &cdf3.Header{Version: cdf3.Offset64, NumRecsField: records, Dims: []cdf3.Dim{{Name: "t"}, {Name: "x", Len: x}, {Name: "r", Len: records}}}
	p := &plan.Pool{PlanPool: plan.PlanPool{Type: "int", Shape: shape, Block: block}, Values: cdf3.Int, Bytes: vars * records * x * 4}
	for i := range vars {
		v := cdf3.Var{Name: fmt.Sprint("v", i), Type: cdf3.Int, DimIDs: []int{0, 1}}
		if i < fixed {
			v.DimIDs = []int{2, 1}
		}
		h.Vars = append(h.Vars, v)
		p.Vars = append(p.Vars, i)
	}
	require.NoError(t, h.Layout())
	original, err := h.Append(nil)
	require.NoError(t, err)
	for i := range uint32(vars * records * x) {
		original = binary.BigEndian.AppendUint32(original, i)
	}
	s := &plan.Spec{Block: 16 << 10, Memory: 1 << 20, Vars: make([]plan.VarSpec, vars), Headers: math.MaxInt64, Pools: []*plan.Pool{p}}
	d, err := write.NewDraft(t.Context(), h, int64(len(original)), s, plan.Pooled)
	require.NoError(t, err)
	var b bytes.Buffer
	_, err = d.Image(t.Context(), &b, bytes.NewReader(original), nil, &write.Options{})
	require.NoError(t, err)
	return original, b.Bytes()
}

// mostHeld returns the most blocks that a pass holds at the same time: each from its first byte in the
// pass to its last one in the image.
func mostHeld(l *plan.Resolved, pass []bool) (most int) {
	type change struct {
		at int64
		by int
	}
	var changes []change
	for n := range l.RestFirst {
		off, length := l.RawAt(l.BlockAt(n))
		first := int64(math.MaxInt64)
		l.Perm.RawRuns(off, off+length, func(r unlimited.Run) bool {
			if pass[r.Seg] {
				first = min(first, r.ImageOff)
			}
			return true
		})
		if last := l.Perm.LastByte(off, off+length); first <= last {
			changes = append(changes, change{first, 1}, change{last + 1, -1})
		}
	}
	slices.SortFunc(changes, func(a, b change) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.by - b.by
	})
	held := 0
	for _, c := range changes {
		held += c.by
		most = max(most, held)
	}
	return most
}

// TestPassesOfPools checks that the variables of a pool that exceeds the memory are in several passes, each of
// which holds no more blocks than fit. A pool that fits is in one, and so is one of variables that lie in the
// image one after another.
func TestPassesOfPools(t *testing.T) {
	const most = 4 // blocks that fit
	for _, c := range []struct {
		fixed        int
		shape, block []int64
		passes       int
	}{
		{0, []int64{8, 16384}, []int64{1, 4096}, 2},      // four blocks for each variable, one after another
		{0, []int64{8, 16384}, []int64{1, 16384}, 2},     // a block for each variable
		{0, []int64{8, 16384}, []int64{2, 16384}, 1},     // a block for two
		{0, []int64{8, 64, 256}, []int64{4, 64, 256}, 1}, // a block for four
		{0, []int64{1, 131072}, []int64{1, 5000}, 6},     // blocks with parts of two
		{0, []int64{131072}, []int64{20000}, 0},
		{8, []int64{8, 16384}, []int64{1, 4096}, 1},
		{8, []int64{131072}, []int64{5000}, 1},
		{4, []int64{131072}, []int64{5000}, 0},
	} {
		name := fmt.Sprint(c.fixed, c.shape, c.block)
		original, ar := pooled(t, c.fixed, c.shape, c.block)
		r := packtest.Open(t, ar)
		require.Len(t, r.L.Pools, 1, name)
		memory := most * r.L.Geoms[0].BlockLen
		all := image.Passes(r.L, memory)
		for i, pass := range all {
			require.LessOrEqual(t, mostHeld(r.L, pass), most, "%s: pass %d of %d", name, i, len(all))
		}
		if c.passes > 0 {
			require.Len(t, all, c.passes, name)
		}
		require.Len(t, image.Passes(r.L, 2*int64(len(original))), 1, name)
		for _, memory := range []int64{1, memory} {
			var b bytes.Buffer
			require.NoError(t, image.Copy(t.Context(), r, &b, &image.CopyOptions{Memory: memory, Workers: 2}), name)
			require.True(t, bytes.Equal(original, b.Bytes()), name)
			checkCompare(t, r, original, &image.CopyOptions{Memory: memory, Workers: 2})
		}
	}
}
