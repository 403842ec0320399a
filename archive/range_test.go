package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/faultsrv"
	"github.com/cdfz-format/cdfz/remote"
	"github.com/cdfz-format/cdfz/slab"
)

// rangedArchives returns archives of an image with one chain for all variables. Blocks
// of the first two can be decoded in part.
func rangedArchives(t testing.TB, image []byte, block int64) map[string][]byte {
	out := map[string][]byte{}
	for name, c := range map[string]filters.Chain{
		"none":         {},
		"lorenz":       {{ID: filters.Lorenz}},
		"shuffle+zstd": {{ID: filters.Shuffle, Params: []uint32{4}}, {ID: filters.Zstd, Params: []uint32{1}}},
	} {
		out[name] = pack(t, image, &WriteOptions{Block: block, Zarr: ZarrNever, Filters: []VarFilter{{Vars: []string{"a"}, Chain: c}}})
	}
	return out
}

// TestRanges reads points and slabs of all shapes from blocks that can be decoded in
// part, with all kinds of caches.
func TestRanges(t *testing.T) {
	const nt = 30
	image := noiseImage(t, nt)
	for name, ar := range rangedArchives(t, image, 50_000) {
		for _, o := range []*OpenOptions{nil, {Cache: 1 << 20}, {Cache: -1}} {
			f := openFile(t, ar, o)
			inGoroutines(t, 3, func(r *rand.Rand) error {
				for range 60 {
					s := slab.Sel{Start: make([]int64, 3), Count: make([]int64, 3), Stride: []int64{1, 1, 1}}
					for i, n := range []int64{nt, noiseY, noiseX} {
						s.Start[i] = r.Int63n(n)
						s.Count[i] = 1
						if r.Intn(2) == 0 {
							s.Count[i] = 1 + r.Int63n(n-s.Start[i])
							s.Stride[i] = 1 + r.Int63n(3)
							s.Count[i] = (s.Count[i] + s.Stride[i] - 1) / s.Stride[i]
						}
					}
					got, err := readNoise(context.Background(), f, s)
					if err != nil {
						return err
					}
					if !slices.Equal(noiseValues(t, image, s), got) {
						return fmt.Errorf("%s %v: wrong values", name, s)
					}
				}
				return nil
			})
		}
		require.True(t, bytes.Equal(image, unpack(t, ar)))
	}
}

// TestPlanes reads boxes of a variable with five dimensions, whose blocks have planes along one
// or several of these, and compares them with the classic file.
func TestPlanes(t *testing.T) {
	dims := []int64{6, 2, 3, 60, 70}
	const plane = 60 * 70
	h := &cdf3.Header{Version: cdf3.Offset64}
	v := cdf3.Var{Name: "a", Type: cdf3.Float}
	n := int64(1)
	for i, d := range dims {
		h.Dims = append(h.Dims, cdf3.Dim{Name: fmt.Sprint("d", i), Len: d})
		v.DimIDs = append(v.DimIDs, i)
		n *= d
	}
	h.Vars = []cdf3.Var{v}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	r := rand.New(rand.NewSource(5))
	var ground [plane]float32
	for i := range ground {
		ground[i] = r.Float32()
	}
	for i := range n {
		x := ground[i%plane] + 0.001*float32(i/plane) + 1e-5*r.Float32()
		image = binary.BigEndian.AppendUint32(image, math.Float32bits(x))
	}
	classic := openFile(t, image, nil)
	for _, block := range []int64{17_000, 70_000, 160_000, 1 << 20} {
		ar := pack(t, image, &WriteOptions{Block: block})
		for _, o := range []*OpenOptions{nil, {Cache: -1}} {
			f := openFile(t, ar, o)
			require.True(t, varOf(t, f, "a").Info().Blocked)
			for range 150 {
				s := slab.Sel{Start: make([]int64, 5), Count: make([]int64, 5), Stride: make([]int64, 5)}
				for i, d := range dims {
					s.Start[i], s.Count[i], s.Stride[i] = r.Int63n(d), 1, 1+r.Int63n(2)
					if most := (d - s.Start[i] + s.Stride[i] - 1) / s.Stride[i]; r.Intn(2) == 0 {
						s.Count[i] = 1 + r.Int63n(most)
					}
				}
				want, err := slab.Read[float32](context.Background(), varOf(t, classic, "a"), s)
				require.NoError(t, err)
				got, err := slab.Read[float32](context.Background(), varOf(t, f, "a"), s)
				require.NoError(t, err)
				require.Equal(t, want, got, "blocks of %d, %+v", block, s)
			}
		}
	}
}

// TestRangeAgain checks that the first point of a block decodes a part of it, the
// second the whole block, and the third nothing. Remote archives decode whole blocks at
// once.
func TestRangeAgain(t *testing.T) {
	image := noiseImage(t, 30)
	point := func(x int64) slab.Sel {
		return slab.Sel{Start: []int64{1, 2, x}, Count: []int64{1, 1, 1}, Stride: []int64{1, 1, 1}}
	}
	for name, ar := range rangedArchives(t, image, 50_000) {
		far, err := openURL(t, faultsrv.Serve(t, ar), remote.Options{})
		require.NoError(t, err)
		for _, f := range []*File{openFile(t, ar, nil), far} {
			var decoded []int64
			for _, x := range []int64{3, 3, 60, 3, 61} {
				got, err := readNoise(context.Background(), f, point(x))
				require.NoError(t, err)
				require.Equal(t, noiseValues(t, image, point(x)), got)
				decoded = append(decoded, f.Stats().Blocks)
			}
			want := []int64{1, 1, 1, 1, 1}
			if f != far && name != "shuffle+zstd" {
				want = []int64{1, 2, 2, 2, 2}
			}
			require.Equal(t, want, decoded, name)
		}
	}
}

// TestImageParts checks that reads of the image that are far apart decode parts of blocks first,
// and whole ones when they come again. Reads that follow each other decode whole blocks at once.
func TestImageParts(t *testing.T) {
	image := noiseImage(t, 200)
	far := int64(len(image)) - 5000
	for name, ar := range rangedArchives(t, image, 50_000) {
		f := openFile(t, ar, nil)
		im := f.Image()
		h := f.Header()
		read := func(off, n int64) int64 {
			before := f.Stats().Blocks
			p := make([]byte, n)
			_, err := im.ReadAt(p, off)
			require.NoError(t, err)
			require.Equal(t, image[off:off+n], p, "%s: %d bytes at %d", name, n, off)
			return f.Stats().Blocks - before
		}
		point := h.Vars[0].Begin + 150*h.RecSize + 40
		var decoded []int64
		for range 3 {
			decoded = append(decoded, read(point, 4))
			read(0, 4)
		}
		if name == "shuffle+zstd" {
			require.Equal(t, []int64{1, 0, 0}, decoded, name)
		} else {
			require.Equal(t, []int64{1, 1, 0}, decoded, name)
		}
		at := h.Vars[0].Begin + 2*h.RecSize
		read(at, 40)
		first := read(at+40, 40)
		require.LessOrEqual(t, first, int64(1))
		require.Zero(t, read(at+80, 40), name)
		inGoroutines(t, 3, func(r *rand.Rand) error {
			for range 100 {
				p := make([]byte, 1+r.Int63n(20_000))
				off := r.Int63n(far)
				if n, err := im.ReadAt(p, off); err != nil && off+int64(n) < int64(len(image)) {
					return err
				} else if !bytes.Equal(p[:n], image[off:off+int64(n)]) {
					return fmt.Errorf("%s: wrong bytes at %d", name, off)
				}
			}
			return nil
		})
	}
}

// BenchmarkPoints reads random points without a cache.
func BenchmarkPoints(b *testing.B) {
	image := noiseImage(b, 200)
	for name, ar := range rangedArchives(b, image, DefaultBlock) {
		b.Run(name, func(b *testing.B) {
			f := openFile(b, ar, &OpenOptions{Cache: -1})
			r := rand.New(rand.NewSource(1))
			for b.Loop() {
				s := slab.Sel{Start: []int64{r.Int63n(200), r.Int63n(noiseY), r.Int63n(noiseX)}, Count: []int64{1, 1, 1}, Stride: []int64{1, 1, 1}}
				if _, err := readNoise(context.Background(), f, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
