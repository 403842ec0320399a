package volume

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
)

// hostile are headers that lead out, and links in circles.
var hostile = []tar.Header{
	{Typeflag: tar.TypeReg, Name: "../out", Size: 1}, {Typeflag: tar.TypeReg, Name: "/root", Size: 1}, {Typeflag: tar.TypeReg, Name: "a/../../x", Size: 1},
	{Typeflag: tar.TypeReg, Name: "a/./x", Size: 1}, {Typeflag: tar.TypeReg, Name: "a//x", Size: 1},
	{Typeflag: tar.TypeLink, Name: "b1", Linkname: "b2"}, {Typeflag: tar.TypeLink, Name: "b2", Linkname: "b1"}, {Typeflag: tar.TypeLink, Name: "b3", Linkname: "b3"},
	{Typeflag: tar.TypeLink, Name: "b4", Linkname: "../out"}, {Typeflag: tar.TypeLink, Name: "b5", Linkname: "c"},
	{Typeflag: tar.TypeReg, Name: "c", Size: 1}, {Typeflag: tar.TypeLink, Name: "d", Linkname: "c"}, {Typeflag: tar.TypeLink, Name: "e", Linkname: "d"},
	{Typeflag: tar.TypeDir, Name: "f/"}, {Typeflag: tar.TypeLink, Name: "g", Linkname: "f"},
	{Typeflag: tar.TypeSymlink, Name: "h", Linkname: "h"}, {Typeflag: tar.TypeSymlink, Name: "i", Linkname: "../../etc/passwd"},
	{Typeflag: tar.TypeChar, Name: "j"}, {Typeflag: tar.TypeFifo, Name: "k"},
}

// tarOf is a tar file that begins like a volume, without an index.
func tarOf(tb testing.TB, headers []tar.Header) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	require.NoError(tb, w.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": comment}}))
	for _, h := range headers {
		h.Format, h.ModTime = tar.FormatPAX, time.Unix(1, 0)
		require.NoError(tb, w.WriteHeader(&h))
		if h.Size > 0 {
			_, err := w.Write([]byte("x"))
			require.NoError(tb, err)
		}
	}
	require.NoError(tb, w.Close())
	return b.Bytes()
}

// TestHostileHeaders reads headers that lead out of the volume, and links in circles: each is refused or left out.
func TestHostileHeaders(t *testing.T) {
	b := tarOf(t, hostile)
	v, err := Rebuild(t.Context(), bytes.NewReader(b), int64(len(b)), fault.ErrCorrupt)
	require.NoError(t, err)
	defer v.Close()
	var names []string
	for e, err := range v.Members(t.Context(), "") {
		require.NoError(t, err)
		names = append(names, e.Path)
	}
	require.Equal(t, []string{"b1", "b2", "b3", "b5", "c", "d", "e", "f", "g", "h", "i"}, names)
	for _, name := range []string{"b1", "b2", "b3", "b5", "e", "g"} { // none leads to a file before it
		e, err := v.Lookup(t.Context(), name)
		require.NoError(t, err)
		_, _, err = v.Contents(t.Context(), e)
		require.ErrorIs(t, err, ErrCorrupt, name)
	}
	for _, name := range []string{"h", "i"} {
		_, err := v.Resolve(t.Context(), name)
		require.Error(t, err, name)
	}
	e, err := v.Resolve(t.Context(), "d")
	require.NoError(t, err)
	r, size, err := v.Contents(t.Context(), e)
	require.NoError(t, err)
	text, err := io.ReadAll(io.NewSectionReader(r, 0, size))
	require.NoError(t, err)
	require.Equal(t, "x", string(text))
}

// TestNames writes and reads names of every kind.
func TestNames(t *testing.T) {
	names := []string{
		"a\nb", "bad\xff\xfename", strings.Repeat("n", 255), strings.Repeat("d/", 2047) + "xx", strings.Repeat("e", 100) + "/" + strings.Repeat("f", 155),
		strings.Repeat("g/", 4095) + "hh", "h=i\tj\"k'l\\m", "ö/日本", " ", "~", "\x01", "-rf",
	}
	var b bytes.Buffer
	w := NewWriter(&b, time.Unix(0, 0))
	byPath := map[string]bool{}
	for _, name := range slices.SortedFunc(slices.Values(names), Compare) {
		byPath[name] = true
		require.NoError(t, w.Add(&Entry{Path: name, Kind: File, Size: int64(len(name)), HasSum: true}, strings.NewReader(name)))
	}
	_, err := w.Finish()
	require.NoError(t, err)
	size := int64(b.Len())
	require.NoError(t, w.ReadBack(t.Context(), bytes.NewReader(b.Bytes()), size))
	v, err := Open(t.Context(), bytes.NewReader(b.Bytes()), size)
	require.NoError(t, err)
	back, err := Rebuild(t.Context(), bytes.NewReader(b.Bytes()), size, fault.ErrCorrupt)
	require.NoError(t, err)
	defer back.Close()
	for _, v := range []*Volume{v, back} {
		n := 0
		for e, err := range v.Members(t.Context(), "") {
			require.NoError(t, err)
			require.True(t, byPath[e.Path], "%.100q", e.Path)
			r, size, err := v.Contents(t.Context(), e)
			require.NoError(t, err)
			text, err := io.ReadAll(io.NewSectionReader(r, 0, size))
			require.NoError(t, err)
			require.Equal(t, e.Path, string(text))
			n++
		}
		require.Equal(t, len(names), n)
	}
}

// TestTopPaths reads top levels whose paths share nearly all bytes with those before them, so that they are longer than the
// top level a thousand times.
func TestTopPaths(t *testing.T) {
	var b []byte
	before, n := "", 0
	for ; n <= maxFirsts/maxPath; n++ {
		k := block{stored: 1, length: 1, count: 1, first: strings.Repeat("n/", maxPath/2-8) + fmt.Sprintf("%016d", n)}
		b = k.append(b, before)
		before = k.first
		if n == maxFirsts/maxPath-1 {
			list, err := parseTop(b, &trailer{index: 1024, top: 1024 + int64(n) + 1, members: int64(n) + 1})
			require.NoError(t, err)
			require.Len(t, list, n+1)
		}
	}
	_, err := parseTop(b, &trailer{index: 1024, top: 1024 + int64(n), members: int64(n)})
	require.ErrorIs(t, err, fault.ErrCorrupt)
	require.ErrorContains(t, err, "take more than")
}

// TestBlockPaths reads blocks whose paths share nearly all bytes with those before them.
func TestBlockPaths(t *testing.T) {
	var b []byte
	var before *Entry
	for n := 0; n <= maxPaths/maxPath; n++ {
		if n == maxPaths/maxPath {
			list, err := parseBlock(blockOf(b, n))
			require.NoError(t, err)
			require.Len(t, list, n)
		}
		e := &Entry{Path: strings.Repeat("n/", maxPath/2-8) + fmt.Sprintf("%016d", n), Kind: Folder, Modified: time.Unix(0, 0)}
		b = e.append(b, before, 0)
		before = e
	}
	_, err := parseBlock(blockOf(b, maxPaths/maxPath+1))
	require.ErrorIs(t, err, fault.ErrCorrupt)
	require.ErrorContains(t, err, "its paths take more than")
}

// blockOf returns the arguments of parseBlock for a block of n members that TestBlockPaths makes.
func blockOf(contents []byte, n int) (stored []byte, k *block, next string, end int64) {
	stored = deflate(contents)
	return stored, &block{first: strings.Repeat("n/", maxPath/2-8) + strings.Repeat("0", 16), length: int64(len(contents)), count: int64(n), sum: crcOf(stored)}, "", 1 << 20
}
