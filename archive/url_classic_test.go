package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/faultsrv"
	"github.com/cdfz-format/cdfz/remote"
	"github.com/cdfz-format/cdfz/slab"
)

// TestURLClassicCost checks that hyperslabs of a classic file over HTTP are read in
// runs that are joined across gaps, several at a time.
func TestURLClassicCost(t *testing.T) {
	const nt = 200
	one := []int64{1, 1, 1}
	series := slab.Sel{Start: []int64{0, 20, 30}, Count: []int64{nt, 1, 1}, Stride: one}
	for name, c := range map[string]struct {
		ny, nx   int64
		sel      slab.Sel
		requests int64
	}{
		"series, near": {10, 10, slab.Sel{Start: []int64{0, 5, 6}, Count: []int64{nt, 1, 1}, Stride: one}, 1},
		"series, far":  {100, 120, series, nt},
		"column":       {400, 500, slab.Sel{Start: []int64{3, 0, 7}, Count: []int64{1, 400, 1}, Stride: one}, 1},
		"map":          {400, 500, slab.Sel{Start: []int64{3, 0, 0}, Count: []int64{1, 400, 500}, Stride: one}, 1},
		"maps":         {100, 120, slab.Sel{Start: []int64{0, 0, 0}, Count: []int64{nt, 100, 120}, Stride: one}, 10},
		"point":        {100, 120, slab.Sel{Start: []int64{9, 9, 9}, Count: one, Stride: one}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			n := int64(nt)
			if c.ny == 400 {
				n = 5
			}
			s := faultsrv.Serve(t, cubeImage(t, n, c.ny, c.nx))
			f, err := openURL(t, s, remote.Options{})
			require.NoError(t, err)
			local := openFile(t, s.Data, nil)
			want, err := slab.Read[float32](context.Background(), local.Array(0), slab.Sel{Start: c.sel.Start, Count: c.sel.Count, Stride: c.sel.Stride})
			require.NoError(t, err)
			atOnce := min(c.requests, 4)
			s.Set(func() {
				s.Fault = func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
					// Answers wait for the requests that must arrive at the same time.
					for until := time.Now().Add(5 * time.Second); s.Most.Load() < atOnce && time.Now().Before(until); {
						time.Sleep(time.Millisecond)
					}
					faultsrv.Send(w, ok)
				}
			})
			requests, size := cost(t, s, httpOf(f), func() {
				got, err := slab.Read[float32](context.Background(), f.Array(0), slab.Sel{Start: c.sel.Start, Count: c.sel.Count, Stride: c.sel.Stride})
				require.NoError(t, err)
				require.Equal(t, want, got)
			})
			t.Logf("%d requests, at most %d at a time, %d bytes", requests, s.Most.Load(), size)
			require.LessOrEqual(t, requests, c.requests)
			require.GreaterOrEqual(t, s.Most.Load(), atOnce)
		})
	}
}

// readBits returns the bytes of a selection of values of any type: those of NaN can be compared.
func readBits(t testing.TB, a slab.Array, s slab.Sel) []byte {
	t.Helper()
	read := map[cdf3.Type]func(testing.TB, slab.Array, slab.Sel) []byte{
		cdf3.Byte: bytesOf[int8], cdf3.Char: bytesOf[uint8], cdf3.UByte: bytesOf[uint8], cdf3.Short: bytesOf[int16], cdf3.UShort: bytesOf[uint16],
		cdf3.Int: bytesOf[int32], cdf3.UInt: bytesOf[uint32], cdf3.Int64: bytesOf[int64], cdf3.UInt64: bytesOf[uint64],
		cdf3.Float: bytesOf[float32], cdf3.Double: bytesOf[float64],
	}
	return read[a.Type()](t, a, s)
}

func bytesOf[T cdf3.Number](t testing.TB, a slab.Array, s slab.Sel) []byte {
	t.Helper()
	got, err := slab.Read[T](context.Background(), a, s)
	require.NoError(t, err)
	b, err := binary.Append(nil, binary.NativeEndian, got)
	require.NoError(t, err)
	return b
}

// TestRemoteClassic checks that hyperslabs of classic files are the same from a remote
// reader and a local one, also for truncated files.
func TestRemoteClassic(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	files, selections, scale := someFiles(t), 20, int64(1)
	if testing.Short() {
		selections, scale = 1, 20
	}
	files["cube"] = cubeImage(t, 70/scale, 30, 50)
	files["small records"] = cubeImage(t, 5000/scale, 1, 3)
	files["long rows"] = cubeImage(t, 3, 2, 70_000/scale)
	for name, image := range files {
		for _, b := range [][]byte{image, image[:max(len(image)*2/3, 32)]} {
			local, err := New(t.Context(), bytes.NewReader(b), int64(len(b)), nil)
			if err != nil {
				continue // the header is cut off
			}
			far, err := New(t.Context(), remoteBytes{bytes.NewReader(b)}, int64(len(b)), nil)
			require.NoError(t, err)
			for v := range local.Header().Vars {
				a, r := local.Array(v), far.Array(v)
				if arrayLen(a) > 16<<20 {
					continue // claimed beyond the end of the file
				}
				require.IsType(t, &farVar{}, r.Values())
				require.Equal(t, readBits(t, a, slab.Sel{}), readBits(t, r, slab.Sel{}), "%s, variable %d", name, v)
				for range selections {
					s := randomSelection(rng, a.Shape())
					require.Equal(t, readBits(t, a, s), readBits(t, r, s), "%s, variable %d, %v", name, v, s)
				}
				if a.Type() == cdf3.Float {
					want := walkAll(t, a)
					slices.Sort(want)
					got := walkAll(t, r)
					slices.Sort(got)
					require.Equal(t, want, got)
				}
			}
		}
	}
}

// randomSelection returns a random selection, backwards in some dimensions.
func randomSelection(rng *rand.Rand, shape []int64) (s slab.Sel) {
	for _, n := range shape {
		if n == 0 {
			return slab.Sel{}
		}
		start, stride := rng.Int63n(n), 1+rng.Int63n(min(n, 1+rng.Int63n(n)))
		count := rng.Int63n((n-1-start)/stride+1) + 1
		if rng.Intn(3) == 0 {
			start, stride = start+(count-1)*stride, -stride
		}
		s.Start, s.Count, s.Stride = append(s.Start, start), append(s.Count, count), append(s.Stride, stride)
	}
	return s
}

// walkAll returns the bits of all floats of a walk.
func walkAll(t testing.TB, a slab.Array) (all []uint32) {
	t.Helper()
	require.NoError(t, slab.Walk(context.Background(), a, func(_, _ []int64, v []float32) error {
		for _, x := range v {
			all = append(all, math.Float32bits(x))
		}
		return nil
	}))
	return all
}
