package repair_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/packtest"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/archive/verify"
)

// TestRepairMoved removes bytes from archives, inserts some, and moves some. What can be
// salvaged before a repair can be salvaged after it.
func TestRepairMoved(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	image := archivetest.Cube(t, 12, 30, 20)
	archives := map[string][]byte{
		"plain":  packtest.Pack(t, image, &archive.WriteOptions{Block: archive.MinBlock, Zarr: archive.ZarrAlways}),
		"parity": packtest.Pack(t, image, &archive.WriteOptions{Block: archive.MinBlock, Zarr: archive.ZarrAlways, Parity: 5}),
	}
	_, archives["copied"] = packtest.Copied(t, archive.ZarrNever)
	for name, ar := range archives {
		n := len(ar)
		for _, k := range []int{1, 7, 512} {
			for at := n / 8; at < n-k-n/8; at += n / 8 {
				cut := slices.Concat(ar[:at], ar[at+k:])
				grown := slices.Concat(ar[:at], make([]byte, k), ar[at:])
				requireKept(t, cut, fmt.Sprintf("%s: %d bytes removed at %d", name, k, at))
				requireKept(t, grown, fmt.Sprintf("%s: %d bytes inserted at %d", name, k, at))
				for to := at + n/8; to < n-k; to += n / 8 {
					moved := slices.Concat(ar[:at], ar[at+k:to], make([]byte, k), ar[to:])
					requireKept(t, moved, fmt.Sprintf("%s: %d bytes moved from %d to %d", name, k, at, to))
				}
			}
		}
	}
}

// requireKept repairs an archive in place, and requires that this loses nothing.
func requireKept(t *testing.T, bad []byte, what string) {
	_, before, err := salvage(t, bytes.NewReader(bad), int64(len(bad)))
	if err != nil {
		return
	}
	p, err := repairOf(t, bad)
	if err != nil {
		return
	}
	repaired := inPlace(t, bad, p)
	_, after, err := salvage(t, bytes.NewReader(repaired), int64(len(repaired)))
	require.NoError(t, err, "%s", what)
	lost := func(s *repair.Salvaged) (out []string) {
		for _, d := range s.Lost {
			out = append(out, fmt.Sprint(d.Var, d.Start, d.Count))
		}
		return out
	}
	require.Subset(t, lost(before), lost(after), "%s", what)
}

// TestRepairParityLost overwrites the parity. Repair does not say that the archive is the
// original one.
func TestRepairParityLost(t *testing.T) {
	ar := packtest.Pack(t, archivetest.Cube(t, 12, 30, 20), &archive.WriteOptions{Block: archive.MinBlock, Zarr: archive.ZarrAlways, Parity: 5})
	at := entryNamed(t, ar, ".cdfz/parity")
	for _, from := range []int64{at.Off, at.End() - at.Stored} {
		bad := bytes.Clone(ar)
		clear(bad[from:at.End()])
		p, err := repairOf(t, bad)
		require.NoError(t, err)
		require.False(t, p.Identical)
		require.Len(t, p.Damage, 1)
		require.Equal(t, verify.DamageParity, p.Damage[0].Kind)
		require.Equal(t, at.End()-at.Stored, p.Damage[0].Off)
		require.Equal(t, at.Stored, p.Damage[0].Len)
		p, err = repairOf(t, inPlace(t, bad, p))
		require.NoError(t, err)
		require.True(t, p.Intact())
		require.Len(t, p.Damage, 1)
	}
	// A shorter entry
	bad := slices.Concat(ar[:at.End()-100], ar[at.End():])
	p, err := repairOf(t, bad)
	require.NoError(t, err)
	require.False(t, p.Identical)
	require.NotEmpty(t, p.Damage)
}

// entryNamed returns an entry of an archive.
func entryNamed(t *testing.T, ar []byte, name string) czip.ZipEntry {
	list := archivetest.Entries(ar)
	i := slices.IndexFunc(list, func(e czip.ZipEntry) bool { return e.Name == name })
	require.GreaterOrEqual(t, i, 0)
	return list[i]
}

// twoAlike returns an image, its archive, and the archive of another image with the same header.
func twoAlike(t *testing.T) (image, a, b []byte) {
	image = archivetest.Cube(t, 12, 30, 200)
	other := bytes.Clone(image)
	for i := len(other) / 8; i < len(other); i++ {
		other[i] ^= 0x10
	}
	o := &archive.WriteOptions{Block: archive.MinBlock, Zarr: archive.ZarrAlways}
	return image, packtest.Pack(t, image, o), packtest.Pack(t, other, o)
}

// TestSalvageContradiction puts a block of another archive next to that of the same name. Without an
// index, nothing tells which is right.
func TestSalvageContradiction(t *testing.T) {
	image, a, b := twoAlike(t)
	cut := a[:entryNamed(t, a, czip.ManifestName).Off]
	list := archivetest.Entries(a)
	i := len(list) / 2
	mine, theirs := list[i], entryNamed(t, b, list[i].Name)
	foreign := b[theirs.Off:theirs.End()]
	for at, first := range map[int64]bool{mine.Off: false, mine.End(): true} {
		bad := slices.Concat(cut[:at], foreign, cut[at:])
		got, s, err := salvage(t, bytes.NewReader(bad), int64(len(bad)))
		require.NoError(t, err)
		require.Empty(t, s.Lost)
		require.Len(t, s.Contradicted, 1)
		require.Equal(t, first, bytes.Equal(image, got))
		require.Contains(t, s.Contradicted[0].Text, "contradict")
		require.NotEmpty(t, s.Contradicted[0].Var)
	}
	twice := slices.Concat(cut[:mine.End()], cut[mine.Off:mine.End()], cut[mine.End():])
	got, s, err := salvage(t, bytes.NewReader(twice), int64(len(twice)))
	require.NoError(t, err)
	require.Empty(t, s.Contradicted)
	require.True(t, bytes.Equal(image, got))
}

// TestSalvageTwo salvages an archive that another one with the same variables follows. Nothing of
// the second is taken for the first, wherever that is cut off.
func TestSalvageTwo(t *testing.T) {
	image, a, b := twoAlike(t)
	man := int(entryNamed(t, a, czip.ManifestName).Off)
	for _, n := range []int{len(a), len(a) - 1, man, man - 9, man / 2, man/2 + 1, man/2 + 20, man / 3} {
		both := append(bytes.Clone(a[:n]), b...)
		got, s, err := salvage(t, bytes.NewReader(both), int64(len(both)))
		require.NoError(t, err)
		checkSalvaged(t, image, got, s, fmt.Sprintf("%d of %d bytes", n, len(a)))
		require.Empty(t, s.Contradicted)
		require.Equal(t, n < man, len(s.Lost) > 0, "%d of %d bytes", n, man)
		if n == len(a) {
			bad := bytes.Clone(both)
			block := archivetest.Entries(a)
			middle := block[len(block)/2]
			bad[middle.Off+30+int64(len(middle.Name))] ^= 1
			got, s, err := salvage(t, bytes.NewReader(bad), int64(len(bad)))
			require.NoError(t, err)
			require.Len(t, s.Lost, 1)
			checkSalvaged(t, image, got, s, "a damaged block")
		}
		require.Equal(t, n > man, s.SHA256 != "")
	}
}

// TestSalvageOverwritten writes the middle of another archive with the same variables over an
// archive. None of its values is taken for one of the original.
func TestSalvageOverwritten(t *testing.T) {
	image, a, b := twoAlike(t)
	for _, from := range []int{len(a) / 8, len(a) / 6, len(a) / 4} {
		bad := bytes.Clone(a)
		copy(bad[from:len(a)/3], b[from:]) // before the index
		got, s, err := salvage(t, bytes.NewReader(bad), int64(len(bad)))
		require.NoError(t, err)
		require.NotEmpty(t, s.Lost)
		checkSalvaged(t, image, got, s, fmt.Sprintf("from byte %d", from))
	}
}
