//go:build judge

package all

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"testing"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/internal/filtertest"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// typedCase is a filter on elements of a type.
type typedCase struct {
	name   string
	id     uint32
	given  []uint32       // what a user sets
	dtype  string         // of numpy
	more   map[string]any // further keys of judge_hdf5.py
	blocks [][]byte
	same   bool // HDF5 writes the same bytes, except for a last byte that it leaves undefined
	lossy  bool // HDF5 need not restore the blocks
	flags  int  // of the filter
}

// checkTyped lets HDF5 write and read blocks, with the parameters that it sets itself.
func checkTyped(t *testing.T, j *judge, c typedCase) {
	t.Helper()
	for i, raw := range c.blocks {
		q := map[string]any{"op": "write", "chain": []any{[]any{c.id, append([]uint32{}, c.given...), c.flags}}, "dtype": c.dtype, "raw": hex.EncodeToString(raw)}
		maps.Copy(q, c.more)
		var a struct {
			answer
			Params [][]uint32
		}
		if j.ask(q, &a); a.Error != "" {
			t.Fatalf("%s, block %d: %s", c.name, i, a.Error)
		}
		theirs, want := unhex(t, a.Stored), unhex(t, a.Raw)
		if !c.lossy && !bytes.Equal(want, raw) {
			t.Fatalf("%s, block %d: HDF5 does not restore it", c.name, i)
		}
		k := filtertest.Coder(t, filters.Chain{{ID: c.id, Params: a.Params[0], Optional: c.flags != 0}})
		dst := make([]byte, len(raw))
		if err := k.Decode(dst, theirs, a.Mask); err != nil || !bytes.Equal(dst, want) {
			t.Errorf("%s, block %d, parameters %d: what HDF5 wrote: %v", c.name, i, a.Params[0], err)
			continue
		}
		ours, mask, err := k.Encode(nil, want)
		if err != nil {
			t.Errorf("%s, block %d: %v", c.name, i, err)
			continue
		}
		if len(theirs) == 22 && c.id == filters.ScaleOffset && theirs[0] == 0 {
			theirs[21] = 0 // HDF5 does not set it
		}
		if c.same && mask == a.Mask && bytes.Equal(raw, want) && !bytes.Equal(ours, theirs) {
			t.Errorf("%s, block %d: HDF5 wrote %d other bytes, ours are %d\n%.200x\n%.200x", c.name, i, len(theirs), len(ours), theirs, ours)
		}
		q["op"], q["mask"], q["n"], q["stored"] = "read", mask, len(raw), hex.EncodeToString(ours)
		if b := j.must(q); b.Raw != a.Raw {
			t.Errorf("%s, block %d: HDF5 reads other bytes", c.name, i)
		}
	}
}

// typedBlocks returns blocks of elements of the given size: a field of few values, all
// kinds of bytes, constants, extremes.
func typedBlocks(size int) [][]byte {
	const n = 1003
	small := make([]byte, 0, n*size)
	for i := range n {
		for b := size - 1; b > 0; b-- {
			small = append(small, byte(0x12*b))
		}
		small = append(small, byte(40+i%50))
	}
	ones := bytes.Repeat([]byte{0xff}, 7*size)
	two := append(make([]byte, size), bytes.Repeat([]byte{0xff}, size)...)
	return [][]byte{small, small[:size], small[:9*size], filtertest.Mixed(n*size, 3), filtertest.Noise(400 * size), make([]byte, 11*size), ones, two}
}

func TestJudgeHDF5ScaleOffset(t *testing.T) {
	j := startJudge(t, "judge_hdf5.py")
	for _, dtype := range []string{"u1", "i1", ">i2", ">u2", "<i2", ">i4", ">u4", "<u4", ">i8", ">u8"} {
		size := int(dtype[len(dtype)-1] - '0')
		for _, fill := range []any{nil, "undefined", 41, 0} {
			for _, bits := range []int{0, 4, 8 * size} {
				blocks := typedBlocks(size)
				if bits == 4 {
					blocks = [][]byte{smallInts(size, dtype[0] != '<')}
				}
				checkTyped(t, j, typedCase{
					name: fmt.Sprintf("%s, %d bits, fill %v", dtype, bits, fill), id: filters.ScaleOffset, given: u(2, uint32(bits)),
					dtype: dtype, more: map[string]any{"fill": fill}, blocks: blocks, same: true,
				})
			}
		}
	}
	for _, dtype := range []string{">f4", "<f4", ">f8"} {
		size := int(dtype[len(dtype)-1] - '0')
		for _, fill := range []any{nil, "undefined", 1e20} {
			for _, places := range []int{0, 2, -1} {
				checkTyped(t, j, typedCase{
					name: fmt.Sprintf("%s, %d places, fill %v", dtype, places, fill), id: filters.ScaleOffset, given: u(0, uint32(places)),
					dtype: dtype, more: map[string]any{"fill": fill}, blocks: decimals(dtype, size), same: true, lossy: true,
				})
			}
		}
	}
}

func TestJudgeHDF5NBit(t *testing.T) {
	j := startJudge(t, "judge_hdf5.py")
	for _, dtype := range []string{"i1", ">i2", ">u4", "<i4", ">f4", ">f8"} {
		checkTyped(t, j, typedCase{name: dtype, id: filters.NBit, dtype: dtype, blocks: typedBlocks(int(dtype[len(dtype)-1] - '0')), same: true})
	}
	for _, c := range []struct {
		dtype             string
		precision, offset int
	}{{">u2", 10, 3}, {"<u2", 10, 3}, {">i4", 17, 2}, {"<u4", 1, 31}, {">u4", 31, 0}, {">u8", 40, 5}, {"<u8", 63, 1}, {">u1", 3, 5}} {
		size := int(c.dtype[2] - '0')
		var blocks [][]byte
		for _, b := range typedBlocks(size) {
			blocks = append(blocks, keepBits(b, c.dtype, c.precision, c.offset))
		}
		checkTyped(t, j, typedCase{
			name: fmt.Sprintf("%s, %d bits above %d", c.dtype, c.precision, c.offset), id: filters.NBit, dtype: c.dtype, blocks: blocks, same: true,
			more: map[string]any{"precision": c.precision, "offset": c.offset},
		})
	}
}

func TestJudgeHDF5LZF(t *testing.T) {
	j := startJudge(t, "judge_hdf5.py")
	checkTyped(t, j, typedCase{name: "lzf", id: filters.LZF, dtype: ">f4", blocks: pluginBlocks(), flags: 1})
}

func TestJudgeHDF5Bitshuffle(t *testing.T) {
	j := startJudge(t, "judge_hdf5.py")
	for _, dtype := range []string{"u1", ">i2", ">f4", ">f8", "V12", "V3"} {
		blocks := pluginBlocks()
		checkTyped(t, j, typedCase{name: dtype + ", no parameter", id: filters.Bitshuffle, dtype: dtype, blocks: blocks, same: true})
		checkTyped(t, j, typedCase{name: dtype + ", no compression", id: filters.Bitshuffle, given: u(64, 0), dtype: dtype, blocks: blocks, same: true})
		checkTyped(t, j, typedCase{name: dtype + ", lz4", id: filters.Bitshuffle, given: u(0, 2), dtype: dtype, blocks: blocks, same: true})
		checkTyped(t, j, typedCase{name: dtype + ", lz4 in small blocks", id: filters.Bitshuffle, given: u(24, 2), dtype: dtype, blocks: blocks[:4], same: true})
	}
}

// TestJudgeBitshuffleZstd compares with the library bitshuffle and libzstd. The plugin of
// HDF5 in Debian lacks zstd.
func TestJudgeBitshuffleZstd(t *testing.T) {
	j := startJudge(t, "judge_numcodecs.py")
	blocks := append(pluginBlocks()[:5], filtertest.Field(3*7*8), filtertest.Field(3*13*8))
	for _, size := range []int{1, 3, 4, 8} {
		for _, elements := range []int{0, 264} {
			c, err := filters.Chain{{ID: filters.Bitshuffle, Params: u(uint32(elements), 3, 3)}}.Complete(filters.Block{Size: size})
			if err != nil {
				t.Fatal(err)
			}
			block := max(128, 8192/(8*size)*8)
			if elements > 0 {
				block = elements
			}
			k, err := filters.NewCoder(c)
			if err != nil {
				t.Fatal(err)
			}
			for i, raw := range blocks {
				ours, _, err := k.Encode(nil, raw)
				if err != nil {
					t.Fatal(err)
				}
				if a := j.must(map[string]any{"op": "bitshuffle", "size": size, "stored": hex.EncodeToString(ours)}); a.Raw != hex.EncodeToString(raw) {
					t.Errorf("size %d, block %d: the library reads other bytes", size, i)
				}
				a := j.must(map[string]any{"op": "bitshuffle", "size": size, "block": block, "raw": hex.EncodeToString(raw)})
				back := make([]byte, len(raw))
				if err := k.Decode(back, unhex(t, a.Stored), 0); err != nil || !bytes.Equal(back, raw) {
					t.Errorf("size %d, block %d: other bytes than those that the library wrote, or %v", size, i, err)
				}
			}
		}
	}
}

// TestJudgeSumsAtEnd compares crc32 and adler32 at the end, which numcodecs 0.11 lacks,
// with zlib.
func TestJudgeSumsAtEnd(t *testing.T) {
	j := startJudge(t, "judge_numcodecs.py")
	for id, name := range map[uint32]string{filters.CRC32: "crc32", filters.Adler32: "adler32"} {
		k, err := filters.NewCoder(filters.Chain{{ID: id, Params: u(1)}})
		if err != nil {
			t.Fatal(err)
		}
		for i, raw := range append(judgeBlocks(""), nil, filtertest.Noise(5553)) {
			ours, _, err := k.Encode(nil, raw)
			if err != nil {
				t.Fatal(err)
			}
			if a := j.must(map[string]any{"op": "sum", "name": name, "raw": hex.EncodeToString(raw)}); a.Stored != hex.EncodeToString(ours) {
				t.Errorf("%s, block %d: zlib writes other bytes", name, i)
			}
		}
	}
}

// pluginBlocks returns blocks of whole elements of 1, 2, 3, 4, 8 or 12 bytes.
func pluginBlocks() [][]byte {
	return [][]byte{filtertest.Field(24), filtertest.Field(72), filtertest.Field(24000), make([]byte, 4800), filtertest.Noise(2400), filtertest.Mixed(48000, 1), filtertest.Mixed(120000, 2), filtertest.Field(240000)}
}

func TestJudgeHDF5Blosc(t *testing.T) {
	j := startJudge(t, "judge_hdf5.py")
	blocks := pluginBlocks()[:7]
	for dtype, all := range map[string][][2]uint32{">f4": {{1, 1}, {5, 2}, {9, 0}}, "V3": {{5, 1}}} {
		for codec := range uint32(6) {
			for _, more := range all {
				checkTyped(t, j, typedCase{
					name: fmt.Sprintf("%s, compressor %d, level %d, shuffle %d", dtype, codec, more[0], more[1]), id: filters.Blosc, dtype: dtype,
					given: u(0, 0, 0, 0, more[0], more[1], codec), blocks: blocks, flags: 1, same: codec == 1,
				})
			}
		}
	}
}

func TestJudgeNumcodecsBlosc(t *testing.T) {
	j := startJudge(t, "judge_numcodecs.py")
	for codec := range uint32(6) {
		for _, more := range [][2]uint32{{0, 1}, {1, 2}, {5, 1}, {9, 0}} {
			for _, part := range []uint32{0, 1, 1000, 1 << 16, 1 << 30} { // the codec's blocksize
				chain := filters.Chain{{ID: filters.Blosc, Params: u(2, 2, 1, 0, more[0], more[1], codec, part)}}
				checkCodecs(t, j, chain, pluginBlocks()[:7], codec == 1 || more[0] == 0)
			}
		}
	}
}

// checkCodecs compares blocks with those of the codecs that are paired with a chain.
func checkCodecs(t *testing.T, j *judge, chain filters.Chain, blocks [][]byte, same bool) {
	t.Helper()
	k := filtertest.Coder(t, chain)
	for i, raw := range blocks {
		codecs, err := chain.Codecs(filters.Block{Len: len(raw)})
		if err != nil {
			t.Fatal(err)
		}
		ours, _, err := k.Encode(nil, raw)
		if err != nil {
			t.Errorf("%s, block %d: %v", chain, i, err)
			continue
		}
		if a := j.must(map[string]any{"op": "decode", "codecs": codecs, "n": len(raw), "stored": hex.EncodeToString(ours)}); a.Raw != hex.EncodeToString(raw) {
			t.Errorf("%s, block %d: numcodecs decodes other bytes", chain, i)
		}
		theirs := unhex(t, j.must(map[string]any{"op": "encode", "codecs": codecs, "raw": hex.EncodeToString(raw)}).Stored)
		dst := make([]byte, len(raw))
		if err := k.Decode(dst, theirs, 0); err != nil || !bytes.Equal(dst, raw) {
			t.Errorf("%s, block %d: what numcodecs encoded: %v", chain, i, err)
		}
		if same && !bytes.Equal(ours, theirs) {
			t.Errorf("%s, block %d: numcodecs encoded %d other bytes, ours are %d\n%.100x\n%.100x", chain, i, len(theirs), len(ours), theirs, ours)
		}
	}
}

func TestJudgeNumcodecsNumbers(t *testing.T) {
	j := startJudge(t, "judge_numcodecs.py")
	for kind, letter := range dtypeKinds {
		for _, size := range []uint32{1, 2, 4, 8} {
			for order := range uint32(2) {
				if kind == filters.Float && size < 4 {
					continue
				}
				typ := u(uint32(kind), size, order)
				t.Log(letter, size, order)
				if kind != filters.Float {
					checkCodecs(t, j, filters.Chain{{ID: filters.Delta, Params: typ}}, typedBlocks(int(size)), true)
				}
				ints := decimals("<>"[order:order+1]+"f4", 4)
				if kind == filters.Float && size == 8 {
					ints = decimals("<>"[order:order+1]+"f8", 8)
				} else if kind != filters.Float {
					ints = [][]byte{smallInts(int(size), order == 1)}
				}
				checkCodecs(t, j, scaleChain(typ, u(2, 1, 0), 1, -1), ints[:1], true)
				checkCodecs(t, j, scaleChain(typ, u(1, 4, order), 100, 0), ints[:1], true)
				checkCodecs(t, j, scaleChain(typ, u(1, 2, 1-order), 0.5, 100), [][]byte{make([]byte, 80)}, true)
			}
		}
	}
	for _, acceleration := range []uint32{1, 0, 1<<32 - 5, 9, 100000} {
		checkCodecs(t, j, filters.Chain{{ID: filters.NumcodecsLZ4, Params: u(acceleration)}}, pluginBlocks(), true)
	}
	checkCodecs(t, j, filters.Chain{{ID: filters.CRC32}}, pluginBlocks()[:4], true)
	checkCodecs(t, j, filters.Chain{{ID: filters.Adler32}}, pluginBlocks()[:4], true)
	for _, params := range [][]uint32{nil, u(1, 0, 0), u(1, 10, 1<<16, 4), u(1, 1, 0, 1, 8), u(2, 0, 0), u(3, 0, 0), u(3, 0, 1<<20, 2),
		u(1, 1<<32-1, 7), u(2, 1<<32-1, 1<<31|1), u(3, 1<<32-1, 10, 4)} {
		checkCodecs(t, j, filters.Chain{{ID: filters.LZMA, Params: params}}, pluginBlocks(), false)
	}
	// These need arrays of a type to encode.
	for _, c := range []struct {
		chain filters.Chain
		dtype string
		raw   []byte
	}{
		{filters.Chain{{ID: filters.PackBits}}, "?", bytes.Repeat([]byte{1, 0, 0, 1, 1}, 13)},
		{filters.Chain{{ID: filters.BitRound, Params: u(7, 3, 4, 0)}}, "<f4", decimals("<f4", 4)[2]},
		{filters.Chain{{ID: filters.BitRound, Params: u(0, 3, 8, 0)}}, "<f8", decimals("<f8", 8)[2]},
		{filters.Chain{{ID: filters.Quantize, Params: u(3, 3, 4, 1)}}, ">f4", decimals(">f4", 4)[2]},
		{filters.Chain{{ID: filters.Quantize, Params: u(12, 3, 8, 0)}}, "<f8", decimals("<f8", 8)[2]},
		{filters.Chain{{ID: filters.Quantize, Params: u(0, 3, 8, 0)}}, "<f8", decimals("<f8", 8)[2]},
		{filters.Chain{{ID: filters.Quantize, Params: u(^uint32(1), 3, 8, 1)}}, ">f8", decimals(">f8", 8)[2]},
	} {
		codecs, err := c.chain.Codecs(filters.Block{})
		if err != nil {
			t.Fatal(err)
		}
		theirs := unhex(t, j.must(map[string]any{"op": "encode", "codecs": codecs, "dtype": c.dtype, "raw": hex.EncodeToString(c.raw)}).Stored)
		ours, _, err := filtertest.Coder(t, c.chain).Encode(nil, c.raw)
		switch c.chain[0].ID {
		case filters.PackBits:
		default: // lossy: their result is what this package encodes
			if err == nil {
				t.Errorf("%s: loses digits", c.chain)
			}
			ours, _, err = filtertest.Coder(t, c.chain).Encode(nil, theirs)
		}
		if err != nil || !bytes.Equal(ours, theirs) {
			t.Errorf("%s: %v\n%.100x\n%.100x", c.chain, err, theirs, ours)
		}
	}
	gz := unhex(t, j.must(map[string]any{"op": "encode", "codecs": []any{map[string]any{"id": "gzip", "level": 1}}, "raw": raw40Hex}).Stored)
	dst := make([]byte, 40)
	if err := filtertest.Coder(t, filters.Chain{{ID: filters.Gzip}}).Decode(dst, gz, 0); err != nil || hex.EncodeToString(dst) != raw40Hex {
		t.Errorf("gzip: %v", err)
	}
}

func TestJudgeHDF5Szip(t *testing.T) {
	j := startJudge(t, "judge_hdf5.py")
	smooth := func(size int) []byte {
		e := wire.Elements{P: make([]byte, 1800*size), Size: size, Big: true}
		for i := range e.Len() {
			e.Set(i, uint64(100+i/7+i%3))
		}
		return e.P
	}
	zeros := make([]byte, 8*3000)
	zeros[8*1500] = 7
	for _, dtype := range []string{"u1", ">i2", "<i2", ">f4", ">f8"} {
		size := int(dtype[len(dtype)-1] - '0')
		for _, options := range []uint32{szipEntropy, szipNeighbour} {
			for _, block := range []uint32{2, 8, 10, 32} {
				blocks := [][]byte{smooth(size), zeros, filtertest.Field(1200), filtertest.Field(24000), filtertest.Mixed(24000, 1), filtertest.Noise(2400)[:80*size], make([]byte, 99*size)}
				checkTyped(t, j, typedCase{
					name: fmt.Sprintf("%s, options %d, blocks of %d", dtype, options, block), id: filters.Szip,
					given: u(options|szipK13|szipRaw, block), dtype: dtype, blocks: blocks, same: true, flags: 1,
				})
			}
		}
	}
}
