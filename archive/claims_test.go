package archive

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"log"
	"math"
	"math/rand"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/encode"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cf"
	"github.com/cdfz-format/cdfz/internal/faultsrv"
	"github.com/cdfz-format/cdfz/remote"
	"github.com/cdfz-format/cdfz/slab"
)

// claimed lists sizes of sparse files, whose bytes are nearly all absent.
var claimed = []int64{1 << 31, 8e12, 1 << 60, math.MaxInt64}

// remoteSparse is a sparse file that reads like a remote one.
type remoteSparse struct{ *faultsrv.Sparse }

func (remoteSparse) Gap() int64 { return 64 << 10 }

// claims is an archive with arbitrary places and counts, and valid checksums.
type claims struct {
	front []byte // up to the manifest
	man   plan.Manifest
	rows  int64 // of the index
}

func claimsOf(t testing.TB, ar []byte) claims {
	r := open(t, ar)
	return claims{ar[:r.Tail.ManOff], *r.Man, r.L.Blocks}
}

// file returns the archive as a file of size bytes with manifest, index and end at its
// end. The rows of the index are zero.
func (c *claims) file(t testing.TB, size int64) *faultsrv.Sparse {
	indexLen, err := blockidx.Size(c.rows)
	require.NoError(t, err)
	index := binary.LittleEndian.AppendUint64([]byte("cdfzidx\x01"), uint64(c.rows))
	index = binary.LittleEndian.AppendUint32(index, 256)
	index = binary.LittleEndian.AppendUint32(index, 20)
	index = binary.LittleEndian.AppendUint32(index, 0)
	index = binary.LittleEndian.AppendUint32(index, crc32.ChecksumIEEE(index))

	man := czip.NewMeta(czip.ManifestName, plan.EncodeJSON(&c.man))
	idx := czip.ZipEntry{Name: czip.IndexName, Stored: indexLen, Size: indexLen}
	end := czip.AppendEnd(nil, c.man.Entries, size-1000, 500, string(make([]byte, czip.TailLen)))
	idx.Off = size - int64(len(end)) - indexLen - idx.LocalLen()
	man.Off = idx.Off - man.Stored - man.LocalLen()
	line := czip.Tail{ManOff: man.Off, ManLen: man.Stored, ManCRC: czip.CRC(man.Payload), IdxOff: idx.Off, IdxLen: idx.Stored, IdxCRC: 0}.String()
	copy(end[len(end)-czip.TailLen:], line)
	near := append(append(man.AppendLocal(nil), man.Payload...), idx.AppendLocal(nil)...)
	require.Greater(t, man.Off, int64(len(c.front)), "room for the front")
	return &faultsrv.Sparse{Size: size, Pieces: map[int64][]byte{
		0: c.front, man.Off: append(near, index...), size - int64(len(end)): end,
	}}
}

// TestClaims checks places, lengths and counts that only a file of that size could
// have. Opening must not allocate more than the format allows.
func TestClaims(t *testing.T) {
	_, ar := largeArchive(t)
	for name, change := range map[string]func(c *claims, size int64){
		"nothing":      func(*claims, int64) {},
		"long plan":    func(c *claims, size int64) { c.man.Plan.Len = size / 2 },
		"plan at once": func(c *claims, size int64) { c.man.Plan.Len = 1 << 30 },
		"long header":  func(c *claims, size int64) { c.man.Header.Len = size / 2 },
		"late plan":    func(c *claims, size int64) { c.man.Plan.Off = size / 2 },
		"long front": func(c *claims, size int64) {
			c.man.Header.Off += size/2 - c.man.Front.Len
			c.man.Front.Len = size / 2
		},
		"long front, long plan": func(c *claims, size int64) {
			c.man.Header.Off += size/2 - c.man.Front.Len
			c.man.Front.Len = size / 2
			c.man.Plan.Len = size/2 - c.man.Plan.Off
		},
		"long front, long header": func(c *claims, size int64) {
			c.man.Header.Off += size/4 - c.man.Front.Len
			c.man.Front.Len = size / 4
			c.man.Header.Len = size / 4
		},
		"largest":     func(c *claims, size int64) { c.man.Plan.Len, c.man.Header.Len = math.MaxInt64, math.MaxInt64 },
		"many rows":   func(c *claims, size int64) { c.rows = size / 30 },
		"many blocks": func(c *claims, size int64) { c.rows = size / 30; c.man.Blocks = c.rows },
	} {
		for _, size := range claimed {
			t.Run(fmt.Sprintf("%s/%d", name, size), func(t *testing.T) {
				c := claimsOf(t, ar)
				c.man.Front.Len = max(c.man.Front.Len, 1)
				change(&c, size)
				f := c.file(t, size)
				for _, r := range []io.ReaderAt{f, remoteSparse{f}} {
					bounded(t, int64(len(ar)), func() {
						a, err := read.NewReader(context.Background(), r, size, nil)
						if err == nil {
							err = copyImage(context.Background(), a, nil, nil)
						}
						require.ErrorIs(t, err, ErrCorrupt)
					})
				}
			})
		}
	}
}

// giant makes a classic file of size bytes that holds one large variable. It returns
// the header and the file.
func giant(t testing.TB, size int64, record bool) (*cdf3.Header, *faultsrv.Sparse) {
	h := &cdf3.Header{Version: cdf3.Data64, Dims: []cdf3.Dim{{Name: "n", Len: (size - 1000) / 8}, {Name: "m", Len: 8}},
		Vars: []cdf3.Var{{Name: "v", DimIDs: []int{0, 1}, Type: cdf3.Byte}}}
	if record {
		h.NumRecsField = uint64(h.Dims[0].Len)
		h.Dims[0].Len = 0
	}
	require.NoError(t, h.Layout())
	b, err := h.Append(nil)
	require.NoError(t, err)
	f := &faultsrv.Sparse{Size: size, Pieces: map[int64][]byte{0: b}}
	h, err = cdf3.Read(f, size)
	require.NoError(t, err)
	return h, f
}

// TestGiantClassic opens a classic file of any size and reads a value.
func TestGiantClassic(t *testing.T) {
	for _, size := range claimed {
		for _, record := range []bool{false, true} {
			h, f := giant(t, size, record)
			for _, r := range []io.ReaderAt{f, remoteSparse{f}} {
				bounded(t, 0, func() {
					f, err := New(t.Context(), r, size, nil)
					require.NoError(t, err)
					got, err := slab.Read[int8](context.Background(), f.Array(0), slab.Sel{Start: []int64{h.Vars[0].Shape[0] - 1, 7}, Count: []int64{1, 1}})
					require.NoError(t, err)
					require.Equal(t, []int8{0}, got)
				})
			}
		}
	}
}

// TestGiantRead checks that a variable whose values cannot exist is refused before
// memory is allocated for them.
func TestGiantRead(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 200 MB")
	}
	ctx := context.Background()
	_, f := giant(t, 1<<50, false)
	head := f.Pieces[0]
	bounded(t, 0, func() {
		for _, r := range []interface {
			io.ReaderAt
			Size() int64
		}{bytes.NewReader(head), remoteBytes{bytes.NewReader(head)}} {
			f, err := New(ctx, r, r.Size(), nil)
			require.NoError(t, err)
			_, err = slab.Read[int8](ctx, f.Array(0), slab.Sel{})
			require.ErrorIs(t, err, slab.ErrLength)
			packing, err := cf.NewPacking(&f.Header().Vars[0])
			require.NoError(t, err)
			_, err = cf.Read[float32](ctx, f.Array(0), slab.Sel{}, packing)
			require.ErrorIs(t, err, slab.ErrLength)
		}
	})
	// A little of a truncated file is there, and the rest is zeros.
	_, f = giant(t, 300<<20, false)
	short, err := New(ctx, f, 200<<20, nil)
	require.NoError(t, err)
	got, err := slab.Read[int8](ctx, short.Array(0), slab.Sel{})
	require.NoError(t, err)
	require.Len(t, got, int(short.Header().Vars[0].Len))
	old := debug.SetMemoryLimit(260 << 20)
	defer debug.SetMemoryLimit(old)
	_, err = slab.Read[int8](ctx, short.Array(0), slab.Sel{})
	require.ErrorIs(t, err, slab.ErrLength)
}

// TestGiantArchive opens a giant archive that is valid except for its blocks and the
// rows of its index, which are zeros.
func TestGiantArchive(t *testing.T) {
	if testing.Short() {
		t.Skip("reads the claims of terabytes")
	}
	for _, size := range claimed {
		for _, record := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/%t", size, record), func(t *testing.T) {
				h, image := giant(t, size, record)
				o, err := (&WriteOptions{Name: "x.nc", Zarr: ZarrNever}).withDefaults()
				require.NoError(t, err)
				d, err := draftOf(context.Background(), h, size, &o, plan.Pooled, true)
				require.NoError(t, err)
				var out bytes.Buffer
				for i := range d.Front {
					d.Front[i].Off = int64(out.Len())
					out.Write(append(d.Front[i].AppendLocal(nil), d.Front[i].Payload...))
				}
				front := out.Len()
				crc := crc32.ChecksumIEEE(out.Bytes())
				e := encode.NewEncoder(t.Context(), d.Plan)
				j := &encode.BlockJob{V: -1, Raw: make([]byte, d.Plan.Rest.First)}
				_, err = image.ReadAt(j.Raw, 0)
				require.NoError(t, err)
				require.NoError(t, e.Encode(j))
				out.Write(j.Bytes())
				c := claims{front: out.Bytes(), rows: d.Plan.Blocks, man: plan.Manifest{Size: size, SHA256: fmt.Sprintf("%064x", 0), Blocks: d.Plan.Blocks, Entries: d.Plan.Blocks + 4}}
				entry := &d.Front[0]
				c.man.Front = plan.Front{Len: int64(front), CRC32: plan.Hex32(crc)}
				c.man.Plan = plan.Place{Off: entry.End() - entry.Stored, Len: entry.Stored, CRC32: plan.Hex32(czip.CRC(entry.Payload))}
				c.man.Header = plan.Place{Off: int64(front) + j.Entry.LocalLen(), Len: j.Entry.Stored, CRC32: plan.Hex32(j.Entry.Crc)}
				f := c.file(t, size)
				ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
				defer cancel()
				for _, r := range []io.ReaderAt{f, remoteSparse{f}} {
					bounded(t, 0, func() {
						f, err := New(ctx, r, size, nil)
						require.NoError(t, err)
						_, err = slab.Read[int8](context.Background(), f.Array(0), slab.Sel{Start: []int64{h.Vars[0].Shape[0] - 1, 7}, Count: []int64{1, 1}})
						require.ErrorIs(t, err, ErrCorrupt)
						_, err = f.Image().ReadAt(make([]byte, 100), size-100)
						require.ErrorIs(t, err, ErrCorrupt)
						require.ErrorIs(t, f.Image().Copy(ctx, nil, nil), ErrCorrupt)
						_, err = f.Stored(ctx)
						require.Error(t, err)
					})
				}
			})
		}
	}
}

// TestSparseFile does the same on a file system.
func TestSparseFile(t *testing.T) {
	_, ar := largeArchive(t)
	const size = 8e12
	c := claimsOf(t, ar)
	c.man.Plan.Len = size / 2
	_, classic := giant(t, size, false)
	for name, sparse := range map[string]*faultsrv.Sparse{"archive": c.file(t, size), "classic": classic} {
		file := filepath.Join(t.TempDir(), name)
		f, err := os.Create(file)
		require.NoError(t, err)
		if f.Truncate(sparse.Size) != nil {
			f.Close()
			continue // not on this file system
		}
		for off, b := range sparse.Pieces {
			_, err := f.WriteAt(b, off)
			require.NoError(t, err)
		}
		require.NoError(t, f.Close())
		bounded(t, 0, func() {
			f, err := Open(context.Background(), file, nil)
			if name == "archive" {
				require.ErrorIs(t, err, ErrCorrupt)
				return
			}
			require.NoError(t, err)
			require.NoError(t, f.Close())
		})
	}
}

// TestHostileClaims does the same with servers.
func TestHostileClaims(t *testing.T) {
	_, ar := largeArchive(t)
	for _, size := range claimed {
		c := claimsOf(t, ar)
		c.man.Plan.Len = min(size/2, 1<<26)
		_, classic := giant(t, size, true)
		for _, f := range []*faultsrv.Sparse{c.file(t, size), classic} {
			s := httptest.NewServer(faultsrv.Ranges(f, size))
			bounded(t, 0, func() {
				f, err := openWith(t, s.URL+faultsrv.Path, &remote.Options{Timeout: 10 * time.Second}, nil)
				if err == nil {
					f.Close()
				}
			})
			s.Close()
		}
	}
}

// TestRandomClaims claims random offsets and counts, in memory, over a remote reader, and
// over servers that misbehave, for example with a wrong size. With CDFZ_SOAK=1 it runs for
// an hour, with CDFZ_SOAK=10m for ten minutes.
func TestRandomClaims(t *testing.T) {
	length := 2 * time.Second
	if testing.Short() {
		length /= 100
	}
	if soak := os.Getenv("CDFZ_SOAK"); soak != "" {
		var err error
		if length, err = time.ParseDuration(soak); err != nil {
			length = time.Hour
		}
	}
	log.SetOutput(io.Discard) // package http logs answers that nobody asked for
	defer log.SetOutput(os.Stderr)
	image, ar := largeArchive(t)
	servers := faultsrv.Servers()
	n := 0
	for until := time.Now().Add(length); time.Now().Before(until); n++ {
		rng := rand.New(rand.NewSource(int64(n)))
		size := claimed[rng.Intn(len(claimed))] - rng.Int63n(3)
		any := func() int64 {
			switch rng.Intn(5) {
			case 0:
				return rng.Int63n(int64(len(ar)))
			case 1:
				return rng.Int63n(size)
			case 2:
				return size - rng.Int63n(10_000)
			case 3:
				return int64(1) << rng.Intn(63)
			}
			return math.MaxInt64 - rng.Int63n(3)
		}
		c := claimsOf(t, ar)
		m := &c.man
		fields := []*int64{&m.Size, &m.Entries, &m.Blocks, &m.Stored, &m.Front.Len, &m.Plan.Off, &m.Plan.Len, &m.Header.Off, &m.Header.Len}
		for range 1 + rng.Intn(3) {
			*fields[rng.Intn(len(fields))] = any()
		}
		switch rng.Intn(4) {
		case 0: // a front of any length
			m.Header.Off += any()/2 - m.Front.Len
			m.Front.Len = m.Header.Off - (&czip.ZipEntry{Name: "x"}).LocalLen()
		case 1:
			c.rows = rng.Int63n(size/30 - 1)
			m.Blocks = c.rows
		}
		f := c.file(t, size)
		// Metadata that the format allows and the file holds is read, twice if remote.
		there := int64(len(ar))
		for _, n := range []int64{m.Plan.Len, m.Header.Len} {
			if n > 0 && n <= 1<<28 {
				there += n
			}
		}
		for _, r := range []io.ReaderAt{f, remoteSparse{f}} {
			bounded(t, there, func() {
				if f, err := New(t.Context(), r, size, nil); err == nil {
					f.Image().Copy(context.Background(), nil, nil)
				}
			})
		}
		if n%4 == 0 {
			lie := size
			if rng.Intn(2) == 0 {
				lie = 1 + any()/2
			}
			s := httptest.NewServer(faultsrv.Ranges(f, lie))
			bounded(t, there, func() {
				f, err := openWith(t, s.URL+faultsrv.Path, &remote.Options{Timeout: 10 * time.Second, Retries: -1}, nil)
				if err == nil {
					defer f.Close()
					f.Image().Copy(context.Background(), nil, nil)
				}
			})
			s.CloseClientConnections()
			s.Close()
		}
		if n%10 == 0 {
			h := servers[rng.Intn(len(servers))]
			s := httptest.NewServer(h.Handler([][]byte{image, ar}[rng.Intn(2)]))
			t.Log(n, h.Name)
			bounded(t, int64(len(image)), func() { useHostile(t, s.URL+faultsrv.Path) })
			s.CloseClientConnections()
			s.Close()
		}
	}
	t.Logf("%d archives", n)
}
