package repair_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/image"
	"github.com/cdfz-format/cdfz/archive/internal/packtest"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/faultio"
	"github.com/cdfz-format/cdfz/testdata/seeds"
)

func verified(t testing.TB, ar []byte) *verify.Report {
	t.Helper()
	rep, err := verify.Verify(context.Background(), bytes.NewReader(ar), int64(len(ar)), nil)
	require.NoError(t, err)
	return rep
}

// maskedArchive has blocks with exclusion masks.
func maskedArchive(t testing.TB) []byte {
	image := bytes.Clone(archivetest.Cube(t, 6, 20, 10))
	rand.New(rand.NewSource(5)).Read(image[len(image)/2:])
	return packtest.Pack(t, image, &archive.WriteOptions{Name: "m.nc", Zarr: archive.ZarrAlways, Block: archive.MinBlock, Filters: []archive.VarFilter{{Vars: []string{"*"}, Chain: filters.Chain{
		{ID: filters.Shuffle, Params: []uint32{2}}, {ID: filters.Deflate, Params: []uint32{6}, Optional: true}}}}})
}

// repairable returns archives of each layout, one with masks and one of many blocks.
func repairable(t testing.TB) map[string][]byte {
	out := packtest.Small(t)
	out["masked"] = maskedArchive(t)
	out["empty"] = packtest.Pack(t, archivetest.Smallest, nil)
	_, out["copied"] = packtest.Copied(t, archive.ZarrNever)
	out["cube"] = packtest.Pack(t, archivetest.Cube(t, 12, 30, 20), &archive.WriteOptions{Block: archive.MinBlock, Zarr: archive.ZarrAlways})
	return out
}

// bufferAt is a file in memory.
type bufferAt struct{ b []byte }

func (f *bufferAt) WriteAt(p []byte, off int64) (int, error) { return copy(f.b[off:], p), nil }

// inPlace applies a repair as cdfz repair -f does.
func inPlace(t testing.TB, b []byte, p *repair.Repaired) []byte {
	f := faultio.NewFile(b)
	_, err := p.Commit(context.Background(), f)
	require.NoError(t, err)
	return f.Bytes()
}

func repairOf(t testing.TB, b []byte) (*repair.Repaired, error) {
	p, err := repair.Repair(context.Background(), bytes.NewReader(b), int64(len(b)), nil)
	if err == nil {
		t.Cleanup(func() { p.Close() })
	} else {
		require.True(t, archivetest.Ours(err), "%v", err)
	}
	return p, err
}

// readableBlocks returns the blocks of an archive that a reader can decode, by number.
func readableBlocks(b []byte) map[int64]string {
	a, err := read.NewReader(context.Background(), bytes.NewReader(b), int64(len(b)), &read.Options{Cache: -1})
	if err != nil {
		return nil
	}
	out := map[int64]string{}
	for n := range a.L.Blocks {
		b := a.L.BlockAt(n)
		buf := make([]byte, b.Len)
		if a.ReadBlock(context.Background(), b, buf) == nil {
			out[n] = string(buf)
		}
	}
	return out
}

func requireReadable(t testing.TB, want, got map[int64]string, what string) {
	for n, data := range want {
		if got[n] != data {
			require.Fail(t, "a block that could be read", "block %d: %s", n, what)
		}
	}
}

// ruin damages an archive at random. The same seed causes the same damage.
func ruin(ar []byte, seed int64) ([]byte, string) {
	rng := rand.New(rand.NewSource(seed))
	b, what := bytes.Clone(ar), ""
	for range 1 + rng.Intn(3) {
		if len(b) == 0 {
			break
		}
		switch rng.Intn(8) {
		case 0, 1, 2:
			n := 1 + rng.Intn(3)
			if rng.Intn(4) == 0 {
				n = 1 + rng.Intn(100)
			}
			for range n {
				b[rng.Intn(len(b))] ^= 1 << rng.Intn(8)
			}
			what += fmt.Sprintf("%d flips; ", n)
		case 3, 4, 5:
			at := rng.Intn(len(b))
			n := min(1+rng.Intn(200), len(b)-at)
			if rng.Intn(3) > 0 {
				n = min(1+rng.Intn(12), len(b)-at)
			}
			clear(b[at : at+n])
			if rng.Intn(2) == 0 {
				rng.Read(b[at : at+n])
			}
			what += fmt.Sprintf("%d bytes from %d; ", n, at)
		case 6:
			n := rng.Intn(len(b))
			if rng.Intn(2) == 0 {
				n = len(b) - 1 - rng.Intn(min(len(b), 300))
			}
			b = b[:n]
			what += fmt.Sprintf("cut at %d; ", n)
		case 7:
			more := make([]byte, 1+rng.Intn(300))
			if rng.Intn(2) == 0 {
				rng.Read(more)
			}
			if rng.Intn(4) == 0 {
				more = ar
			}
			b = append(b, more...)
			what += fmt.Sprintf("%d bytes more; ", len(more))
		}
	}
	return b, what
}

// TestRepairRule checks that all that was readable before a repair is readable after
// it, in place, in a new file and after an interruption. A repair reported as identical
// must be, and an archive without remaining damage must verify.
func TestRepairRule(t *testing.T) {
	archives := repairable(t)
	names := slices.Sorted(maps.Keys(archives))
	count := 400 / archivetest.Thin()
	if os.Getenv("CDFZ_SOAK") != "" {
		count = 10_000
	}
	var done, identical, clean, failed, unsure int
	for i := range count {
		name := names[i%len(names)]
		ar := archives[name]
		b, what := ruin(ar, int64(i))
		what = fmt.Sprintf("%s, seed %d: %s", name, i, what)
		before := readableBlocks(b)
		p, err := repairOf(t, b)
		if err != nil {
			failed++
			require.NotEqual(t, ar, b, what)
			continue
		}
		done++
		got := inPlace(t, b, p)
		var other bytes.Buffer
		_, err = p.WriteTo(context.Background(), &other)
		require.NoError(t, err, what)
		require.True(t, bytes.Equal(got, other.Bytes()), what)
		after := readableBlocks(got)
		requireReadable(t, before, after, what)
		if p.Identical {
			identical++
			require.True(t, bytes.Equal(ar, got), "not identical: %s", what)
		}
		if p.Unsure {
			unsure++
		} else if len(p.Damage) == 0 {
			clean++
			require.Empty(t, verified(t, got).Damage, what)
		}
		again, err := repairOf(t, got)
		require.NoError(t, err, what)
		require.True(t, again.Intact(), "%s: tail %t, front %t, %d headers", what, again.Tail, again.Front, again.Headers)

		// Interrupted while writing the tail.
		if !p.Tail {
			continue
		}
		k := p.Keep + rand.New(rand.NewSource(int64(i))).Int63n(int64(len(got))-p.Keep)
		torn := append(bytes.Clone(got[:k]), b[min(k, int64(len(b))):]...)
		if again, err = repairOf(t, torn); err == nil {
			requireReadable(t, before, readableBlocks(inPlace(t, torn, again)), what)
		} else if len(before) > 0 {
			require.NoError(t, err, "interrupted: %s", what)
		}
	}
	t.Logf("%d damaged archives: %d repaired, of these %d identical to the original, %d without damage left, %d unsure; %d beyond repair",
		count, done, identical, clean, unsure, failed)
}

// TestRepairHeaders checks that a flipped bit anywhere in a local header is repaired
// from the index, or without its index page from the directory.
func TestRepairHeaders(t *testing.T) {
	for name, ar := range repairable(t) {
		tailOff := packtest.Open(t, ar).Tail
		step := int64(0)
		for _, e := range archivetest.Entries(ar) {
			if e.Name == czip.IndexName {
				continue
			}
			step++
			for at := e.Off + step%7; at < e.Off+e.LocalLen(); at += int64(7 * archivetest.Thin() * max(1, len(ar)/4000)) {
				for _, page := range []bool{true, step%3 == 0} {
					b := bytes.Clone(ar)
					b[at] ^= 1 << (at % 8)
					if !page {
						b[tailOff.IdxOff+41+32+12] ^= 1
					}
					p, err := repairOf(t, b)
					require.NoError(t, err, "%s: %s, byte %d", name, e.Name, at-e.Off)
					require.True(t, p.Identical, "%s: %s, byte %d, %v", name, e.Name, at-e.Off, p.Damage)
					require.Empty(t, p.Damage)
					require.False(t, p.Intact(), "%s: %s, byte %d, page %v", name, e.Name, at-e.Off, page)
					require.True(t, bytes.Equal(ar, inPlace(t, b, p)), "%s: %s, byte %d", name, e.Name, at-e.Off)
				}
			}
		}
	}
}

// TestRepairFront checks that damage of Zarr metadata does not stop a reader
// and can be repaired.
func TestRepairFront(t *testing.T) {
	for name, ar := range repairable(t) {
		r := packtest.Open(t, ar)
		for at := int64(0); at < r.Man.Front.Len; at += int64(7 * archivetest.Thin() * max(1, len(ar)/4000)) {
			if at >= r.Man.Plan.Off && at < r.Man.Plan.Off+r.Man.Plan.Len {
				continue
			}
			b := bytes.Clone(ar)
			end := r.Man.Front.Len
			if at < r.Man.Plan.Off {
				end = r.Man.Plan.Off
			}
			clear(b[at:min(at+20, end)])
			b[at] ^= 1 << (at % 8)
			a, err := read.NewReader(context.Background(), bytes.NewReader(b), int64(len(b)), nil)
			require.NoError(t, err, "%s: byte %d", name, at)
			require.NoError(t, image.Copy(context.Background(), a, nil, nil))
			require.NotEmpty(t, verified(t, b).Damage)
			p, err := repairOf(t, b)
			require.NoError(t, err, "%s: byte %d", name, at)
			require.True(t, p.Identical, "%s: byte %d", name, at)
			require.True(t, bytes.Equal(ar, inPlace(t, b, p)), "%s: byte %d", name, at)
		}
	}
}

// TestRepairAfter checks that bytes after an archive are distinguished from it.
func TestRepairAfter(t *testing.T) {
	ar := packtest.Pack(t, archivetest.Cube(t, 12, 30, 20), &archive.WriteOptions{Block: archive.MinBlock, Zarr: archive.ZarrAlways})
	for _, more := range [][]byte{{0}, ar, make([]byte, 100_000)} {
		b := append(bytes.Clone(ar), more...)
		p, err := repairOf(t, b)
		require.NoError(t, err)
		require.EqualValues(t, len(more), p.After)
		require.True(t, p.Identical)
		require.False(t, p.Tail)
		require.True(t, bytes.Equal(ar, inPlace(t, b, p)))
	}
}

// TestRepair checks that without a directory, or with index, directory and end zeroed,
// the archive is rebuilt byte for byte, with few bytes read.
func TestRepair(t *testing.T) {
	for name, image := range archivetest.Some(t) {
		for _, mode := range []archive.ZarrMode{archive.ZarrAlways, archive.ZarrNever} {
			ar := packtest.Pack(t, image, &archive.WriteOptions{Name: name, Zarr: mode, Block: archive.MinBlock})
			r := packtest.Open(t, ar)
			cut := int(r.Tail.IdxOff)
			idxEnd := int((&czip.ZipEntry{Name: czip.IndexName, Stored: r.Tail.IdxLen, Size: r.Tail.IdxLen, Off: r.Tail.IdxOff}).End())
			zeroed := append(bytes.Clone(ar[:cut]), make([]byte, len(ar)-cut)...)
			longer := append(bytes.Clone(ar), "more"...)
			for what, bad := range map[string][]byte{
				"no directory": ar[:idxEnd], "no index": ar[:cut], "half an index": ar[:cut+40], "zeroed": zeroed,
				"no last byte": ar[:len(ar)-1], "longer": longer, "intact": ar,
			} {
				c := &archivetest.CountingReaderAt{R: bytes.NewReader(bad)}
				p, err := repair.Repair(context.Background(), c, int64(len(bad)), &repair.Options{Quick: true})
				require.NoError(t, err, "%s: %s", name, what)
				require.Equal(t, what == "intact", p.Intact(), "%s: %s", name, what)
				var tail bytes.Buffer
				_, err = p.WriteTail(&tail)
				require.NoError(t, err)
				require.True(t, bytes.Equal(ar, append(bytes.Clone(bad[:p.Keep]), tail.Bytes()...)), "%s: %s", name, what)
				m := r.Man
				limit := 512*m.Entries + 1<<20 + m.Front.Len + r.Tail.ManLen
				require.LessOrEqual(t, c.Bytes, limit, "%s: %s", name, what)
				require.NoError(t, p.Close())
			}
			for n := range cut {
				if n%(97*archivetest.Thin()) == 0 && n > czip.HeadLen {
					_, err := repair.Repair(context.Background(), bytes.NewReader(ar[:n]), int64(n), nil)
					require.ErrorIs(t, err, archive.ErrCorrupt)
				}
			}
		}
	}
}

// FuzzRepair checks that a repaired archive needs no further repair of its tail.
func FuzzRepair(f *testing.F) {
	s := seeds.Of(f)
	archives := packtest.Small(f)
	archives["empty"] = packtest.Pack(f, archivetest.Smallest, &archive.WriteOptions{Name: "empty.nc"})
	for name, ar := range archives {
		cut := ar[:packtest.Open(f, ar).Tail.IdxOff]
		f.Add(cut)
		if name == "pools" || name == "empty" || name == "cdf1_single_rec_short.nc/"+string(archive.ZarrAlways) {
			s.AddDamaged(strings.ReplaceAll(name, "/", "-"), cut)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ctx := context.Background()
		p, err := repair.Repair(ctx, bytes.NewReader(b), int64(len(b)), nil)
		if err != nil {
			require.True(t, archivetest.Ours(err), "%v", err)
			return
		}
		defer p.Close()
		fixed := &bytes.Buffer{}
		_, err = p.WriteTo(ctx, fixed)
		require.NoError(t, err)
		again, err := repair.Repair(ctx, bytes.NewReader(fixed.Bytes()), int64(fixed.Len()), nil)
		require.NoError(t, err)
		require.True(t, again.Intact())
		require.NoError(t, again.Close())
	})
}
