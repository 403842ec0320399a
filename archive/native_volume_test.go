//go:build native

package archive_test

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/archive/volume"
)

// nativeSource is the status of a path that leads to no archive.
const nativeSource = 4

// member opens a member of a volume, restores it, and returns the outcome.
func (n *native) member(t *testing.T, vol []byte, path string) (outcome, text string, image []byte) {
	t.Helper()
	status, text, _ := n.ask(t, 'm', uint64(1<<20), uint64(len(vol)), vol, uint32(len(path)), []byte(path))
	if status == nativeSource {
		return "absent", text, nil
	}
	if status == nativeOK {
		status, text, image = n.ask(t, 'r')
	}
	return nativeOutcome(status, text), text, image
}

// memberOf is the same in Go, by the index alone.
func memberOf(ctx context.Context, vol []byte, path string) (outcome string, image []byte, err error) {
	v, err := volume.Open(ctx, bytes.NewReader(vol), int64(len(vol)))
	if errors.Is(err, volume.ErrNotVolume) {
		return "refuse", nil, err
	}
	var e *volume.Entry
	if err == nil {
		e, err = v.Resolve(ctx, path)
	}
	var r io.ReaderAt
	var size int64
	if err == nil {
		r, size, err = v.Contents(ctx, e)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return "absent", nil, err
	}
	var f *archive.File
	if err == nil {
		f, err = archive.New(ctx, r, size, nil)
	}
	if err == nil {
		defer f.Close()
		var b bytes.Buffer
		_, err = f.Image().WriteTo(&b)
		image = b.Bytes()
	}
	return goOutcome(err), image, err
}

// nativeVolume returns a volume with members of all kinds, and paths in it.
func nativeVolume(t *testing.T, members int) (vol []byte, paths []string) {
	var out bytes.Buffer
	w := volume.NewWriter(&out, time.Unix(1_700_000_000, 0))
	add := func(kind volume.Kind, path, target string, data []byte) {
		e := volume.Entry{Path: path, Kind: kind, Mode: 0o644, Target: target, Size: int64(len(data)), Modified: time.Unix(1_600_000_000, int64(len(path)%2)), HasSum: path[0] == 'm' || path == "z/z"}
		require.NoError(t, w.Add(&e, bytes.NewReader(data)))
		paths = append(paths, path)
	}
	files := archivetest.Classic(t)
	image := slices.MinFunc(slices.Collect(maps.Values(files)), func(a, b []byte) int { return cmp.Or(len(a)-len(b), bytes.Compare(a, b)) })
	var ar bytes.Buffer
	_, err := archive.Write(t.Context(), &ar, bytes.NewReader(image), int64(len(image)), nil)
	require.NoError(t, err)
	add(volume.Folder, "a", "", nil)
	add(volume.File, "a/b.cdfz", "", ar.Bytes())
	add(volume.HardLink, "a/hard", "a/b.cdfz", nil)
	add(volume.Symlink, "a/soft", "hard", nil)
	add(volume.Symlink, "a/up", "../z/z", nil)
	add(volume.File, "a.txt", "", []byte("neither an archive nor a netCDF file"))
	add(volume.Symlink, "b", "a", nil)
	add(volume.Symlink, "loop", "loop/x", nil)
	for i := range members {
		add(volume.File, fmt.Sprintf("m%06d.cdfz", i), "", ar.Bytes()[:ar.Len()*(i%100/99)])
	}
	add(volume.Symlink, "out", "../../etc", nil)
	add(volume.Symlink, "root", "/etc/passwd", nil)
	add(volume.Folder, "z", "", nil)
	add(volume.File, "z/z", "", ar.Bytes())
	_, err = w.Finish()
	require.NoError(t, err)
	return out.Bytes(), append(paths, "", "/", ".", "..", "a/", "b/b.cdfz", "b/soft", "b/up", "b/../a/./b.cdfz", "a//hard", "a/b.cdfz/x", "0", "zz", "m", "a/c",
		"m000099.cdfz/", strings.Repeat("a/../", 600)+"a/b.cdfz", ".cdfz-volume-index", "a\n")
}

// same compares the outcomes for a path.
func (n *native) same(t *testing.T, vol []byte, path, what string) string {
	t.Helper()
	want, image, err := memberOf(t.Context(), vol, path)
	outcome, text, got := n.member(t, vol, path)
	if want != outcome || want == "image" && !bytes.Equal(image, got) {
		t.Fatalf("%s: %q: expected %s (%v), found %s (%s), %d bytes, expected %d", what, path, want, err, outcome, text, len(got), len(image))
	}
	return want
}

// volumeParts is the index of a volume, decoded.
type volumeParts struct {
	front           []byte // all before the index
	blocks          [][]byte
	counts          []uint64
	firsts          []string
	members, packed uint64
	top             func([]byte) []byte // changes the top level
	line            func(string) string // changes the trailer before its checksum
	index, end      int
}

func splitVolume(t *testing.T, vol []byte) *volumeParts {
	p := &volumeParts{end: len(vol) - 1024}
	var top, topLen, sum uint64
	_, err := fmt.Sscanf(string(vol[p.end-512:]), "cdfz volume 1 index %x top %x %x %x members %x packed %x", &p.index, &top, &topLen, &sum, &p.members, &p.packed)
	require.NoError(t, err)
	p.front = vol[:p.index]
	b, off, path := vol[top:top+topLen], p.index, ""
	number := func() uint64 {
		n, k := binary.Uvarint(b)
		b = b[k:]
		return n
	}
	for len(b) > 0 {
		stored, length, count := number(), number(), number()
		b = b[4:]
		path = path[:number()]
		rest := number()
		path += string(b[:rest])
		b = b[rest:]
		contents, err := io.ReadAll(flate.NewReader(bytes.NewReader(vol[off:][:stored])))
		require.NoError(t, err)
		require.Len(t, contents, int(length))
		off += int(stored)
		p.blocks, p.counts, p.firsts = append(p.blocks, contents), append(p.counts, count), append(p.firsts, path)
	}
	return p
}

// join makes a volume with right checksums.
func (p *volumeParts) join(t *testing.T) []byte {
	out := bytes.Clone(p.front)
	var top []byte
	before := ""
	for i, contents := range p.blocks {
		var b bytes.Buffer
		w, err := flate.NewWriter(&b, 1)
		require.NoError(t, err)
		w.Write(contents)
		require.NoError(t, w.Close())
		out = append(out, b.Bytes()...)
		top = binary.AppendUvarint(top, uint64(b.Len()))
		top = binary.AppendUvarint(top, uint64(len(contents)))
		top = binary.AppendUvarint(top, p.counts[i])
		top = binary.LittleEndian.AppendUint32(top, crc32.ChecksumIEEE(b.Bytes()))
		same := 0
		for same < min(len(before), len(p.firsts[i])) && before[same] == p.firsts[i][same] {
			same++
		}
		top = binary.AppendUvarint(top, uint64(same))
		top = binary.AppendUvarint(top, uint64(len(p.firsts[i])-same))
		top = append(top, p.firsts[i][same:]...)
		before = p.firsts[i]
	}
	if p.top != nil {
		top = p.top(top)
	}
	at := len(out)
	out = append(out, top...)
	out = append(out, make([]byte, (512-len(out)%512)%512)...)
	line := fmt.Sprintf("cdfz volume 1 index %016x top %016x %016x %08x members %016x packed %016x ", p.index, at, len(top), crc32.ChecksumIEEE(top), p.members, p.packed)
	if p.line != nil {
		line = p.line(line)
	}
	line += fmt.Sprintf("%08x\n", crc32.ChecksumIEEE([]byte(line)))
	out = append(out, line...)
	return append(out, make([]byte, 1024+512-len(line))...)
}

// damagedBytes changes some bytes, or removes or adds some.
func damagedBytes(b []byte, rng *rand.Rand) []byte {
	b = bytes.Clone(b)
	for range 1 + rng.Intn(3) {
		if len(b) == 0 {
			return []byte{byte(rng.Intn(256))}
		}
		at := rng.Intn(len(b))
		switch rng.Intn(6) {
		case 0:
			b[at] ^= 1 << rng.Intn(8)
		case 1:
			b[at] = byte(rng.Intn(256))
		case 2:
			b[at] = []byte{0, 1, 127, 128, 255, '/', '.', '0', '1', '2', '5'}[rng.Intn(11)]
		case 3:
			b = slices.Delete(b, at, min(len(b), at+1+rng.Intn(4)))
		case 4:
			b = slices.Insert(b, at, []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1}[rng.Intn(10):]...)
		case 5:
			n := min(len(b)-at, 1+rng.Intn(40))
			b = slices.Insert(b, at, b[at:at+n]...)
		}
	}
	return b
}

// TestNativeVolumes opens members of intact and of hostile volumes: the outcomes are those of package volume.
func TestNativeVolumes(t *testing.T) {
	n, rng := startNative(t), rand.New(rand.NewSource(47))
	found := map[string]int{}
	for _, members := range []int{0, 4000} {
		vol, paths := nativeVolume(t, members)
		all := splitVolume(t, vol)
		require.Equal(t, members > 0, len(all.blocks) > 1)
		some := paths
		if members > 0 {
			some = append(slices.Clone(paths[:12]), paths[members:]...)
		}
		for _, path := range some {
			found[n.same(t, vol, path, "intact")]++
			found[n.same(t, all.join(t), path, "joined")]++
		}
		rounds := *mutants
		if members > 0 { // a megabyte for each
			rounds /= 20
		}
		for i := range rounds {
			p := splitVolume(t, vol)
			bad := []byte(nil)
			switch k := rng.Intn(len(p.blocks)); i % 6 {
			case 0, 1:
				p.blocks[k] = damagedBytes(p.blocks[k], rng)
			case 2:
				p.top = func(b []byte) []byte { return damagedBytes(b, rng) }
			case 3:
				p.line = func(s string) string {
					if rng.Intn(2) == 0 {
						return string(damagedBytes([]byte(s), rng))
					}
					at := strings.LastIndexByte(s[:len(s)-1-rng.Intn(100)], ' ') + 1
					return s[:at] + fmt.Sprintf("%x", rng.Intn(16)) + s[at+1:]
				}
			case 4:
				p.counts[k] += uint64(rng.Intn(3)) - 1
				p.members += uint64(rng.Intn(3)) - 1
				p.firsts[k] = string(damagedBytes([]byte(p.firsts[k]), rng))
			case 5: // without right checksums
				from := rng.Intn(len(vol))
				bad = append(bytes.Clone(vol[:from]), damagedBytes(vol[from:], rng)...)
				if rng.Intn(3) == 0 {
					bad = vol[:from]
				}
			}
			if bad == nil {
				bad = p.join(t)
			}
			for range 3 {
				found[n.same(t, bad, paths[rng.Intn(len(paths))], fmt.Sprintf("round %d", i))]++
			}
		}
	}
	vol, paths := nativeVolume(t, 0)
	long := splitVolume(t, vol)
	for i := range 8193 { // 64 MiB of paths in a top level of a megabyte
		long.blocks, long.counts = append(long.blocks, []byte{0}), append(long.counts, 1)
		long.firsts = append(long.firsts, "~/"+strings.Repeat("n/", 4080)+fmt.Sprintf("%030d", i))
		long.members++
	}
	require.Equal(t, "damage", n.same(t, long.join(t), paths[0], "long paths"))
	long = splitVolume(t, vol)
	var block []byte
	first, before := "~/"+strings.Repeat("n/", 4080)+strings.Repeat("0", 30), ""
	for i := range 8193 { // as many in a block
		same, path := 0, fmt.Sprintf("%s%030d", first[:len(first)-30], i)
		for same < len(before) && path[same] == before[same] {
			same++
		}
		before = path
		block = binary.AppendUvarint(binary.AppendUvarint(block, uint64(same)), uint64(len(path)-same))
		block = append(append(block, path[same:]...), '5', 0, 0, 0, 0, 0)
	}
	long.blocks, long.counts, long.firsts, long.members = append(long.blocks, block), append(long.counts, 8193), append(long.firsts, first), long.members+8193
	require.Equal(t, "damage", n.same(t, long.join(t), first, "long paths in a block"))
	for _, outcome := range []string{"image", "refuse", "damage", "absent"} {
		require.Greater(t, found[outcome], 10, "%v", found)
	}
	t.Logf("volumes: %v archives", found)
}
