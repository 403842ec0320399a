package main

import (
	"encoding/binary"
	"encoding/hex"
	"hash/adler32"
	"slices"
	"strings"
)

// zlibSqueezed is zlibStream with a compressed deflate stream.
func zlibSqueezed(b []byte) []byte {
	return binary.BigEndian.AppendUint32(append([]byte{0x78, 0x9c}, squeezed(b)...), adler32.Checksum(b))
}

// ofBytes returns an archive of a file with one variable, v(x) of bytes, encoded with a chain.
func ofBytes(values []byte, chain string, block []byte) *archive {
	n := len(values)
	header := headerOf(1, length(0), dimensions, length(1), name("x"), length(n), absent, length(0),
		variables, length(1), name("v"), length(1), length(0), absent, length(0), tag(ncByte), length(n), place(80))
	v := fixed(0, "v", "byte", []int{n}, 80, values)
	v.blocks = []entry{stored("v/0", block)}
	a := split(header, values, nil, v)
	a.plan = swap(swap(a.plan, `"chains":[[]]`, `"chains":[[],`+chain+`]`), `"chain":0,"segment"`, `"chain":1,"segment"`)
	return a
}

// goodChains are blocks that are compressed, and parameters at their bounds.
func goodChains() []vector {
	v := func(name, section, what string, a *archive) vector {
		return vector{name, what, image, ok, section, a}
	}
	text := []byte("aeibfeicgkjcgkedhaeihbfjcbfjdhgkdhaaeibfeicgkjcgkedhaeihbfjcbfjd")
	// What zstd 1.5.7 -19 --no-check writes for the text.
	frame, err := hex.DecodeString("28b52ffd20405d010034026165696266656963676b6a63676b6564686165696862666a6362666a6468676b646861010033b77a02")
	if err != nil {
		panic(err)
	}
	const zstd = `[{"id":32015,"params":[19]}]`
	zeros := make([]byte, 300)
	raw := append([]byte{0}, oneValues...)
	return []vector{
		v("deflate_compressed", "9.2", "a zlib stream with matches", ofBytes(text, `[{"id":1,"params":[6]}]`, zlibSqueezed(text))),
		v("deflate_level_0", "9.2", "a zlib stream of two uncompressed blocks, level 0", one(`[{"id":1,"params":[0]}]`,
			binary.BigEndian.AppendUint32(slices.Concat([]byte{0x78, 0x01}, []byte{0, 3, 0, 0xfc, 0xff}, oneValues[:3], rawDeflate(oneValues[3:])), adler32.Checksum(oneValues)))),
		v("deflate_shuffled", "9.1", "shuffle and a zlib stream with matches", ofBytes(text, `[{"id":2,"params":[4]},{"id":1,"params":[9]}]`, zlibSqueezed(shuffle(text, 4)))),
		v("shuffle_long", "9.2", "shuffle with a size beyond the block, which changes nothing", one(`[{"id":2,"params":[9]}]`, oneValues)),
		v("shuffle_longest", "9.2", "shuffle with size 2^32 - 1", one(`[{"id":2,"params":[4294967295]}]`, oneValues)),
		v("zstd_compressed", "9.3", "a zstd frame with a compressed block", ofBytes(text, zstd, frame)),
		v("zstd_equal", "9.3", "a zstd frame with a block of equal bytes and a content size of 2 bytes", ofBytes(zeros, zstd,
			[]byte{0x28, 0xb5, 0x2f, 0xfd, 0x60, 44, 0, 300<<3&0xff | 3, 300 << 3 >> 8, 0, 0})),
		v("zstd_blocks", "9.3", "a zstd frame of two blocks", one(zstd, slices.Concat([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x20, 8, 3 << 3, 0, 0}, oneValues[:3],
			zstdBlockHead(oneValues[3:]), oneValues[3:]))),
		v("zstd_size_8", "9.3", "a zstd frame with a content size of 8 bytes", one(zstd, slices.Concat([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 8, 0, 0, 0, 0, 0, 0, 0},
			zstdBlockHead(oneValues), oneValues))),
		v("zstd_level_least", "9.2", "level -131072", one(`[{"id":32015,"params":[4294836224]}]`, zstdFrame(oneValues))),
		v("zstd_level_most", "9.2", "level 22", one(`[{"id":32015,"params":[22]}]`, zstdFrame(oneValues))),
		v("lorenz", "9.2", "lorenz without an effort", one(`[{"id":52723,"params":[1,7,0,1,8]}]`, raw)),
		v("lorenz_effort", "9.2", "lorenz with the effort 2 of a stack", one(`[{"id":52723,"params":[1,7,0,1,8,6]}]`, raw)),
		v("lorenz_scalar", "9.2", "lorenz without dimensions", one(`[{"id":52723,"params":[1,10,0,0]}]`, raw)),
		v("lorenz_constant", "9.2", "a block of equal bytes that lorenz encoded, little-endian shorts", ofBytes([]byte("abababab"),
			`[{"id":52723,"params":[1,3,1,2,2,2,0]}]`, []byte("\x01ab"))),
	}
}

// badChains are filters with parameters or bytes that are not allowed, where a reader that misses it
// decodes the block.
func badChains() []vector {
	v := func(name, what, section, chain string, block []byte) vector {
		return vector{name, what, damage, damage, section, one(chain, block)}
	}
	lorenz := func(name, what, params string) vector {
		return v("lorenz_"+name, what, "9.2", `[{"id":52723,"params":[`+params+`]}]`, append([]byte{0}, oneValues...))
	}
	const zstd = `[{"id":32015}]`
	frame := zstdFrame(oneValues)
	head := []byte{0x28, 0xb5, 0x2f, 0xfd}
	// reserved is a frame whose block has the reserved type.
	reserved := slices.Clone(frame)
	reserved[6] |= 3 << 1
	zeros := ofBytes(make([]byte, 8), zstd, zstdFrame(make([]byte, 7)))
	size := slices.Clone(frame)
	size[5] = 7
	return []vector{
		v("deflate_level_negative", "level 2^32 - 1", "9.2", `[{"id":1,"params":[4294967295]}]`, zlibStream(oneValues)),
		v("deflate_levels", "two parameters", "9.2", `[{"id":1,"params":[6,6]}]`, zlibStream(oneValues)),
		v("deflate_cut", "a zlib stream without its checksum", "9.2", `[{"id":1,"params":[6]}]`, zlibStream(oneValues)[:len(zlibStream(oneValues))-4]),
		v("deflate_method", "a zlib stream of another method", "9.2", `[{"id":1,"params":[6]}]`, append([]byte{0x77, 0x07}, zlibStream(oneValues)[2:]...)),
		v("deflate_longer", "a zlib stream of 9 bytes for a block of 8", "9.1", `[{"id":1,"params":[6]}]`, zlibStream([]byte("ABCDEFGHI"))),
		v("deflate_shorter", "a zlib stream of 7 bytes for a block of 8", "9.1", `[{"id":1,"params":[6]}]`, zlibStream(oneValues[:7])),
		v("shuffle_sizes", "two parameters", "9.2", `[{"id":2,"params":[2,2]}]`, oneValues),
		v("shuffle_longer", "9 bytes for a block of 8", "9.1", `[{"id":2,"params":[2]}]`, []byte("ABCDEFGHI")),
		v("zstd_level_low", "level -131073", "9.2", `[{"id":32015,"params":[4294836223]}]`, frame),
		v("zstd_short", "3 bytes", "9.3", zstd, frame[:3]),
		v("zstd_size_cut", "a frame header that ends within the content size", "9.3", zstd, slices.Concat(head, []byte{0xe0, 8})),
		v("zstd_head_cut", "a frame that ends within the header of a block", "9.3", zstd, frame[:8]),
		v("zstd_block_cut", "a frame without its last block", "9.3", zstd, slices.Concat(head, []byte{0x20, 8, 8 << 3, 0, 0}, oneValues)),
		v("zstd_reserved", "a block of the reserved type", "9.3", zstd, reserved),
		v("zstd_magic", "another magic number", "9.3", zstd, append([]byte{0x27}, frame[1:]...)),
		v("zstd_size", "a content size of 7 bytes for a frame of 8", "9.3", zstd, size),
		v("zstd_checksum_right", "a zstd frame with a checksum, which is right", "9.3", zstd, slices.Concat(head, []byte{0x24, 8}, zstdBlockHead(oneValues), oneValues, []byte{0xfe, 0x2e, 0xc9, 0xe8})),
		v("zstd_skippable_after", "a skippable frame after the zstd frame", "9.3", zstd, slices.Concat(frame, []byte{0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0})),
		{"zstd_shorter_zeros", "a zstd frame of 7 zeros for a block of 8", damage, damage, "9.1", zeros},
		lorenz("none", "no parameters", ""),
		lorenz("few", "three parameters", "1,7,0"),
		lorenz("version", "version 2", "2,7,0,1,8"),
		lorenz("type_zero", "element type 0", "1,0,0,1,8"),
		lorenz("type", "element type 12", "1,12,0,1,8"),
		lorenz("type_large", "element type 263", "1,263,0,1,8"),
		lorenz("order", "byte order 2", "1,7,2,1,8"),
		lorenz("order_large", "byte order 256", "1,7,256,1,8"),
		lorenz("dimensions", "three dimensions, of which one is there", "1,7,0,3,8"),
		lorenz("dimensions_more", "two parameters after the dimensions", "1,7,0,1,8,0,0"),
		lorenz("dimensions_large", "2^32 - 1 dimensions", "1,7,0,4294967295,8"),
		lorenz("dimension", "a dimension of 2^30 + 1", "1,7,0,2,1073741825,0"),
		lorenz("bytes", "2^32 elements", "1,7,0,2,65536,65536"),
		lorenz("effort", "effort 3", "1,7,0,1,8,3"),
		lorenz("effort_stack", "effort 7", "1,7,0,1,8,7"),
		lorenz("effort_large", "effort 8", "1,7,0,1,8,8"),
		lorenz("shape", "a shape of 7 bytes for a block of 8", "1,7,0,1,7"),
		lorenz("shape_longer", "a shape of 9 bytes for a block of 8", "1,7,0,1,9"),
		v("lorenz_block", "a block of a mode that is not there", "9.2", `[{"id":52723,"params":[1,7,0,1,8]}]`, append([]byte{99}, oneValues...)),
		{"header_chain", "the chain of the header has wrong parameters", damage, damage, "9.1", with(smallest(), func(a *archive) {
			a.plan = swap(a.plan, `"params":[3]`, `"params":[23]`)
		})},
		{"header_filter", "the chain of the header has an unknown filter", refuse, refuse, "9.1", with(smallest(), func(a *archive) {
			a.plan = swap(a.plan, `{"id":32015,"params":[3]}`, `{"id":65000}`)
		})},
		{"header_block_longer", "the block of the netCDF header leaves its filter out and has a byte too many", damage, damage, "9.1", with(smallest(), func(a *archive) {
			b := append(a.image[:32:32], 0)
			a.blocks[0].raw, a.blocks[0].data, a.blocks[0].mask = b, b, 1
		})},
		{"header_mask", "the mask of the netCDF header has a bit beyond the chain", damage, damage, "9.1", with(smallest(), func(a *archive) {
			a.blocks[0].raw, a.blocks[0].data, a.blocks[0].mask = a.image, a.image, 3
		})},
		{"header_slack", "the plan's header is 4 bytes shorter than the netCDF header", damage, damage, "7", with(whole(headerOf(1, length(0), absent, length(0), absent, length(0), absent, length(0)), []byte("data")), func(a *archive) {
			a.plan = swap(a.plan, `"header":32`, `"header":28`)
		})},
		{"filter_chain_longer", "a filter gives more bytes than the bound between filters", damage, damage, "9.1", one(`[{"id":2,"params":[1]},{"id":1,"params":[6]}]`,
			zlibSqueezed([]byte(strings.Repeat("A", 2*8+65537))))},
	}
}
