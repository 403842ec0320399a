package repair_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/internal/packtest"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/faultio"
)

// noisy returns the image of the tables in docs/damage.md, and the options of its archive.
func noisy(t testing.TB) ([]byte, *archive.WriteOptions) {
	image := archivetest.Cube(t, 12, 80, 140)
	h, err := cdf3.Read(bytes.NewReader(image), int64(len(image)))
	require.NoError(t, err)
	r := rand.New(rand.NewPCG(1, 1))
	for i := h.Len; i < int64(len(image)); i += 2 {
		image[i] = byte(r.Uint32())
	}
	return image, &archive.WriteOptions{Block: 4096, Zarr: archive.ZarrConsolidated, Preset: archive.PresetFast, Name: "cube.nc"}
}

// hit overwrites structures of an archive.
func hit(ar []byte, random bool, list ...structure) []byte {
	bad := bytes.Clone(ar)
	r := rand.New(rand.NewPCG(3, 4))
	for _, s := range list {
		for i := s.off; i < s.end; i++ {
			if bad[i] = 0; random {
				bad[i] = byte(r.Uint32())
			}
		}
	}
	return bad
}

// secondOf heals an archive from a second copy, in f, as cdfz repair --from does.
func secondOf(t testing.TB, f repair.File, bad, second []byte) (*repair.Repaired, error) {
	t.Helper()
	ctx := context.Background()
	h, err := repair.Heal(ctx, bytes.NewReader(bad), int64(len(bad)), &repair.Options{Workers: 1, Second: io.NewSectionReader(bytes.NewReader(second), 0, int64(len(second)))})
	if err != nil {
		return nil, err
	}
	defer h.Close()
	p, rerr := repair.Repair(ctx, h, h.Size(), nil)
	if rerr == nil && len(p.Damage) == 0 {
		require.NoError(t, h.Prove(ctx, p))
	}
	if err := h.Commit(ctx, f); err != nil || rerr != nil {
		return p, err
	}
	_, err = p.Commit(ctx, f)
	require.NoError(t, p.Close())
	return p, err
}

// fromSecond is secondOf in memory.
func fromSecond(t testing.TB, bad, second []byte) []byte {
	t.Helper()
	f := faultio.NewFile(bad)
	_, err := secondOf(t, f, bad, second)
	require.NoError(t, err)
	return f.Bytes()
}

// secondTable makes the table of docs/damage.md for archives that are healed from a second copy.
func secondTable(t testing.TB) string {
	image, o := noisy(t)
	ar := packtest.Pack(t, image, o)
	list := structures(t, ar)
	none := structure{"nothing", 0, 0}
	rows := append(slices.Clone(list), structure{"the second half", int64(len(ar) / 2), int64(len(ar))}, structure{"all bytes", 0, int64(len(ar))})
	var text strings.Builder
	text.WriteString("\n## With a second copy\n\nThe rows are what is overwritten in the archive, the columns what is overwritten in the copy of\n`repair --from`, with zeros in both and without parity:\n\n| |")
	cols := append([]structure{none}, list...)
	for _, b := range cols {
		text.WriteString(" " + b.name + " |")
	}
	text.WriteString("\n|---|" + strings.Repeat("---|", len(cols)) + "\n")
	for _, a := range rows {
		fmt.Fprintf(&text, "| **%s** |", a.name)
		for _, b := range cols {
			got := fromSecond(t, hit(ar, false, a), hit(ar, false, b))
			text.WriteString(" " + outcomeOf(t, ar, image, [][]byte{got}, a.name+", "+b.name) + " |")
		}
		text.WriteString("\n")
	}
	return text.String()
}

// TestSecondCuts restores an archive that has lost all but its beginning.
func TestSecondCuts(t *testing.T) {
	image, o := noisy(t)
	ar := packtest.Pack(t, image, o)
	for _, n := range []int{len(ar) - 1, len(ar) / 2, 4097, 1000, 10, 0} {
		require.True(t, bytes.Equal(ar, fromSecond(t, ar[:n], ar)), "%d bytes", n)
	}
	grown := append(bytes.Clone(ar[:len(ar)/2]), make([]byte, 5000)...)
	require.True(t, bytes.Equal(ar, fromSecond(t, grown, ar)))
	moved := slices.Concat(ar[:len(ar)/3], make([]byte, 100), ar[len(ar)/3:len(ar)-100])
	require.True(t, bytes.Equal(ar, fromSecond(t, moved, ar)))
}

// TestSecondParity heals what neither parity nor copy heals alone, whichever of the archives has parity.
func TestSecondParity(t *testing.T) {
	image, o := noisy(t)
	plain := packtest.Pack(t, image, o)
	o.Parity = 5
	ar := packtest.Pack(t, image, o)
	n := int64(len(plain))
	a, b := structure{"", n / 5, n / 2}, structure{"", n / 3, n/3 + n/100}
	bad := hit(ar, true, a)
	require.False(t, bytes.Equal(ar, healed(t, bad)))
	require.True(t, bytes.Equal(ar, fromSecond(t, bad, ar)))
	require.True(t, bytes.Equal(ar, fromSecond(t, bad, plain)), "a copy without parity")
	require.True(t, bytes.Equal(ar, fromSecond(t, bad, hit(plain, true, b))), "the archive's parity heals the rest")
	require.True(t, bytes.Equal(plain, fromSecond(t, hit(plain, true, a), hit(ar, true, b))), "the copy's parity heals the rest")
	for _, s := range structures(t, ar) {
		require.True(t, bytes.Equal(ar, fromSecond(t, hit(bad, true, s), ar)), s.name)
		if s.name != "parity" && s.name != "manifest" {
			require.True(t, bytes.Equal(ar, fromSecond(t, hit(bad, true, s), plain)), s.name)
		}
	}
}

// TestSecondUnion damages both archives at random places. Every block that is intact in one of them is intact
// afterwards.
func TestSecondUnion(t *testing.T) {
	image, o := noisy(t)
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 40 {
		o.Parity = []parity.Share{0, 2}[n%2]
		ar := packtest.Pack(t, image, o)
		damage := func() []byte {
			b := bytes.Clone(ar)
			for range 1 + r.IntN(6) {
				off, length := r.IntN(len(b)), r.IntN(1+len(b)>>(1+r.IntN(12)))
				b = hit(b, r.IntN(2) == 0, structure{"", int64(off), int64(min(len(b), off+length))})
			}
			if r.IntN(4) == 0 {
				b = b[:r.IntN(len(b))]
			}
			return b
		}
		bad, second := damage(), damage()
		f := faultio.NewFile(bad)
		_, err := secondOf(t, f, bad, second)
		if errors.Is(err, repair.ErrOtherImage) {
			require.Empty(t, intactIn(t, ar, bad), "run %d", n) // nothing shows what it was
			continue
		}
		require.NoError(t, err, "run %d", n)
		have := intactIn(t, ar, f.Bytes())
		for name := range intactIn(t, ar, bad) {
			require.Contains(t, have, name, "run %d", n)
		}
		for name := range intactIn(t, ar, second) {
			require.Contains(t, have, name, "run %d: of the copy", n)
		}
	}
}

// intactIn returns the entries of an archive whose bytes another file has.
func intactIn(t testing.TB, ar, other []byte) map[string]bool {
	names := map[string]bool{}
	for _, e := range archivetest.Entries(ar) {
		if e.End() <= int64(len(other)) && bytes.Equal(ar[e.Off:e.End()], other[e.Off:e.End()]) {
			names[e.Name] = true
		}
	}
	return names
}

// TestSecondRefused tries files that are no copies.
func TestSecondRefused(t *testing.T) {
	image, o := noisy(t)
	ar := packtest.Pack(t, image, o)
	list := structures(t, ar)
	at := func(name string) structure {
		return list[slices.IndexFunc(list, func(s structure) bool { return s.name == name })]
	}
	changed := bytes.Clone(image)
	changed[len(changed)-100] ^= 1
	other := packtest.Pack(t, changed, o)
	o.Block = 8192
	layout := packtest.Pack(t, image, o)
	unread := bytes.Repeat([]byte("no archive"), 1000)
	for _, c := range []struct {
		name        string
		bad, second []byte
		want        error
	}{
		{"other image", hit(ar, true, at("a block")), other, repair.ErrOtherImage},
		{"other image, archive cut", ar[:len(ar)/2], layout, repair.ErrOtherImage},
		{"last block of another image, archive without manifest", hit(ar, true, at("a block"), at("manifest")), other, repair.ErrOtherImage},
		{"other layout", hit(ar, true, at("a block")), layout, repair.ErrOtherLayout},
		{"other layout, no index", hit(ar, true, at("a block"), at("index"), at("end")), layout, repair.ErrOtherLayout},
		{"no archive", unread, ar, repair.ErrOtherImage},
		{"copy is no archive", hit(ar, true, at("a block")), unread, archive.ErrNotArchive},
		{"netCDF file", image, ar, repair.ErrOtherImage},
	} {
		f := faultio.NewFile(c.bad)
		_, err := secondOf(t, f, c.bad, c.second)
		require.ErrorIs(t, err, c.want, c.name)
		require.True(t, bytes.Equal(c.bad, f.Bytes()), c.name)
	}
	require.True(t, bytes.Equal(ar, fromSecond(t, ar, unread)), "an intact archive needs no copy")
}

// TestSecondReads bounds the bytes of a copy that are read for one block.
func TestSecondReads(t *testing.T) {
	image, o := noisy(t)
	ar := packtest.Pack(t, image, o)
	bad := bytes.Clone(ar)
	bad[len(bad)/2] ^= 1
	c := &archivetest.CountingReaderAt{R: bytes.NewReader(ar)}
	h, err := repair.Heal(context.Background(), bytes.NewReader(bad), int64(len(bad)), &repair.Options{Second: io.NewSectionReader(c, 0, int64(len(ar)))})
	require.NoError(t, err)
	defer h.Close()
	require.EqualValues(t, 1, h.Copied)
	t.Logf("%d bytes of %d read", c.Bytes, len(ar))
	require.Less(t, c.Bytes, int64(len(ar)/20))
}

// TestInterruptedSecond stops healing from a copy at each write. What was intact stays, and a second run heals
// the rest.
func TestInterruptedSecond(t *testing.T) {
	image, o := noisy(t)
	ar := packtest.Pack(t, image, o)
	n := int64(len(ar))
	few := hit(ar, true, structure{"", n / 3, n/3 + 1000}, structure{"", n - 3000, n - 2000})
	half := hit(ar, false, structure{"", n / 2, n})
	for name, bad := range map[string][]byte{"few": few, "half": half, "cut": ar[:n-60_000], "empty": nil, "zeros": make([]byte, 30_000)} {
		before := intactIn(t, ar, bad)
		for stop := 1; ; stop += 1 + stop/8 {
			f := &stopper{faultio.NewFile(bad), stop}
			_, err := secondOf(t, f, bad, ar)
			after := intactIn(t, ar, f.Bytes())
			for e := range before {
				require.Contains(t, after, e, "%s, write %d", name, stop)
			}
			require.True(t, bytes.Equal(ar, fromSecond(t, f.Bytes(), ar)), "%s, write %d", name, stop)
			if err == nil {
				require.Greater(t, stop, 1, name)
				break
			}
			require.ErrorIs(t, err, errStopped)
		}
	}
}

var errStopped = errors.New("stopped")

// stopper fails at its n-th write, after a part of it.
type stopper struct {
	*faultio.File
	n int
}

func (s *stopper) WriteAt(p []byte, off int64) (int, error) {
	if s.n--; s.n <= 0 {
		if s.n == 0 {
			_, _ = s.File.WriteAt(p[:len(p)/2], off)
		}
		return 0, errStopped
	}
	return s.File.WriteAt(p, off)
}

func (s *stopper) Truncate(size int64) error {
	if s.n <= 0 {
		return errStopped
	}
	return s.File.Truncate(size)
}

// TestSecondAfter counts the bytes that are cut off because the copy ends before them.
func TestSecondAfter(t *testing.T) {
	image, o := noisy(t)
	ar := packtest.Pack(t, image, o)
	list := structures(t, ar)
	manifest := list[slices.IndexFunc(list, func(s structure) bool { return s.name == "manifest" })]
	extra := make([]byte, 5000)
	for name, bad := range map[string][]byte{
		"after":  append(hit(ar, true, manifest), extra...),
		"before": slices.Concat(extra, ar),
		"in":     slices.Concat(ar[:len(ar)/3], extra, ar[len(ar)/3:]),
	} {
		h, err := repair.Heal(context.Background(), bytes.NewReader(bad), int64(len(bad)), &repair.Options{CutAfter: true, Second: io.NewSectionReader(bytes.NewReader(ar), 0, int64(len(ar)))})
		require.NoError(t, err, name)
		require.EqualValues(t, len(ar), h.Size(), name)
		require.EqualValues(t, len(extra), h.After, name)
		require.NoError(t, h.Close())
	}
}
