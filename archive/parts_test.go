package archive

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/filters/spec"
	"github.com/cdfz-format/cdfz/slab"
)

// partsImage is a cube of records of 300 times 500 elements that look random, so
// that no block of variable 1 is left whole.
func partsImage(t testing.TB, records int64) []byte {
	image := cubeImage(t, records, 300, 500)
	h := openFile(t, image, nil).Header()
	for r := range records {
		b := image[h.Vars[1].Begin+r*h.RecSize:][:h.Vars[1].RecLen]
		for i := 0; i < len(b); i += 4 {
			binary.BigEndian.PutUint32(b[i:], uint32(partsValue(int64(binary.BigEndian.Uint32(b[i:])))))
		}
	}
	return image
}

// partsValue is element number i of the cube.
func partsValue(i int64) int32 {
	x := uint32(i) * 2654435761
	x = (x ^ x>>15) * 0x2c1b3c6d
	return int32(x ^ x>>12)
}

// partsFile is a cube of 5 records, in blocks of parts.
func partsFile(t testing.TB, o *OpenOptions) (*File, []byte) {
	ar := pack(t, partsImage(t, 5), &WriteOptions{Zarr: ZarrAlways})
	f := openFile(t, ar, o)
	require.NotZero(t, f.archive.l.part(0))
	require.NotZero(t, f.archive.l.part(1))
	return f, ar
}

// TestPartsRead: any selection of a variable with parts, alone and after others.
func TestPartsRead(t *testing.T) {
	for name, o := range map[string]*OpenOptions{"cache": nil, "none": {Cache: -1}, "small": {Cache: 200 << 10}, "tiny": {Cache: 1}} {
		t.Run(name, func(t *testing.T) {
			f, _ := partsFile(t, o)
			inGoroutines(t, 8, func(rng *rand.Rand) error {
				for range 60 {
					if err := randomCube(f, rng); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// randomCube reads a random selection of variable 1 of the cube.
func randomCube(f *File, rng *rand.Rand) error {
	a := f.Array(1)
	var s slab.Sel
	for _, n := range a.Shape() {
		start := rng.Int63n(n)
		count := 1 + rng.Int63n(min(n-start, 1+rng.Int63n(n)))
		stride := int64(1)
		if count > 1 && rng.Intn(3) == 0 {
			stride, start = -1, start+count-1
		}
		s.Start, s.Count, s.Stride = append(s.Start, start), append(s.Count, count), append(s.Stride, stride)
	}
	got, err := slab.Read[int32](context.Background(), a, s)
	if err != nil {
		return err
	}
	k := 0
	for i := range s.Count[0] {
		for j := range s.Count[1] {
			for l := range s.Count[2] {
				want := ((s.Start[0]+i*s.Stride[0])*300+s.Start[1]+j*s.Stride[1])*500 + s.Start[2] + l*s.Stride[2]
				if got[k] != partsValue(want) {
					return fmt.Errorf("%v: element %d is %d, expected %d", s, k, got[k], partsValue(want))
				}
				k++
			}
		}
	}
	return nil
}

// TestPartsDecoded: a first point decodes its part; a second one in another part of
// the block decodes the whole block, once and for all.
func TestPartsDecoded(t *testing.T) {
	f, _ := partsFile(t, nil)
	g := f.archive.l.vars[1]
	part := f.archive.l.part(1)
	point := func(elem int64) Stats {
		row := elem / 500
		got, err := slab.Read[int32](context.Background(), f.Array(1), slab.Sel{Start: []int64{row / 300, row % 300, elem % 500}, Count: []int64{1, 1, 1}})
		require.NoError(t, err)
		require.Equal(t, partsValue(elem), got[0])
		return f.archive.Stats()
	}
	kept := func() int64 {
		d, ok := f.archive.stored(g.first)
		require.True(t, ok)
		return int64(len(d.b))
	}
	require.Equal(t, int64(1), point(0).Blocks)
	require.Equal(t, part, kept())
	st := point(part/4 - 1)
	require.Equal(t, int64(1), st.Blocks, "the same part")
	require.Equal(t, int64(1), st.Hits)
	require.Equal(t, int64(2), point(part/4).Blocks, "another part")
	require.Equal(t, g.blockLen, kept())
	st = point(g.blockLen/4 - 1)
	require.Equal(t, int64(2), st.Blocks)
	require.Equal(t, int64(2), st.Hits)
}

// TestLargeRead: what the cache cannot hold does not go there.
func TestLargeRead(t *testing.T) {
	f, _ := partsFile(t, &OpenOptions{Cache: 300 << 10})
	a := f.Array(1)
	for i := range int64(2) {
		_, err := slab.Read[int32](context.Background(), a, slab.Sel{})
		require.NoError(t, err)
		require.Equal(t, (i+1)*f.archive.l.vars[1].blocks, f.archive.Stats().Blocks)
		require.Zero(t, f.archive.Stats().Hits)
	}
	b := make([]byte, arrayLen(a))
	_, err := a.Values().ReadAt(b, 0)
	require.NoError(t, err)
	require.Zero(t, f.archive.Stats().Hits)
}

// TestPartsChecked: verify decodes the parts too, and a reader that believes a
// wrong claim gets an error or what the parts hold, and does not fall over.
func TestPartsChecked(t *testing.T) {
	f, ar := partsFile(t, &OpenOptions{Cache: -1})
	require.Empty(t, verify(t, ar).Damage)
	a := f.archive
	a.checkParts = true
	require.NoError(t, a.Copy(context.Background(), nil, nil))
	good := a.l.Vars[1].Part
	a.l.Vars[1].Part = good + 4 // as many parts, of other lengths
	var be *BlockError
	require.ErrorAs(t, a.Copy(context.Background(), nil, nil), &be)
	require.ErrorIs(t, be, ErrCorrupt)
	a.l.Vars[1].Part = 4096 // blocks of other parts count as left whole
	require.NoError(t, a.Copy(context.Background(), nil, nil))
	got, err := slab.Read[int32](context.Background(), f.Array(1), slab.Sel{Start: []int64{2, 3, 4}, Count: []int64{1, 1, 1}})
	require.NoError(t, err)
	require.Equal(t, partsValue(2*300*500+3*500+4), got[0])
}

// TestPartsPlan: claims about parts that cannot be.
func TestPartsPlan(t *testing.T) {
	f, _ := partsFile(t, nil)
	p := *f.archive.l.Plan
	p.Vars = append([]PlanVar{}, p.Vars...)
	good := p.Vars[1].Part
	for _, part := range []int64{-4, 1, good + 1, good + 2, f.archive.l.vars[1].blockLen, 1 << 40, 4} {
		p.Vars[1].Part = part
		_, err := newLayout(&p)
		require.ErrorIs(t, err, ErrCorrupt, part)
	}
	p.Vars[1].Part = good
	_, err := newLayout(&p)
	require.NoError(t, err)
}

// TestPartsMasked: blocks whose filters were left out are decoded whole.
func TestPartsMasked(t *testing.T) {
	chain, err := spec.ParseChain("2,4|32015,3", nil)
	require.NoError(t, err)
	for i := range chain {
		chain[i].Optional = true
	}
	image := partsImage(t, 2)
	rng := rand.New(rand.NewSource(1))
	rng.Read(image[len(image)-2*300*500*8:]) // so that zstd is left out of some
	ar := pack(t, image, &WriteOptions{Zarr: ZarrAlways, Filters: []VarFilter{{Vars: []string{"*"}, Chain: chain}}})
	f, classic := openFile(t, ar, nil), openFile(t, image, nil)
	for v := range f.Header().Vars {
		if len(f.Header().Vars[v].Shape) != 3 {
			continue
		}
		for range 20 {
			start := []int64{rng.Int63n(2), rng.Int63n(300), rng.Int63n(500)}
			n := f.Array(v).Type().Size()
			off := ((start[0]*300+start[1])*500 + start[2]) * n
			want, got := make([]byte, n), make([]byte, n)
			_, err := classic.Array(v).Values().ReadAt(want, off)
			require.NoError(t, err)
			_, err = f.Array(v).Values().ReadAt(got, off)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
}

// TestPartsLeftWhole: a block without parts is decoded once, whatever is asked of it.
func TestPartsLeftWhole(t *testing.T) {
	image := cubeImage(t, 2, 300, 500) // elements that count up
	for _, o := range []*OpenOptions{nil, {Cache: -1}} {
		f := openFile(t, pack(t, image, &WriteOptions{Zarr: ZarrAlways}), o)
		g := f.archive.l.vars[1]
		for _, elem := range []int64{0, g.blockLen/4 - 1, g.blockLen / 8} {
			got, err := slab.Read[int32](context.Background(), f.Array(1), slab.Sel{Start: []int64{0, elem / 500, elem % 500}, Count: []int64{1, 1, 1}})
			require.NoError(t, err)
			require.Equal(t, int32(elem), got[0])
		}
		if o == nil {
			require.Equal(t, int64(1), f.archive.Stats().Blocks)
			require.Equal(t, int64(2), f.archive.Stats().Hits)
		}
	}
}
