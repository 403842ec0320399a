package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/internal/layout"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/write"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/faultsrv"
	"github.com/cdfz-format/cdfz/remote"
	"github.com/cdfz-format/cdfz/slab"
)

// smallVars is an image of many small variables, of fixed size and in records: n of each
// shape, smooth so that neighbors are like each other.
func smallVars(t testing.TB, n, records int) []byte {
	h := &cdf3.Header{Version: cdf3.Offset64, NumRecsField: uint64(records)}
	h.Dims = []cdf3.Dim{{Name: "t"}, {Name: "x", Len: 50}, {Name: "y", Len: 9}, {Name: "len", Len: 33}}
	add := func(t cdf3.Type, dims ...int) {
		h.Vars = append(h.Vars, cdf3.Var{Name: fmt.Sprint("v", len(h.Vars)), Type: t, DimIDs: dims})
	}
	for range n {
		add(cdf3.Float, 0)
		add(cdf3.Double, 1)
		add(cdf3.Short, 0, 2)
		add(cdf3.Char, 3)
		add(cdf3.Float, 2, 1)
		add(cdf3.Byte)
		add(cdf3.Char, 0, 3)
		add(cdf3.Int, 2)
	}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	size := int64(0)
	for i := range h.Vars {
		v, last := &h.Vars[i], int64(0)
		if v.Record {
			last = h.RecSize * int64(max(records-1, 0))
		}
		size = max(size, v.Begin+last+(v.RecLen+3)&^3)
	}
	image = append(image, make([]byte, size-int64(len(image)))...)
	for i := range h.Vars {
		v := &h.Vars[i]
		rows, n := int64(1), v.RecLen
		if v.Record {
			rows = h.NumRecs
		}
		for r := range rows {
			b := image[v.Begin+r*h.RecSize:][:n]
			for k := range b {
				b[k] = byte(int(r) + k/8 + i%3)
			}
			if v.Type == cdf3.Float {
				for k := 0; k < len(b); k += 4 {
					binary.BigEndian.PutUint32(b[k:], 0x41200000+uint32(int(r)*1000+k*10+i))
				}
			}
		}
	}
	return image
}

// TestPools checks that images of many small variables come back, whole and by variable,
// and that a variable costs no more than the documented blocks.
func TestPools(t *testing.T) {
	ctx := context.Background()
	lorenz := []VarFilter{{Vars: []string{"*"}, Chain: filters.Chain{{ID: filters.Lorenz}}}}
	sizes := []struct{ n, records int }{{1, 0}, {2, 1}, {3, 700}, {40, 13}, {60, 400}}
	if testing.Short() {
		sizes = sizes[2:4]
	}
	for _, c := range sizes {
		image := smallVars(t, c.n, c.records)
		classic, err := New(ctx, bytes.NewReader(image), int64(len(image)), nil)
		require.NoError(t, err)
		options := []WriteOptions{{}, {Filters: lorenz}, {Block: MinBlock}, {Block: 16 << 10, Preset: PresetPortable, Memory: 1}}
		if testing.Short() {
			options = options[2:]
		}
		for _, o := range options {
			name := fmt.Sprintf("%+v %v %d", c, o.Filters, o.Block)
			o.Zarr, o.Workers = ZarrNever, 1
			ar := pack(t, image, &o)
			require.True(t, bytes.Equal(image, unpack(t, ar)), name)
			o.Workers = 8
			require.True(t, bytes.Equal(ar, pack(t, image, &o)), "%s: 8 workers make another archive", name)
			require.Empty(t, verified(t, ar).Damage, name)
			r := open(t, ar)
			var b bytes.Buffer
			require.NoError(t, copyImage(ctx, r, &b, &imageOptions{Memory: 1, Workers: 3}))
			require.True(t, bytes.Equal(image, b.Bytes()), "%s: in passes", name)
			if len(image) > 16<<10 {
				require.NotEmpty(t, r.L.Pools, name)
			}
			for _, cache := range []int64{-1, 0} {
				if testing.Short() && cache < 0 {
					continue
				}
				f := openFile(t, ar, &OpenOptions{Cache: cache})
				for num, v := range f.Vars() {
					equalReads(t, classic.newVar(num), v)
					if i := v.Info(); i.Pooled && v.Type() != cdf3.Char {
						require.LessOrEqual(t, i.Blocks*r.L.Geoms[len(r.L.Vars)+pool(v)].BlockLen, max(int64(layout.LongPool), 2*o.Block), "%s: variable %d", name, num)
					}
				}
			}
		}
	}
}

// pool is the pool that a variable is in.
func pool(v *Var) int {
	m, _ := v.member()
	return m.Pool
}

// equalReads compares hyperslabs of two arrays.
func equalReads(t *testing.T, want, got *Var) {
	t.Helper()
	ctx := context.Background()
	whole := func(v *Var) []byte {
		b := make([]byte, v.v.Len)
		_, err := io.ReadFull(io.NewSectionReader(v.Values(), 0, v.v.Len), b)
		require.NoError(t, err)
		return b
	}
	require.True(t, bytes.Equal(whole(want), whole(got)), "variable %s", want.Name())
	var sel slab.Sel
	for _, n := range want.Shape() {
		if n == 0 {
			return
		}
		start := rand.Int64N(n)
		sel.Start = append(sel.Start, start)
		sel.Count = append(sel.Count, 1+rand.Int64N(n-start))
		sel.Stride = append(sel.Stride, 1)
	}
	values := func(v *Var) any {
		if v.Type() == cdf3.Char {
			out, err := slab.Read[uint8](ctx, v, sel)
			require.NoError(t, err)
			return out
		}
		n, err := sel.Len(v.Shape())
		require.NoError(t, err)
		out := make([]float64, n)
		require.NoError(t, slab.Convert(ctx, v, out, sel))
		return out
	}
	require.Equal(t, values(want), values(got))
	for i, n := range want.Shape() { // again with strides
		sel.Stride[i], sel.Count[i] = 2, (n-sel.Start[i]+1)/2
	}
	require.Equal(t, values(want), values(got))
}

// TestPoolsPay checks that pools make no archive without a Zarr view larger.
func TestPoolsPay(t *testing.T) {
	for name, image := range someFiles(t) {
		o := &WriteOptions{Zarr: ZarrNever}
		require.NoError(t, func() error { var err error; *o, err = o.withDefaults(); return err }())
		h, err := cdf3.Read(bytes.NewReader(image), int64(len(image)))
		require.NoError(t, err)
		d, err := draftOf(context.Background(), h, int64(len(image)), o, plan.Pooled, false)
		require.NoError(t, err)
		var plain bytes.Buffer
		_, err = d.Image(context.Background(), &plain, bytes.NewReader(image), &imageSums{}, &write.Options{Workers: o.Workers})
		require.NoError(t, err)
		// The hexadecimal digits of the SHA-256 deflate to another length, and the trial of a pool does not know
		// how well its values compress after the header.
		require.LessOrEqual(t, len(pack(t, image, o)), plain.Len()+96, name)
	}
}

// TestPoolDamage checks that damage in a pool is reported by variable and costs no other
// variable, and that repair gets past it.
func TestPoolDamage(t *testing.T) {
	image := smallVars(t, 40, 400)
	ar := pack(t, image, &WriteOptions{Zarr: ZarrNever, Filters: []VarFilter{{Vars: []string{"*"}, Chain: filters.Chain{{ID: filters.Lorenz}}}}})
	r := open(t, ar)
	require.Greater(t, len(r.L.Pools), 1)
	row, err := r.Index.Row(r.L.Geoms[len(r.L.Vars)].First)
	require.NoError(t, err)
	bad := bytes.Clone(ar)
	bad[row.Off] ^= 1
	f := openFile(t, bad, nil)
	failed := 0
	for _, v := range f.Vars() {
		_, err := io.ReadAll(io.NewSectionReader(v.Values(), 0, v.v.Len))
		if m, pooled := v.member(); !pooled || m.Pool > 0 {
			require.NoError(t, err)
			continue
		}
		var be *BlockError
		if errors.As(err, &be) {
			failed++
			require.Equal(t, r.L.Geoms[len(r.L.Vars)].First, be.Block)
			require.ErrorIs(t, err, ErrCorrupt)
			var names []string
			for _, p := range be.Parts {
				names = append(names, p.Var)
			}
			require.Contains(t, names, v.Name())
			require.Contains(t, err.Error(), names[0])
		} else {
			require.NoError(t, err)
		}
	}
	require.Positive(t, failed)
	damage := verified(t, bad).Damage
	require.Len(t, damage, 1)
	require.Greater(t, len(damage[0].Parts), 1)
	require.Contains(t, damage[0].Text, `variables "v`)
	// The tail follows from the entries: without it, the archive is rebuilt.
	cut := ar[:r.Tail.IdxOff+5]
	p, err := repair.Repair(context.Background(), bytes.NewReader(cut), int64(len(cut)), nil)
	require.NoError(t, err)
	defer p.Close()
	back := bytes.NewBuffer(bytes.Clone(cut[:r.Tail.IdxOff]))
	_, err = p.WriteTail(back)
	require.NoError(t, err)
	require.True(t, bytes.Equal(ar, back.Bytes()))
}

// TestLongPools has variables that are equal to others, which are too far away for a block of the usual
// length, and the same file without these. Only the first has longer blocks, and the longest where the
// same values occur four times. Rewriting keeps them.
func TestLongPools(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	const n, elements = 160, 1000
	h := &cdf3.Header{Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "x", Len: elements}}}
	for i := range n {
		h.Vars = append(h.Vars, cdf3.Var{Name: fmt.Sprintf("v%d", i), Type: cdf3.Double, DimIDs: []int{0}})
	}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	for range n * elements {
		image = binary.BigEndian.AppendUint64(image, r.Uint64()>>12|0x3ff<<52)
	}
	block := func(image []byte) int64 {
		ar := pack(t, image, &WriteOptions{Zarr: ZarrNever})
		require.True(t, bytes.Equal(image, unpack(t, ar)))
		again, res, decoded := rewrite(t, ar, &WriteOptions{Zarr: ZarrNever})
		require.True(t, bytes.Equal(ar, again))
		require.Equal(t, res.Blocks, res.Copied)
		require.Zero(t, decoded)
		l := open(t, ar).L
		require.Len(t, l.Pools, 1)
		return l.Geoms[len(l.Vars)].BlockLen
	}
	require.LessOrEqual(t, block(image), int64(256<<10))
	at := image[h.Len:]
	half := len(at) / 2
	for from := half / 2; from < half; from += half / 2 { // each half of the file
		copy(at[from:half], at[:half/2])
		copy(at[half+from:], at[half:half+half/2])
	}
	require.Greater(t, block(image), int64(512<<10))
	require.LessOrEqual(t, block(image), int64(1<<20))
	copy(at[half:], at[:half])
	require.Equal(t, int64(len(at)), block(image))
	// A size that the user has chosen holds for pools, too.
	l := open(t, pack(t, image, &WriteOptions{Zarr: ZarrNever, Preset: PresetMax, Block: 512 << 10})).L
	require.LessOrEqual(t, l.Geoms[len(l.Vars)].BlockLen, int64(512<<10))
}

// TestPoolsNamed checks that a variable with a filter option by name is blocked, not pooled.
func TestPoolsNamed(t *testing.T) {
	image := smallVars(t, 40, 1200)
	chain := filters.Chain{{ID: filters.Deflate, Params: []uint32{9}}}
	f := openFile(t, pack(t, image, &WriteOptions{Zarr: ZarrNever, Filters: []VarFilter{{Vars: []string{"v0"}, Chain: chain}}}), nil)
	require.True(t, varOf(t, f, "v0").Info().Blocked)
	require.Equal(t, chain.String(), varOf(t, f, "v0").Chain().String())
	require.False(t, varOf(t, f, "v5").Info().Blocked, "one byte")
	require.True(t, varOf(t, f, "v8").Info().Pooled)
	i, ok := f.Info()
	require.True(t, ok)
	require.NotEmpty(t, i.Pools)
	s, err := f.Stored(context.Background())
	require.NoError(t, err)
	require.Len(t, s.Pools, len(i.Pools))
	sum := s.Rest
	for _, n := range append(s.Vars, s.Pools...) {
		sum += n
	}
	require.Equal(t, i.Stored, sum)
}

// TestPoolsLarge checks that images too large to be archived in memory have pools, too,
// which are cut in the only pass over the image.
func TestPoolsLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("archives 16 MB")
	}
	image := smallVars(t, 100, 1600)
	require.Greater(t, len(image), plan.SmallImage)
	c := &archivetest.CountingReaderAt{R: bytes.NewReader(image)}
	var b bytes.Buffer
	_, err := Write(context.Background(), &b, c, int64(len(image)), &WriteOptions{Zarr: ZarrNever, Preset: PresetFast})
	require.NoError(t, err)
	require.Less(t, c.Bytes, int64(len(image)+len(image)/8))
	require.NotEmpty(t, open(t, b.Bytes()).L.Pools)
	require.True(t, bytes.Equal(image, unpack(t, b.Bytes())))
}

// TestManyChains checks that a file with more different chains than a plan may have is
// archived without blocks of its variables.
func TestManyChains(t *testing.T) {
	h := &cdf3.Header{Version: cdf3.Offset64}
	for i := range plan.MaxChains + 1 {
		h.Dims = append(h.Dims, cdf3.Dim{Name: fmt.Sprint("d", i), Len: int64(10_000 + i)})
		h.Vars = append(h.Vars, cdf3.Var{Name: fmt.Sprint("v", i), Type: cdf3.Double, DimIDs: []int{i}})
	}
	require.NoError(t, h.Layout())
	last := &h.Vars[len(h.Vars)-1]
	o := &WriteOptions{Filters: []VarFilter{{Vars: []string{"*"}, Chain: filters.Chain{{ID: filters.Lorenz}}}}}
	for _, lay := range []plan.Layout{plan.Viewed, plan.Pooled} {
		full, err := o.withDefaults()
		require.NoError(t, err)
		_, err = draftOf(context.Background(), h, last.Begin+last.Len, &full, lay, true)
		require.ErrorIs(t, err, plan.ErrMetadata)
	}
}

// TestManyRanks checks that a file whose variables have more dimensions in sum than a plan may have is
// archived without blocks of its variables.
func TestManyRanks(t *testing.T) {
	h := &cdf3.Header{Version: cdf3.Offset64, Dims: []cdf3.Dim{{Name: "one", Len: 1}, {Name: "n", Len: 1024}}}
	for i := range 13_000 {
		h.Vars = append(h.Vars, cdf3.Var{Name: fmt.Sprint("v", i), Type: cdf3.Int, DimIDs: append(make([]int, 19), 1)})
	}
	require.NoError(t, h.Layout())
	last := &h.Vars[len(h.Vars)-1]
	o, err := (&WriteOptions{Zarr: ZarrAlways}).withDefaults()
	require.NoError(t, err)
	for _, lay := range []plan.Layout{plan.Viewed, plan.Pooled} {
		_, err = draftOf(t.Context(), h, last.Begin+last.Len, &o, lay, false)
		require.ErrorIs(t, err, plan.ErrMetadata)
		require.ErrorContains(t, err, "found 520000")
	}
	_, err = draftOf(t.Context(), h, last.Begin+last.Len, &o, plan.Single, false)
	require.NoError(t, err)
}

// TestPoolsRemote checks that an image with pools is copied over HTTP without fetching a
// block twice: a block of a pool has bytes in many places of the image.
func TestPoolsRemote(t *testing.T) {
	records := 400
	if testing.Short() {
		records = 100
	}
	image := smallVars(t, 60, records)
	ar := pack(t, image, &WriteOptions{Zarr: ZarrNever, Filters: []VarFilter{{Vars: []string{"*"}}}})
	require.NotEmpty(t, open(t, ar).L.Pools)
	f, err := openURL(t, faultsrv.Serve(t, ar), remote.Options{})
	require.NoError(t, err)
	before := f.Stats().Bytes
	var b bytes.Buffer
	require.NoError(t, f.Image().Copy(context.Background(), &b, nil))
	require.True(t, bytes.Equal(image, b.Bytes()))
	require.LessOrEqual(t, f.Stats().Bytes-before, int64(len(ar)))
}
