package archive_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/testdata/hostile"
)

// hostileSeeds are small archives of all layouts, taken apart.
func hostileSeeds(t testing.TB) []*hostile.Archive {
	var out []*hostile.Archive
	names, err := filepath.Glob("../testdata/classic/*.nc")
	require.NoError(t, err)
	slices.Sort(names)
	for i, name := range names {
		if testing.Short() && i%16 != 0 {
			continue
		}
		image, err := os.ReadFile(name)
		require.NoError(t, err)
		if len(image) > 100_000 {
			continue
		}
		for _, zarr := range []archive.ZarrMode{archive.ZarrAlways, archive.ZarrNever} {
			o := archive.WriteOptions{Zarr: zarr, Block: 4096, Name: filepath.Base(name)}
			if i%3 == 1 {
				o.Filters = []archive.VarFilter{{Vars: []string{"*"}, Chain: filters.Chain{{ID: filters.Shuffle, Params: []uint32{2}}, {ID: filters.Deflate, Params: []uint32{6}, Optional: true}}}}
			}
			var b bytes.Buffer
			_, err := archive.Write(context.Background(), &b, bytes.NewReader(image), int64(len(image)), &o)
			require.NoError(t, err, name)
			a, err := hostile.Parse(b.Bytes())
			require.NoError(t, err, name)
			require.True(t, bytes.Equal(b.Bytes(), a.Bytes()), name)
			out = append(out, a)
		}
	}
	for _, v := range archivetest.Vectors(t, "good") {
		if strings.Contains(v.Name, "copies") || v.Name == "later_entry_back" {
			a, err := hostile.Parse(v.Archive)
			require.NoError(t, err, v.Name)
			out = append(out, a)
		}
	}
	return out
}

// peak runs f and returns the largest growth of the heap meanwhile.
func peak(f func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	start := int64(sample[0].Value.Uint64())
	var most atomic.Int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			metrics.Read(sample)
			most.Store(max(most.Load(), int64(sample[0].Value.Uint64())))
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Microsecond):
			}
		}
	}()
	f()
	close(stop)
	<-done
	return most.Load() - start
}

// attack runs all code that reads metadata on an archive, and reads some values.
func attack(t testing.TB, ar []byte) {
	ctx, size := context.Background(), int64(len(ar))
	expected := func(what string, err error) {
		if err != nil && !errors.Is(err, archive.ErrCorrupt) && !errors.Is(err, archive.ErrNotArchive) && !errors.Is(err, archive.ErrVersion) &&
			!errors.Is(err, filters.ErrUnknownFilter) {
			t.Errorf("%s: %v", what, err)
		}
	}
	var f *archive.File
	limited := func(what string, do func()) {
		begin := time.Now()
		if took := peak(do); took > 64<<20+8*size {
			t.Errorf("%s: %d MiB for an archive of %d bytes", what, took>>20, size)
		}
		if d := time.Since(begin); d > 20*time.Second {
			t.Errorf("%s: %v", what, d)
		}
	}
	limited("open", func() {
		var err error
		if f, err = archive.New(t.Context(), bytes.NewReader(ar), size, nil); err != nil {
			f = nil
			expected("open", err)
			return
		}
		for range f.Vars() {
		}
		f.Info()
		f.Omitted()
		_, err = f.Stored(ctx)
		expected("stored", err)
		n := 0
		for _, err := range f.Blocks(ctx) {
			if expected("blocks", err); err != nil || n > 10000 {
				break
			}
			n++
		}
	})
	limited("repair", func() {
		p, err := repair.Repair(ctx, bytes.NewReader(ar), size, nil)
		if expected("repair", err); err == nil {
			p.Close()
		}
	})
	limited("salvage", func() {
		s, err := repair.Salvage(ctx, bytes.NewReader(ar), size, nil)
		if expected("salvage", err); err == nil {
			s.Close()
		}
	})
	if f == nil || !modest(f) {
		return
	}
	limited("read", func() {
		for _, off := range []int64{0, f.Image().Size() - 1000} {
			_, err := f.Image().ReadAt(make([]byte, 1000), max(0, off))
			if err != nil && err.Error() != "EOF" {
				expected("read", err)
			}
		}
	})
	limited("verify", func() {
		rep, err := verify.Verify(ctx, bytes.NewReader(ar), size, nil)
		if expected("verify", err); err == nil {
			_, err = repair.Preview(ctx, bytes.NewReader(ar), size, rep, nil)
			expected("preview", err)
		}
	})
}

// modest reports whether the blocks claimed by an archive fit the memory of the test.
// Bounding the size of blocks is up to the caller.
func modest(f *archive.File) bool {
	for _, v := range f.Vars() {
		n := v.Type().Size()
		for _, d := range v.BlockShape() {
			n *= d
		}
		if n > 1<<20 {
			return false
		}
	}
	return f.Image().Size() <= 64<<20
}

func goOutcome(err error) string {
	switch {
	case err == nil:
		return "image"
	case errors.Is(err, archive.ErrNotArchive), errors.Is(err, archive.ErrVersion), errors.Is(err, filters.ErrUnknownFilter):
		return "refuse"
	case errors.Is(err, archive.ErrCorrupt):
		return "damage"
	}
	return err.Error()
}

// flip changes some bytes, or cuts the archive.
func flip(ar []byte, rng *rand.Rand) []byte {
	for range 1 + rng.Intn(3) {
		at := rng.Intn(len(ar))
		if rng.Intn(3) == 0 { // the end, which leads to everything
			at = len(ar) - 1 - rng.Intn(min(len(ar), 600))
		}
		switch rng.Intn(8) {
		case 0, 1, 2:
			ar[at] ^= 1 << rng.Intn(8)
		case 3, 4:
			ar[at] = byte(rng.Uint32())
		case 5:
			from := rng.Intn(len(ar))
			copy(ar[at:], bytes.Clone(ar[from:min(from+20, len(ar))]))
		case 6:
			ar = append(ar[:at], ar[at+min(rng.Intn(40), len(ar)-at):]...)
		case 7:
			if rng.Intn(4) == 0 {
				ar = ar[:at]
			}
		}
		if len(ar) == 0 {
			break
		}
	}
	return ar
}

// TestHostileArchives opens archives with extreme values in any field and valid
// checksums. With CDFZ_SOAK=1 it runs for an hour, with CDFZ_SOAK=10m for ten minutes.
func TestHostileArchives(t *testing.T) {
	rounds, until := 40, time.Time{}
	if testing.Short() {
		rounds = 3
	}
	if s := os.Getenv("CDFZ_SOAK"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			d = time.Hour
		}
		rounds, until = 1<<40, time.Now().Add(d)
	}
	seeds := hostileSeeds(t)
	start := int64(1)
	if !until.IsZero() {
		start = time.Now().UnixNano()
	}
	n := 0
	for ; n < rounds && !t.Failed() && (until.IsZero() || time.Now().Before(until)); n++ {
		tryHostile(t, seeds, start+int64(n))
	}
	t.Logf("%d archives", n)
}

// tryHostile attacks the archive with the given number.
func tryHostile(t testing.TB, seeds []*hostile.Archive, number int64) {
	r := rand.New(rand.NewSource(number))
	ar := seeds[r.Intn(len(seeds))].Mutate(r).Bytes()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if t.Failed() {
			name := filepath.Join(os.TempDir(), fmt.Sprintf("hostile-%d.cdfz", number))
			t.Logf("number %d, %s: %v", number, name, os.WriteFile(name, ar, 0o666))
		}
	}()
	attack(t, ar)
}

// FuzzHostile is TestHostileArchives with numbers chosen by the fuzzer.
func FuzzHostile(f *testing.F) {
	seeds := hostileSeeds(f)
	n := int64(8)
	if testing.Short() {
		n = 2
	}
	for i := range n {
		f.Add(i)
	}
	f.Fuzz(func(t *testing.T, number int64) { tryHostile(t, seeds, number) })
}

// TestLargeHeaders archives and opens files whose headers are long and compress well.
func TestLargeHeaders(t *testing.T) {
	words := func(w ...uint32) []byte {
		b := []byte("CDF\x01")
		for _, x := range w {
			b = binary.BigEndian.AppendUint32(b, x)
		}
		return b
	}
	n := uint32(4 << 20)
	if testing.Short() {
		n = 1 << 18
	}
	for name, head := range map[string][]byte{
		"dimensions": append(words(0, 0x0a, n/8), bytes.Repeat([]byte{0, 0, 0, 0, 0, 0, 0, 1}, int(n/8))...),
		"attribute":  append(words(0, 0, 0, 0x0c, 1, 1, 'a'<<24, 1, n), make([]byte, n)...),
		"rank":       append(words(0, 0x0a, 1, 0, 1, 0, 0, 0x0b, 1, 1, 'v'<<24, n/4), append(make([]byte, n), words(0, 0, 1, 4, n+80)[4:]...)...),
	} {
		t.Run(name, func(t *testing.T) {
			image := append(head, make([]byte, 64)...)
			var b bytes.Buffer
			took := peak(func() {
				_, err := archive.Write(context.Background(), &b, bytes.NewReader(image), int64(len(image)), &archive.WriteOptions{Zarr: archive.ZarrAuto})
				require.NoError(t, err)
			})
			t.Logf("writing: %d MiB for an image of %d MiB, archive %d", took>>20, len(image)>>20, b.Len())
			require.LessOrEqual(t, took, int64(64<<20+8*len(image)))
			attack(t, b.Bytes())
			f, err := archive.New(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), nil)
			require.NoError(t, err)
			var back bytes.Buffer
			_, err = f.Image().WriteTo(&back)
			require.NoError(t, err)
			require.True(t, bytes.Equal(image, back.Bytes()))
		})
	}
}
