//go:build native

package archive_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/internal/archivetest"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	_ "github.com/cdfz-format/cdfz/filters/all" // lz4 and bzip2
	"github.com/cdfz-format/cdfz/internal/nativetest"
	"github.com/cdfz-format/cdfz/testdata/hostile"
)

var (
	mutants = flag.Int("mutants", 1000, "damaged archives to read, half of them with right checksums")
	images  = flag.String("images", "", "netCDF files to archive and read, besides those of testdata, as a pattern")
)

// native is c/test/archives, which reads archives with the library of c/. nativetest
// runs it.
type native struct {
	*nativetest.Program
	in *bufio.Writer // of Program
}

func startNative(t *testing.T) *native {
	t.Helper()
	p := nativetest.Start(t)
	return &native{p, bufio.NewWriter(p.In)}
}

// The results of c/cdfz.h that a test expects.
const (
	nativeOK          = 0
	nativeNotArchive  = 1
	nativeUnsupported = 2
	nativeDamaged     = 3
	nativeArgument    = 6
)

// ask sends a request and returns the answer.
func (n *native) ask(t *testing.T, letter byte, args ...any) (status byte, text string, b []byte) {
	t.Helper()
	n.in.WriteByte(letter)
	for _, a := range args {
		require.NoError(t, binary.Write(n.in, binary.LittleEndian, a))
	}
	err := n.in.Flush()
	if err == nil {
		status, err = n.Out.ReadByte()
	}
	read := func(length any) []byte {
		if err == nil {
			err = binary.Read(n.Out, binary.LittleEndian, length)
		}
		var size uint64
		switch l := length.(type) {
		case *uint32:
			size = uint64(*l)
		case *uint64:
			size = *l
		}
		b := make([]byte, size)
		if err == nil {
			_, err = io.ReadFull(n.Out, b)
		}
		return b
	}
	text = string(read(new(uint32)))
	b = read(new(uint64))
	if err != nil {
		t.Fatalf("%v: %s", err, n.Last())
	}
	return status, text, b
}

func (n *native) open(t *testing.T, ar []byte, cache int) (status byte, text string) {
	t.Helper()
	status, text, _ = n.ask(t, 'o', uint64(cache), uint64(len(ar)), ar)
	return status, text
}

// nativeOutcome names a status in the terms of docs/FORMAT.md.
func nativeOutcome(status byte, text string) string {
	switch status {
	case nativeOK:
		return "image"
	case nativeNotArchive, nativeUnsupported:
		return "refuse"
	case nativeDamaged:
		return "damage"
	}
	return text
}

// read opens an archive, restores its image, and returns the outcome.
func (n *native) read(t *testing.T, ar []byte, restore bool) (outcome, text string, image []byte) {
	t.Helper()
	status, text := n.open(t, ar, 1<<20)
	if status == nativeOK && restore {
		status, text, image = n.ask(t, 'r')
	}
	return nativeOutcome(status, text), text, image
}

func TestNativeVectors(t *testing.T) {
	n := startNative(t)
	count := 0
	for _, folder := range []string{"good", "bad"} {
		for _, v := range archivetest.Vectors(t, folder) {
			count++
			outcome, text, image := n.read(t, v.Archive, true)
			require.Equal(t, v.Reader, outcome, "%s/%s: %s (%s)", folder, v.Name, text, v.Comment)
			if outcome == "image" {
				require.Equal(t, v.SHA256, fmt.Sprintf("%x", sha256.Sum256(image)), v.Name)
			}
			if strings.HasPrefix(v.Name, "plan_") && v.Reader != "image" {
				status, _ := n.open(t, v.Archive, 1)
				require.NotEqual(t, byte(nativeOK), status, "%s: the plan is checked when the archive is opened", v.Name)
			}
		}
	}
	t.Logf("%d vectors", count)
}

// TestNativeCompat restores the archives of earlier versions.
func TestNativeCompat(t *testing.T) {
	n := startNative(t)
	all := archivetest.Compats(t)
	for _, c := range all {
		outcome, text, image := n.read(t, c.Archive, true)
		require.Equal(t, "image", outcome, "%s: %s", c.Name, text)
		require.Equal(t, c.SHA256, fmt.Sprintf("%x", sha256.Sum256(image)), c.Name)
	}
	t.Logf("%d archives of earlier versions", len(all))
}

// nativeImages returns the images of testdata and those that -images names.
func nativeImages(t *testing.T) map[string][]byte {
	out := archivetest.Classic(t)
	names, err := filepath.Glob(*images)
	require.NoError(t, err)
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		out[name] = b
	}
	return out
}

// describe is what c/test/archives prints about a file.
func describe(f *archive.File) string {
	var b strings.Builder
	h := f.Header()
	attrs := func(list []cdf3.Attr) {
		for _, a := range list {
			fmt.Fprintf(&b, " a %x:%v=%x", a.Name, a.Type, a.Values)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "CDF-%d %d", h.Version, h.NumRecs)
	attrs(h.Attrs)
	for _, d := range h.Dims {
		length, record := d.Len, 0
		if length == 0 {
			length, record = h.NumRecs, 1
		}
		fmt.Fprintf(&b, "d %x %d %d\n", d.Name, length, record)
	}
	for i, v := range f.Vars() {
		hv := h.Vars[i]
		fmt.Fprintf(&b, "v %x %v %d", hv.Name, hv.Type, map[bool]int{true: 1}[hv.Record])
		for k, d := range hv.DimIDs {
			fmt.Fprintf(&b, " %d:%d", d, hv.Shape[k])
		}
		b.WriteString(" b")
		if v.Info().Blocked {
			for _, n := range v.BlockShape() {
				fmt.Fprintf(&b, " %d", n)
			}
		}
		attrs(hv.Attrs)
	}
	return b.String()
}

// selection returns the big-endian elements of a hyperslab of a variable.
func selection(values []byte, shape, start, count, stride []uint64, size int) []byte {
	out := []byte{}
	var walk func(dim int, at uint64)
	walk = func(dim int, at uint64) {
		if dim == len(shape) {
			out = append(out, values[at*uint64(size):][:size]...)
			return
		}
		for i := range count[dim] {
			walk(dim+1, at*shape[dim]+start[dim]+i*stride[dim])
		}
	}
	walk(0, 0)
	return out
}

// slabs compares random hyperslabs of a variable.
func (n *native) slabs(t *testing.T, v *archive.Var, rng *rand.Rand, rounds int) (count int) {
	size := int(v.Type().Size())
	shape := make([]uint64, len(v.Shape()))
	all := uint64(size)
	for i, d := range v.Shape() {
		shape[i] = uint64(d)
		all *= shape[i]
	}
	if all > 1<<24 {
		return 0
	}
	values := make([]byte, all)
	if all > 0 {
		_, err := v.Values().ReadAt(values, 0)
		if err != io.EOF {
			require.NoError(t, err)
		}
	}
	for round := range rounds {
		start, number, stride := make([]uint64, len(shape)), make([]uint64, len(shape)), make([]uint64, len(shape))
		elements := uint64(1)
		for i, d := range shape {
			stride[i] = 1
			switch {
			case d == 0:
			case round == 0: // all
				number[i] = d
			default:
				start[i] = uint64(rng.Int63n(int64(d)))
				if rng.Intn(3) == 0 {
					stride[i] = 1 + uint64(rng.Int63n(int64(d)))
				}
				most := (d-1-start[i])/stride[i] + 1
				number[i] = 1 + uint64(rng.Int63n(int64(most)))
				switch rng.Intn(6) {
				case 0:
					number[i] = 1
				case 1: // the whole dimension
					start[i], number[i], stride[i] = 0, d, 1
				}
			}
			elements *= number[i]
		}
		if elements > 1<<20 {
			continue
		}
		status, text, got := n.ask(t, 'v', int64(v.Num()), elements*uint64(size), uint8(1), uint32(len(shape)), start, number, stride)
		require.Equal(t, byte(nativeOK), status, "%s: %s", v.Name(), text)
		if !bytes.Equal(selection(values, shape, start, number, stride, size), got) {
			t.Fatalf("%s: start %d, count %d, stride %d: other values", v.Name(), start, number, stride)
		}
		count++
	}
	return count
}

// TestNativeImages compares images, parts of them, headers and hyperslabs with this package.
func TestNativeImages(t *testing.T) {
	ctx, n, rng := context.Background(), startNative(t), rand.New(rand.NewSource(41))
	archives, slabs := 0, 0
	lz4 := []archive.VarFilter{{Vars: []string{"*"}, Chain: filters.Chain{{ID: filters.Shuffle, Params: []uint32{4}}, {ID: filters.LZ4}}}}
	bzip2 := []archive.VarFilter{{Vars: []string{"*"}, Chain: filters.Chain{{ID: filters.Bzip2, Params: []uint32{1}}, {ID: filters.Fletcher32}}}}
	kinds := map[string]*archive.WriteOptions{
		"lz4":    {Filters: lz4, Zarr: archive.ZarrNever, Block: 4096},
		"bzip2":  {Filters: bzip2, Zarr: archive.ZarrNever},
		"zarr":   {Zarr: archive.ZarrAlways, Block: 1024},
		"parity": {Parity: 5},
	}
	for _, p := range archive.Presets {
		kinds[string(p)] = &archive.WriteOptions{Preset: p}
	}
	files := nativeImages(t)
	for i, name := range slices.Sorted(maps.Keys(files)) {
		if testing.Short() && i%8 != 0 {
			continue
		}
		for k, kind := range slices.Sorted(maps.Keys(kinds)) {
			if (i+k)%2 != 0 { // each file in half of the ways, each way with half of the files
				continue
			}
			image, o := files[name], kinds[kind]
			what := name + ", " + kind
			var b bytes.Buffer
			_, err := archive.Write(ctx, &b, bytes.NewReader(image), int64(len(image)), o)
			require.NoError(t, err, what)
			f, err := archive.New(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), nil)
			require.NoError(t, err, what)
			status, text := n.open(t, b.Bytes(), []int{1, 10_000, 1 << 24}[archives%3])
			require.Equal(t, byte(nativeOK), status, "%s: %s", what, text)
			status, text, got := n.ask(t, 'r')
			require.Equal(t, byte(nativeOK), status, "%s: %s", what, text)
			require.Equal(t, sha256.Sum256(image), sha256.Sum256(got), what)
			_, _, got = n.ask(t, 'd')
			require.Equal(t, describe(f), string(got), what)
			for range 4 {
				off := rng.Intn(len(image) + 1)
				size := rng.Intn(len(image) + 1 - off)
				if rng.Intn(2) == 0 {
					size = min(size, 100)
				}
				status, text, got = n.ask(t, 'p', uint64(off), uint64(size))
				require.Equal(t, byte(nativeOK), status, "%s: %s", what, text)
				require.True(t, bytes.Equal(image[off:off+size], got), "%s: the %d bytes of the image at %d are others", what, size, off)
			}
			status, _, _ = n.ask(t, 'p', uint64(rng.Intn(len(image)+1)), uint64(len(image)+1))
			require.Equal(t, byte(nativeArgument), status, what)
			for _, v := range f.Vars() {
				slabs += n.slabs(t, v, rng, 5)
			}
			archives++
		}
	}
	t.Logf("%d archives, %d hyperslabs", archives, slabs)
}

// integers returns a CDF-1 file with random values. Its variables have one dimension, and all begin
// directly after the header. The dimension is that of records if length is 0.
func integers(names string, length, records, bytes int, rng *rand.Rand) []byte {
	b := []byte("CDF\x01")
	put := func(list ...int) {
		for _, v := range list {
			b = binary.BigEndian.AppendUint32(b, uint32(v))
		}
	}
	const name, letter = 1, 24
	put(records, 10, 1, name, 't'<<letter, length, 0, 0, 11, len(names))
	for _, c := range names {
		put(name, int(c)<<letter, 1, 0, 0, 0, 4, 4, 44+36*len(names))
	}
	values := make([]byte, bytes)
	rng.Read(values)
	return append(b, values...)
}

// TestNativeRestore: each block is read once, also without a cache.
func TestNativeRestore(t *testing.T) {
	n := startNative(t)
	image := integers("a", 4<<20, 0, 16<<20, rand.New(rand.NewSource(44)))
	var b bytes.Buffer
	_, err := archive.Write(context.Background(), &b, bytes.NewReader(image), int64(len(image)), &archive.WriteOptions{Block: 16 << 20})
	require.NoError(t, err)
	status, text := n.open(t, b.Bytes(), 1)
	require.Equal(t, byte(nativeOK), status, text)
	status, text, got := n.ask(t, 'r')
	require.Equal(t, byte(nativeOK), status, text)
	require.True(t, bytes.Equal(image, got))
	_, _, taken := n.ask(t, 'n')
	require.Less(t, binary.LittleEndian.Uint64(taken), uint64(2*b.Len()))
}

// TestNativeUnblocked: a block of the rest that holds many records of a variable is read once, also
// without a cache.
func TestNativeUnblocked(t *testing.T) {
	n := startNative(t)
	const records = 40_000
	// Two variables in the same place cannot have blocks of their own.
	image := integers("ab", 0, records, 8*records, rand.New(rand.NewSource(43)))
	var b bytes.Buffer
	_, err := archive.Write(context.Background(), &b, bytes.NewReader(image), int64(len(image)), &archive.WriteOptions{Block: 16 << 10})
	require.NoError(t, err)
	status, text := n.open(t, b.Bytes(), 1)
	require.Equal(t, byte(nativeOK), status, text)
	one := []uint64{1}
	status, text, got := n.ask(t, 'v', int64(1), uint64(4*records), uint8(1), uint32(1), []uint64{0}, []uint64{records}, one)
	require.Equal(t, byte(nativeOK), status, text)
	for i := range records {
		require.Equal(t, image[len(image)-8*records+8*i:][:4], got[4*i:][:4], i)
	}
	_, _, taken := n.ask(t, 'n')
	require.Less(t, binary.LittleEndian.Uint64(taken), uint64(2*b.Len()))
}

// TestNativeArguments: selections that do not fit are refused.
func TestNativeArguments(t *testing.T) {
	n := startNative(t)
	var b bytes.Buffer
	image, err := os.ReadFile(climate)
	require.NoError(t, err)
	_, err = archive.Write(context.Background(), &b, bytes.NewReader(image), int64(len(image)), nil)
	require.NoError(t, err)
	f, err := archive.New(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), nil)
	require.NoError(t, err)
	v, err := f.Var("lat")
	require.NoError(t, err)
	length, size := uint64(v.Shape()[0]), uint64(v.Type().Size())
	const huge = 1<<64 - 1
	status, text := n.open(t, b.Bytes(), 1)
	require.Equal(t, byte(nativeOK), status, text)
	for _, c := range []struct {
		variable                   int64
		start, count, stride, size uint64
		want                       byte
	}{
		{int64(v.Num()), 0, length, 1, length * size, nativeOK},
		{int64(v.Num()), length - 1, 1, huge, size, nativeOK},
		{int64(v.Num()), length, 0, 1, 0, nativeOK},
		{int64(v.Num()), 0, length, 1, length*size - 1, nativeArgument},
		{int64(v.Num()), 0, length + 1, 1, length * size, nativeArgument},
		{int64(v.Num()), 1, length, 1, length * size, nativeArgument},
		{int64(v.Num()), length + 1, 0, 1, 0, nativeArgument},
		{int64(v.Num()), length, 1, 1, size, nativeArgument},
		{int64(v.Num()), 0, 2, huge, 2 * size, nativeArgument},
		{int64(v.Num()), 0, huge, 1, size, nativeArgument},
		{int64(v.Num()), huge, 1, 1, size, nativeArgument},
		{int64(v.Num()), 0, 1, 0, size, nativeArgument},
		{-1, 0, 1, 1, size, nativeArgument},
		{1 << 40, 0, 1, 1, size, nativeArgument},
	} {
		status, text, _ := n.ask(t, 'v', c.variable, c.size, uint8(0), uint32(1), []uint64{c.start}, []uint64{c.count}, []uint64{c.stride})
		require.Equal(t, c.want, status, "%+v: %s", c, text)
	}
}

// TestNativeDamage checks that the library and this package give the same outcome for damaged
// archives: of every second one, all checksums are right.
func TestNativeDamage(t *testing.T) {
	ctx, n, rng := context.Background(), startNative(t), rand.New(rand.NewSource(42))
	seeds := hostileSeeds(t)
	outcomes := map[string]int{}
	for i := range *mutants {
		seed := seeds[rng.Intn(len(seeds))]
		var ar []byte
		if i%2 == 0 {
			ar = seed.Mutate(rng).Bytes()
		} else {
			ar = flip(bytes.Clone(seed.Bytes()), rng)
		}
		var image bytes.Buffer
		f, err := archive.New(t.Context(), bytes.NewReader(ar), int64(len(ar)), nil)
		restore := err == nil && modest(f)
		if restore {
			err = f.Image().Copy(ctx, &image, nil)
		}
		want := goOutcome(err)
		got, text, restored := n.read(t, ar, err != nil || restore)
		if want == "damage" && got == "image" && strings.Contains(err.Error(), "header or rest from its byte 0") {
			// The row of block 0 is wrong. The library takes the place in the manifest (section 11).
			info, _ := f.Info()
			require.Equal(t, info.SHA256, fmt.Sprintf("%x", sha256.Sum256(restored)))
			outcomes["row of block 0"]++
			continue
		}
		if want != got || (restore && got == "image" && !bytes.Equal(image.Bytes(), restored)) {
			sum := sha256.Sum256(ar)
			name := filepath.Join(os.TempDir(), "native-"+hex.EncodeToString(sum[:4])+".cdfz")
			t.Fatalf("%s (%v): Go: %v, C: %s %s", name, os.WriteFile(name, ar, 0o666), err, got, text)
		}
		outcomes[want]++
	}
	t.Logf("%d damaged archives: %v", *mutants, outcomes)
}

func allValues(v *archive.Var) ([]byte, error) {
	size := v.Type().Size()
	for _, d := range v.Shape() {
		size *= d
	}
	return io.ReadAll(io.NewSectionReader(v.Values(), 0, size))
}

// TestNativeLateDamage damages the stored bytes of the block that begins with the netCDF header. The library decodes
// only the header when it opens an archive, and values behind it when they are read: those are refused as damage then
// wherever this package, which decodes the block at once, finds damage. With a wrong checksum nothing is opened.
func TestNativeLateDamage(t *testing.T) {
	n := startNative(t)
	image, err := os.ReadFile("../testdata/classic/cdf1_one_record.nc")
	require.NoError(t, err)
	var b bytes.Buffer
	_, err = archive.Write(t.Context(), &b, bytes.NewReader(image), int64(len(image)), &archive.WriteOptions{Zarr: archive.ZarrNever})
	require.NoError(t, err)
	intact, err := archive.New(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), nil)
	require.NoError(t, err)
	var all [][]byte // values of each variable
	for _, v := range intact.Vars() {
		require.False(t, v.Info().Blocked, "expected the values of %s after the header", v.Name())
		values, err := allValues(v)
		require.NoError(t, err)
		all = append(all, values)
	}
	parts, err := hostile.Parse(b.Bytes())
	require.NoError(t, err)
	stored := parts.Header()
	headerLen := bytes.Index(image, all[0]) // the values of the first variable follow it
	require.Equal(t, 408, headerLen)
	late, accepted := 0, 0
	check := func(stored []byte) {
		ar := parts.WithHeader(stored).Bytes()
		f, err := archive.New(t.Context(), bytes.NewReader(ar), int64(len(ar)), nil)
		var restored bytes.Buffer
		if err == nil {
			err = f.Image().Copy(t.Context(), &restored, nil)
		}
		require.True(t, err == nil || errors.Is(err, archive.ErrCorrupt), err)
		status, text := n.open(t, ar, 1)
		if status != nativeOK {
			require.Equal(t, byte(nativeDamaged), status, text)
			require.Error(t, err)
			return
		}
		_, _, header := n.ask(t, 'p', uint64(0), uint64(headerLen))
		if !bytes.Equal(header, image[:headerLen]) {
			require.Error(t, err) // of another header, with right checksums: the SHA-256 shows it
			return
		}
		for i, v := range intact.Vars() {
			if len(all[i]) == 0 {
				continue
			}
			start, count, stride := []uint64{}, []uint64{}, []uint64{}
			for _, d := range v.Shape() {
				start, count, stride = append(start, 0), append(count, uint64(d)), append(stride, 1)
			}
			status, text, got := n.ask(t, 'v', int64(v.Num()), uint64(len(all[i])), uint8(1), uint32(len(start)), start, count, stride)
			if f == nil {
				require.Equal(t, byte(nativeDamaged), status, "%s: %s; Go: %v", v.Name(), text, err)
				late++
				continue
			}
			// The block is a valid one of other values, and its checksum is right, which only the SHA-256 shows.
			require.Equal(t, byte(nativeOK), status, "%s: %s; Go: %v", v.Name(), text, err)
			same, err := f.Var(v.Name())
			require.NoError(t, err)
			want, err := allValues(same)
			require.NoError(t, err)
			require.Equal(t, want, got, v.Name())
			accepted++
		}
	}
	for i := range stored {
		for _, bits := range []byte{1, 0x80, 0xff} {
			other := bytes.Clone(stored)
			other[i] ^= bits
			check(other)
		}
		check(stored[:i])
	}
	check(append(bytes.Clone(stored), 0))
	require.Positive(t, late)
	t.Logf("of %d selections of opened archives, %d are damage", late+accepted, late)

	at := bytes.Index(b.Bytes(), stored)
	for i := range stored {
		ar := bytes.Clone(b.Bytes())
		ar[at+i] ^= 0x10
		status, text := n.open(t, ar, 1)
		require.Equal(t, byte(nativeDamaged), status, text)
		_, err := archive.New(t.Context(), bytes.NewReader(ar), int64(len(ar)), nil)
		require.ErrorIs(t, err, archive.ErrCorrupt)
	}
}
