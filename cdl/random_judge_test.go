//go:build judge

package cdl

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
)

// cFormats are values of C_format attributes that C defines.
var cFormats = map[bool][]string{
	true:  {"%.2f", "%9.4f", "%-12.3e|", "%g", "%+G", "%.0f", "%012.1f", "x%%%.15g y", "%#.3g", "%5.1lf", "% .3E"},
	false: {"%d", "%5d", "%-8d|", "%x", "%#o", "%+d", "%05d", "%u", "%i%%", "%.4d"},
}

// randomImage returns a file with random values, attributes and shapes.
func randomImage(t *testing.T, r *rand.Rand) []byte {
	h := &cdf3.Header{Version: []cdf3.Version{cdf3.Classic, cdf3.Offset64, cdf3.Data64}[r.Intn(3)], NumRecsField: uint64(r.Intn(4))}
	types := 6
	if h.Version == cdf3.Data64 {
		types = 11
	}
	h.Dims = []cdf3.Dim{{Name: "t"}}
	for i := range 5 {
		h.Dims = append(h.Dims, cdf3.Dim{Name: fmt.Sprintf("d%d", i), Len: int64(1 + r.Intn(40))})
	}
	attr := func(name string, typ cdf3.Type, n int) cdf3.Attr {
		return cdf3.Attr{Name: name, Type: typ, Len: int64(n), Values: randomValues(r, typ, n, nil)}
	}
	for i := range types {
		h.Attrs = append(h.Attrs, attr(fmt.Sprintf("a%d", i), cdf3.Type(i+1), r.Intn(9)))
	}
	fills := map[int][]byte{}
	for i := range 25 {
		v := cdf3.Var{Name: fmt.Sprintf("v%d%s", i, strings.Repeat("x", r.Intn(80))), Type: cdf3.Type(1 + r.Intn(types))}
		for k := range r.Intn(4) {
			if k == 0 && r.Intn(2) == 0 {
				v.DimIDs = append(v.DimIDs, 0)
			} else {
				v.DimIDs = append(v.DimIDs, 1+r.Intn(5))
			}
		}
		if r.Intn(3) == 0 {
			typ, n := v.Type, 1
			if r.Intn(6) == 0 {
				typ = cdf3.Type(1 + r.Intn(types))
			}
			if r.Intn(9) == 0 {
				n = 2
			}
			v.Attrs = append(v.Attrs, attr("_FillValue", typ, n))
		}
		if r.Intn(3) == 0 && v.Type < cdf3.UInt { // longer integers need ll
			formats := cFormats[v.Type == cdf3.Float || v.Type == cdf3.Double]
			v.Attrs = append(v.Attrs, textAttr("C_format", formats[r.Intn(len(formats))]))
		}
		v.Attrs = append(v.Attrs, attr("a", cdf3.Type(1+r.Intn(types)), r.Intn(30)))
		fills[i] = fillOf(&v)
		h.Vars = append(h.Vars, v)
	}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	for i := range h.Vars {
		v := &h.Vars[i]
		recs, step := int64(1), int64(0)
		if v.Record {
			recs, step = h.NumRecs, h.RecSize
		}
		for k := range recs {
			b := randomValues(r, v.Type, int(v.RecLen/v.Type.Size()), fills[i])
			off := v.Begin + k*step
			if need := int(off) + len(b) - len(image); need > 0 {
				image = append(image, make([]byte, need)...)
			}
			copy(image[off:], b)
		}
	}
	return image
}

// randomValues returns big-endian values, some of them round numbers and fill values.
func randomValues(r *rand.Rand, typ cdf3.Type, n int, fill []byte) []byte {
	b := make([]byte, n*int(typ.Size()))
	r.Read(b)
	be := binary.BigEndian
	for i := range n {
		v := b[i*int(typ.Size()):]
		kind := r.Intn(6)
		switch {
		case kind == 0 && fill != nil:
			copy(v, fill)
			if len(fill) > 2 && r.Intn(2) == 0 {
				v[len(fill)-1] += byte(r.Intn(5)) - 2
			}
		case kind == 1 && typ == cdf3.Float:
			be.PutUint32(v, math.Float32bits(float32(math.Round((r.Float64()-0.5)*math.Pow10(r.Intn(12)))/math.Pow10(r.Intn(4)))))
		case kind == 2 && typ == cdf3.Double:
			be.PutUint64(v, math.Float64bits(math.Round((r.Float64()-0.5)*math.Pow10(r.Intn(20)))/math.Pow10(r.Intn(6))))
		case kind == 3 && typ == cdf3.Char:
			v[0] = []byte("\x00\n a\"")[r.Intn(5)]
		}
	}
	return b
}

// TestJudgeRandom compares files of random values, which tests number formatting
// against C's printf.
func TestJudgeRandom(t *testing.T) {
	s := newScale(t)
	seeds := int64(12)
	if os.Getenv("CDFZ_SOAK") != "" {
		seeds = 200
	}
	for seed := range seeds {
		image := randomImage(t, rand.New(rand.NewSource(seed)))
		s.file(t, fmt.Sprintf("random%d.nc", seed), image)
	}
	s.report(t)
	require.Zero(t, s.refused)
}

// TestJudgeFilters dumps archives with -s, turns the text into netCDF-4 files with
// ncgen, and compares the special attributes with those that ncdump -hs prints. It uses
// the filters of Debian's netCDF. Row Q1 of CONTRIBUTING.md.
func TestJudgeFilters(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		filters []Filter
		want    []string
	}{
		{nil, []string{`_Storage = "chunked"`, "_ChunkSizes = 5, 7"}},
		{[]Filter{{ID: 1, Params: []uint32{6}}}, []string{"_DeflateLevel = 6"}},
		{[]Filter{{ID: 2, Params: []uint32{8}}, {ID: 1, Params: []uint32{9}}}, []string{`_Shuffle = "true"`, "_DeflateLevel = 9"}},
		{[]Filter{{ID: 3}}, []string{`_Fletcher32 = "true"`}},
		{[]Filter{{ID: 307, Params: []uint32{9}}}, []string{`_Filter = "307,9"`}},
		{[]Filter{{ID: 3}, {ID: 2, Params: []uint32{8}}, {ID: 307, Params: []uint32{1}}}, []string{`_Shuffle = "true"`, `_Fletcher32 = "true"`, `_Filter = "307,1"`}},
	} {
		m := oneVar(t, cdf3.Double, zeroes{}, nil, 10, 14)
		text := dump(t, m, &Options{Name: "x", Header: true, Special: true, BlockSize: 560, Storage: func(int) *Storage {
			return &Storage{Block: []int64{5, 7}, Filters: c.filters, Codecs: `[{"id":"zlib","level":1}]`}
		}})
		// With the format of the classic file, ncgen would not make a netCDF-4 file.
		text = strings.Replace(text, "\t\t:_Format = \"cdf5\" ;\n", "", 1)
		in, out := filepath.Join(dir, "x.cdl"), filepath.Join(dir, "x.nc4")
		require.NoError(t, os.WriteFile(in, []byte(text), 0o666))
		msg, err := exec.Command("ncgen", "-4", "-o", out, in).CombinedOutput()
		require.NoError(t, err, "%s\n%s", msg, text)
		got, ok := ncdump(t, "-hs", out)
		require.True(t, ok)
		for _, line := range append(c.want, `_Endianness = "big"`) {
			require.Contains(t, text, "v:"+line+" ;\n")
			require.Contains(t, string(got), "v:"+line+" ;\n", text)
		}
		// ncgen -4 reads _Codecs, but a netCDF-4 file has no place for it.
		require.Contains(t, text, `v:_Codecs = "[{\"id\":\"zlib\",\"level\":1}]" ;`)
		require.Equal(t, strings.Count(text, "\tv:")-1, strings.Count(string(got), "\tv:"), "%s", got)
		require.Contains(t, string(got), ":_BlockSize = 560 ;\n")
	}
}

// TestJudgeArchiveSpecials checks that the text of an archive is that of its file,
// apart from the lines about storage.
func TestJudgeArchiveSpecials(t *testing.T) {
	image, err := os.ReadFile("../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	want, ok := ncdump(t, "-s", "../testdata/classic/cdf2_climate.nc")
	require.True(t, ok)
	var b bytes.Buffer
	_, err = archive.Write(context.Background(), &b, bytes.NewReader(image), int64(len(image)), nil)
	require.NoError(t, err)
	f, err := archive.New(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), nil)
	require.NoError(t, err)
	text := dump(t, f, &Options{Name: "cdf2_climate", Special: true, Storage: func(int) *Storage {
		return &Storage{Block: []int64{1}, Filters: []Filter{{ID: 1, Params: []uint32{1}}}}
	}})
	var lines []string
	for _, line := range strings.SplitAfter(text, "\n") {
		if !strings.Contains(line, ":_Storage") && !strings.Contains(line, ":_ChunkSizes") &&
			!strings.Contains(line, ":_DeflateLevel") && !strings.Contains(line, ":_Endianness") {
			lines = append(lines, line)
		}
	}
	require.Equal(t, string(want), strings.Join(lines, ""))
}
