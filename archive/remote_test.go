package archive

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/faultsrv"
	"github.com/cdfz-format/cdfz/remote"
	"github.com/cdfz-format/cdfz/slab"
)

// noiseY and noiseX are the shape of a record in noiseImage.
const noiseY, noiseX = 48, 64

// noiseImage makes a classic file of nt records with the variables of cubeImage. The
// values of a are unrelated.
func noiseImage(t testing.TB, nt int64) []byte {
	image := cubeImage(t, nt, noiseY, noiseX)
	rnd := rand.New(rand.NewSource(1))
	f, err := New(t.Context(), bytes.NewReader(image), int64(len(image)), nil)
	require.NoError(t, err)
	h := f.Header()
	for r := range h.NumRecs {
		off := h.Vars[0].Begin + r*h.RecSize
		for i := off; i < off+h.Vars[0].RecLen; i += 4 {
			binary.BigEndian.PutUint32(image[i:], math.Float32bits(float32(rnd.NormFloat64())))
		}
	}
	return image
}

// noiseArchive makes an archive of noiseImage with unfiltered blocks of the given size.
func noiseArchive(t testing.TB, image []byte, block int64) []byte {
	return pack(t, image, &WriteOptions{Block: block, Zarr: ZarrAlways, Name: "noise.nc",
		Filters: []VarFilter{{Vars: []string{"*"}, Chain: filters.Chain{}}}})
}

type pattern struct {
	name string
	slab.Sel
}

// patterns returns selections of a variable of noiseImage: typical ones, and some that
// are hard for a remote reader. The last one fills a cache.
func patterns(nt int64) []pattern {
	const ny, nx = noiseY, noiseX
	return []pattern{
		{"point", slab.Sel{Start: []int64{7, 8, 9}, Count: []int64{1, 1, 1}, Stride: []int64{1, 1, 1}}},
		{"last", slab.Sel{Start: []int64{nt - 1, ny - 1, nx - 1}, Count: []int64{1, 1, 1}, Stride: []int64{1, 1, 1}}},
		{"series", slab.Sel{Start: []int64{0, 20, 30}, Count: []int64{nt, 1, 1}, Stride: []int64{1, 1, 1}}},
		{"sparse series", slab.Sel{Start: []int64{1, 20, 30}, Count: []int64{5, 1, 1}, Stride: []int64{(nt - 2) / 4, 1, 1}}},
		{"backwards", slab.Sel{Start: []int64{nt - 1, ny - 1, 0}, Count: []int64{4, 4, nx}, Stride: []int64{-(nt - 1) / 3, -15, 1}}},
		{"map", slab.Sel{Start: []int64{33, 0, 0}, Count: []int64{1, ny, nx}, Stride: []int64{1, 1, 1}}},
		{"two maps", slab.Sel{Start: []int64{3, 0, 0}, Count: []int64{2, ny, nx}, Stride: []int64{nt - 4, 1, 1}}},
		{"row", slab.Sel{Start: []int64{33, 5, 0}, Count: []int64{1, 1, nx}, Stride: []int64{1, 1, 1}}},
		{"box", slab.Sel{Start: []int64{3, 5, 6}, Count: []int64{9, 10, 11}, Stride: []int64{1, 1, 1}}},
		{"corners", slab.Sel{Start: []int64{0, 0, 0}, Count: []int64{2, 2, 2}, Stride: []int64{nt - 1, ny - 1, nx - 1}}},
		{"strided", slab.Sel{Start: []int64{0, 0, 0}, Count: []int64{9, 6, 8}, Stride: []int64{nt / 9, 9, 8}}},
		{"none", slab.Sel{Start: []int64{5, 0, 0}, Count: []int64{0, ny, nx}, Stride: []int64{1, 1, 1}}},
		{"all", slab.Sel{Start: []int64{0, 0, 0}, Count: []int64{nt, ny, nx}, Stride: []int64{1, 1, 1}}},
	}
}

// readNoise reads a selection of variable a.
func readNoise(ctx context.Context, f *File, s slab.Sel) ([]float32, error) {
	a := f.Array(0)
	n, err := s.Len(a.Shape())
	if err != nil {
		return nil, err
	}
	dst := make([]float32, n)
	return dst, slab.ReadInto(ctx, a, dst, s)
}

// noiseValues does the same directly from the image.
func noiseValues(t testing.TB, image []byte, s slab.Sel) []float32 {
	f, err := New(t.Context(), bytes.NewReader(image), int64(len(image)), nil)
	require.NoError(t, err)
	v := &f.Header().Vars[0]
	want := []float32{}
	for i := range s.Count[0] {
		for j := range s.Count[1] {
			for k := range s.Count[2] {
				off := v.Begin + (s.Start[0]+i*s.Stride[0])*f.Header().RecSize
				off += 4 * ((s.Start[1]+j*s.Stride[1])*noiseX + s.Start[2] + k*s.Stride[2])
				want = append(want, math.Float32frombits(binary.BigEndian.Uint32(image[off:])))
			}
		}
	}
	return want
}

// extent is a range of bytes of an archive.
type extent struct{ off, n int64 }

// join merges extents that are less than 64 KiB apart, which one request should fetch.
func join(e []extent) []extent {
	slices.SortFunc(e, func(a, b extent) int { return cmp.Compare(a.off, b.off) })
	var out []extent
	for _, x := range e {
		if k := len(out); k > 0 && x.off-(out[k-1].off+out[k-1].n) < 64<<10 {
			out[k-1].n = max(out[k-1].n, x.off+x.n-out[k-1].off)
			continue
		}
		out = append(out, x)
	}
	return out
}

func total(e []extent) (n int64) {
	for _, x := range e {
		n += x.n
	}
	return n
}

// costOf computes the runs of index pages and of blocks that a selection of variable a
// needs, from the index as specified in docs/FORMAT.md, "The index".
func costOf(t testing.TB, ar []byte, s slab.Sel) (pages, blocks []extent) {
	const header, pageHead, rowLen, rows = 32, 8, 20, 256
	a := open(t, ar)
	g := a.L.Geoms[openFile(t, ar, nil).vars[0]]
	needs := map[int64]bool{}
	for i := range s.Count[0] {
		for j := range s.Count[1] {
			for k := range s.Count[2] {
				at := ((s.Start[0]+i*s.Stride[0])*noiseY+s.Start[1]+j*s.Stride[1])*noiseX + s.Start[2] + k*s.Stride[2]
				b, _ := g.Find(4 * at)
				needs[g.First+b] = true
			}
		}
	}
	index := a.Tail.IdxOff + int64(30+len(czip.IndexName)) // after its local header
	require.Equal(t, "cdfzidx\x01", string(ar[index:][:8]))
	seen := map[int64]bool{}
	for n := range needs {
		p := n / rows
		at := index + header + p*(pageHead+rows*rowLen)
		if !seen[p] {
			seen[p] = true
			pages = append(pages, extent{at, pageHead + min(rows, a.L.Blocks-p*rows)*rowLen})
		}
		row := ar[at+pageHead+n%rows*rowLen:]
		blocks = append(blocks, extent{int64(binary.LittleEndian.Uint64(row)), int64(binary.LittleEndian.Uint32(row[8:]))})
	}
	return join(pages), join(blocks)
}

// checkCost opens an archive, reads a selection, and compares the cost with the bound.
// It returns the runs.
func checkCost(t *testing.T, s *faultsrv.Server, ar, image []byte, sel slab.Sel) (pages, blocks []extent) {
	before := s.Requests.Load()
	f, err := openURL(t, s, remote.Options{})
	require.NoError(t, err)
	require.LessOrEqual(t, s.Requests.Load()-before, int64(3), "requests to open")
	opened := httpOf(f).Stats()
	got, err := readNoise(context.Background(), f, sel)
	require.NoError(t, err)
	require.Equal(t, noiseValues(t, image, sel), got)
	pages, blocks = costOf(t, ar, sel)
	read := httpOf(f).Stats()
	require.LessOrEqual(t, read.Requests-opened.Requests, int64(len(pages)+len(blocks)), "%v: %d runs of pages, %d of blocks", sel, len(pages), len(blocks))
	require.LessOrEqual(t, read.Bytes-opened.Bytes, total(pages)+total(blocks), "%v", sel)

	_, err = readNoise(context.Background(), f, sel)
	require.NoError(t, err)
	require.Equal(t, read.Requests, httpOf(f).Stats().Requests, "%v: requests for what is in the cache", sel)
	return pages, blocks
}

// TestRemoteCost checks that a hyperslab over HTTP costs at most the runs and bytes of
// the index pages and blocks that it needs, and nothing the second time.
func TestRemoteCost(t *testing.T) {
	const nt = 350 // with the smallest blocks enough for index pages that are far apart
	image := noiseImage(t, nt)
	several := false
	sizes := []int64{MinBlock, 4000, 16 << 10, 100_000, DefaultBlock, 1 << 20}
	if testing.Short() {
		sizes = []int64{MinBlock}
	}
	for _, block := range sizes {
		ar := noiseArchive(t, image, block)
		s := faultsrv.Serve(t, ar)
		for _, p := range patterns(nt) {
			t.Run(fmt.Sprintf("%d/%s", block, p.name), func(t *testing.T) {
				pages, blocks := checkCost(t, s, ar, image, p.Sel)
				several = several || len(pages) > 1 && len(blocks) > 1
			})
		}
	}
	require.True(t, several, "no pattern has several runs of both kinds")
}

// TestRemoteCostRandom does the same for random selections.
func TestRemoteCostRandom(t *testing.T) {
	const nt = 350
	image := noiseImage(t, nt)
	rng := rand.New(rand.NewSource(1))
	for _, block := range []int64{MinBlock, 3000, 40_000} {
		ar := noiseArchive(t, image, block)
		s := faultsrv.Serve(t, ar)
		for range 30 {
			var sel slab.Sel
			for _, n := range []int64{nt, noiseY, noiseX} {
				start, stride := rng.Int63n(n), 1+rng.Int63n(n)
				sel.Start, sel.Stride = append(sel.Start, start), append(sel.Stride, stride)
				sel.Count = append(sel.Count, rng.Int63n((n-1-start)/stride+2))
			}
			checkCost(t, s, ar, image, sel)
		}
	}
}

// passing returns faults that one or two more attempts overcome.
func passing() map[string]faultsrv.Fault {
	return map[string]faultsrv.Fault{
		"drop": func(int, http.ResponseWriter, *http.Request, *httptest.ResponseRecorder) { panic(http.ErrAbortHandler) },
		"truncate": func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			faultsrv.CutOff(w, ok)
		},
		"delay": func(_ int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
			select {
			case <-time.After(5 * time.Millisecond):
				faultsrv.Send(w, ok)
			case <-r.Context().Done():
			}
		},
		"503": faultsrv.Status(503, http.Header{"Retry-After": {"1"}}),
		"429": faultsrv.Status(429, nil),
	}
}

// TestRemoteFaults checks that hyperslabs are right whatever happens to some of the
// requests, for several readers at a time.
func TestRemoteFaults(t *testing.T) {
	image := noiseImage(t, 64)
	want := map[string][]float32{}
	for _, p := range patterns(64) {
		want[p.name] = noiseValues(t, image, p.Sel)
	}
	for _, block := range []int64{MinBlock, 16 << 10} {
		ar := noiseArchive(t, image, block)
		for name, fault := range passing() {
			t.Run(fmt.Sprintf("%d/%s", block, name), func(t *testing.T) {
				s := faultsrv.Serve(t, ar)
				s.Fault = faultsrv.Half(fault)
				f, err := openURL(t, s, remote.Options{Retries: 50}, &OpenOptions{Cache: 256 << 10})
				require.NoError(t, err)
				var wg sync.WaitGroup
				for _, p := range patterns(64) {
					wg.Go(func() {
						got, err := readNoise(context.Background(), f, p.Sel)
						if err != nil || !slices.Equal(want[p.name], got) {
							t.Errorf("%s: %v", p.name, err)
						}
					})
				}
				wg.Wait()
				require.LessOrEqual(t, s.Most.Load(), int64(8))
			})
		}
	}
}

// TestRemoteFailures checks that a persistent fault in any request of a hyperslab is an
// error of the source, of the right class. Cached values are still right.
func TestRemoteFailures(t *testing.T) {
	image := noiseImage(t, 64)
	ar := noiseArchive(t, image, 4000)
	map0 := slab.Sel{Start: []int64{0, 0, 0}, Count: []int64{1, noiseY, noiseX}, Stride: []int64{1, 1, 1}}
	for name, c := range map[string]struct {
		fault faultsrv.Fault
		is    error
	}{
		"drop":      {passing()["drop"], nil},
		"truncate":  {passing()["truncate"], nil},
		"503":       {faultsrv.Status(503, nil), nil},
		"500":       {faultsrv.Status(500, nil), nil},
		"missing":   {faultsrv.Status(404, nil), fs.ErrNotExist},
		"forbidden": {faultsrv.Status(403, nil), fs.ErrPermission},
		"changed":   {faultsrv.Status(412, nil), remote.ErrChanged},
		"shorter":   {faultsrv.Status(416, http.Header{"Content-Range": {"bytes */1000"}}), remote.ErrChanged},
		"elsewhere": {faultsrv.Rewrite("bytes %[6]d-%[5]d/%[3]d"), nil},
		"no ranges": {func(_ int, w http.ResponseWriter, _ *http.Request, _ *httptest.ResponseRecorder) {
			w.Header().Set("ETag", faultsrv.Tag)
			w.Write(ar)
		}, remote.ErrNoRanges},
		"nothing": {func(_ int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			ok.Body.Reset()
			faultsrv.Send(w, ok)
		}, nil},
	} {
		// The first requests of a hyperslab are for the index.
		for after := range 4 {
			if testing.Short() && after != 1 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", name, after), func(t *testing.T) {
				s := faultsrv.Serve(t, ar)
				f, err := openURL(t, s, remote.Options{Retries: 2})
				require.NoError(t, err)
				want := noiseValues(t, image, map0)
				got, err := readNoise(context.Background(), f, map0)
				require.NoError(t, err)
				require.Equal(t, want, got)

				first := int(s.Requests.Load()) + after
				s.Set(func() {
					s.Fault = func(n int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
						if n >= first {
							c.fault(n, w, r, ok)
							return
						}
						faultsrv.Send(w, ok)
					}
				})
				failed := 0
				for _, p := range patterns(64) {
					got, err := readNoise(context.Background(), f, p.Sel)
					if err == nil {
						require.Equal(t, noiseValues(t, image, p.Sel), got, p.name)
						continue
					}
					failed++
					sourceFailed(t, err)
					if c.is != nil {
						require.ErrorIs(t, err, c.is)
					}
					if c.is != remote.ErrChanged {
						require.NotErrorIs(t, err, remote.ErrChanged)
					}
				}
				require.Positive(t, failed)
				got, err = readNoise(context.Background(), f, map0)
				require.NoError(t, err)
				require.Equal(t, want, got)

				// When the server recovers, reads succeed again.
				s.Set(func() { s.Fault = nil })
				all := patterns(64)[len(patterns(64))-1]
				got, err = readNoise(context.Background(), f, all.Sel)
				require.NoError(t, err)
				require.Equal(t, noiseValues(t, image, all.Sel), got)
			})
		}
	}
}

// TestRemoteReplaced replaces a file at any request. Hyperslabs must then be those of
// the old file or fail with remote.ErrChanged.
func TestRemoteReplaced(t *testing.T) {
	image := noiseImage(t, 64)
	ar := noiseArchive(t, image, 4000)
	var other, same []byte
	for mask := byte(1); len(same) != len(ar); mask++ { // the manifest may deflate to another length
		require.NotZero(t, mask)
		other = bytes.Clone(image)
		for i := range other[len(image)/2:] {
			other[len(image)/2+i] ^= mask
		}
		same = noiseArchive(t, other, 4000)
	}
	longer := noiseArchive(t, image, 2000)
	for name, c := range map[string]struct {
		data            []byte
		etag, modified  string // of the old file
		newTag, newTime string
	}{
		"tag":                 {same, faultsrv.Tag, faultsrv.Time, `"v2"`, faultsrv.Time},
		"weak tag":            {same, "W/" + faultsrv.Tag, "", `W/"v2"`, ""},
		"time":                {same, "", faultsrv.Time, "", faultsrv.NewTime},
		"tag and time":        {same, faultsrv.Tag, faultsrv.Time, `"v2"`, faultsrv.NewTime},
		"tag, then time only": {same, faultsrv.Tag, faultsrv.Time, "", faultsrv.NewTime},
		"size only":           {longer, "", "", "", ""},
		"shorter":             {ar[:len(ar)/2], "", "", "", ""},
		"empty":               {nil, faultsrv.Tag, faultsrv.Time, `"v2"`, faultsrv.NewTime},
		"netCDF":              {image, faultsrv.Tag, faultsrv.Time, `"v2"`, faultsrv.NewTime},
	} {
		for after := range 5 {
			if testing.Short() && after != 2 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", name, after), func(t *testing.T) {
				s := faultsrv.Serve(t, ar)
				s.ETag, s.Modified = c.etag, c.modified
				f, err := openURL(t, s, remote.Options{Retries: -1, Parallel: 2})
				require.NoError(t, err)
				first := int(s.Requests.Load()) + after
				s.Set(func() {
					s.Fault = func(n int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
						if n == first {
							s.Set(func() { s.Data, s.ETag, s.Modified = c.data, c.newTag, c.newTime })
						}
						faultsrv.Send(w, ok)
					}
				})
				changed := 0
				for range 2 {
					for _, p := range patterns(64) {
						got, err := readNoise(context.Background(), f, p.Sel)
						if err == nil {
							require.Equal(t, noiseValues(t, image, p.Sel), got, p.name)
							continue
						}
						changed++
						sourceFailed(t, err)
						require.ErrorIs(t, err, remote.ErrChanged)
					}
				}
				require.Positive(t, changed)
			})
		}
	}
}

// TestRemoteCancel checks that a hyperslab whose context ends returns at once,
// whichever request is active, and that the file can be read afterwards.
func TestRemoteCancel(t *testing.T) {
	image := noiseImage(t, 64)
	files := map[string][]byte{"archive": noiseArchive(t, image, 4000), "classic": image}
	for n := range 6 {
		kind, after := []string{"archive", "classic"}[n%2], n/2
		for _, p := range patterns(64) {
			if p.name == "none" {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s/%d", kind, p.name, after), func(t *testing.T) {
				s := faultsrv.Serve(t, files[kind])
				f, err := openURL(t, s, remote.Options{})
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				first := s.HangAfter(after, cancel)
				start := time.Now()
				got, err := readNoise(ctx, f, p.Sel)
				require.Less(t, time.Since(start), 5*time.Second)
				if err == nil {
					require.LessOrEqual(t, int(s.Requests.Load()), first, "answered by fewer requests")
					require.Equal(t, noiseValues(t, image, p.Sel), got)
				} else {
					require.ErrorIs(t, err, context.Canceled)
					require.NotErrorIs(t, err, ErrCorrupt)
				}

				s.Set(func() { s.Fault = nil })
				got, err = readNoise(context.Background(), f, p.Sel)
				require.NoError(t, err)
				require.Equal(t, noiseValues(t, image, p.Sel), got)
			})
		}
	}
}

// TestRemoteCancelOne cancels one of two readers that wait for the same block. It must
// return at once, and the other must get its values.
func TestRemoteCancelOne(t *testing.T) {
	image := noiseImage(t, 64)
	s := faultsrv.Serve(t, noiseArchive(t, image, 4000))
	sel := patterns(64)[0].Sel
	for first := range 2 {
		f, err := openURL(t, s, remote.Options{})
		require.NoError(t, err)
		release, asked := make(chan struct{}), make(chan struct{}, 100)
		s.Set(func() {
			s.Fault = func(_ int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
				asked <- struct{}{}
				select {
				case <-release:
					faultsrv.Send(w, ok)
				case <-r.Context().Done():
				}
			}
		})
		var ctx [2]context.Context
		var cancel [2]context.CancelFunc
		var done [2]chan error
		for i := range 2 {
			ctx[i], cancel[i] = context.WithCancel(context.Background())
			done[i] = make(chan error, 1)
			go func() {
				got, err := readNoise(ctx[i], f, sel)
				if err == nil && !slices.Equal(noiseValues(t, image, sel), got) {
					err = fmt.Errorf("got %v", got)
				}
				done[i] <- err
			}()
			if i == 0 {
				<-asked
			}
		}
		time.Sleep(10 * time.Millisecond) // let the second one wait as well
		cancel[first]()
		select {
		case err := <-done[first]:
			require.ErrorIs(t, err, context.Canceled)
		case <-time.After(5 * time.Second):
			t.Error("cancelled, and still waiting")
		}
		close(release)
		require.NoError(t, <-done[1-first])
		cancel[1-first]()
		s.Set(func() { s.Fault = nil })
	}
}
