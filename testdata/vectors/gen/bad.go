package main

import (
	"encoding/binary"
	"slices"
	"strings"
)

// bad returns archives with one fault each. Everything else is right, including
// checksums.
func bad() []vector {
	return slices.Concat(badEnd(), badManifest(), badIndex(), badPlan(), badPools(), badFilters(), badBlocks(), badEntries())
}

// lineField replaces characters of the end line.
func lineField(at int, text string) func(string) string {
	return func(line string) string { return line[:at] + text + line[at+len(text):] }
}

// put sets bytes at a place.
func put(at int, text string) func([]byte) {
	return func(b []byte) { copy(b[at:], text) }
}

func badEnd() []vector {
	v := func(name, what, reader string, change func(*archive)) vector {
		return vector{name, what, reader, damage, "4", with(records(), change)}
	}
	return []vector{
		v("end_line_crc", "the end line's own checksum is wrong", damage, func(a *archive) {
			a.file = func(b []byte) []byte { b[len(b)-2] ^= 1; return b }
		}),
		v("end_line_magic", "the end line begins with cdfx", damage, func(a *archive) { a.line = lineField(3, "x") }),
		{"end_line_later", "an end line of format 2", refuse, refuse, "4", with(records(), func(a *archive) { a.line = lineField(5, "2") })},
		v("end_line_later_crc", "the end line begins with cdfz 2, its own checksum is wrong", damage, func(a *archive) {
			a.file = func(b []byte) []byte { b[len(b)-109+5] = '2'; return b }
		}),
		v("end_line_case", "the end line has upper-case digits", damage, func(a *archive) {
			a.line = func(s string) string {
				return s[:16] + strings.ToUpper(s[16:32]) + strings.ReplaceAll(s[32:], "a", "A")
			}
		}),
		v("end_manifest_place", "the end line puts the manifest at byte 0", damage, func(a *archive) { a.line = lineField(16, "0000000000000000") }),
		v("end_manifest_crc", "the end line has another checksum of the manifest", damage, func(a *archive) { a.line = lineField(42, "00000000") }),
		v("end_index_beyond", "the end line puts the index beyond the end", damage, func(a *archive) { a.line = lineField(57, "7fffffffffffffff") }),
		v("end_index_crc", "the end line has another checksum of the index", image, func(a *archive) { a.line = lineField(91, "00000000") }),
		v("end_bytes_after", "a byte follows the end line", damage, func(a *archive) {
			a.file = func(b []byte) []byte { return append(b, 0) }
		}),
		v("end_cut", "the last 40 bytes are missing", damage, func(a *archive) {
			a.file = func(b []byte) []byte { return b[:len(b)-40] }
		}),
		v("end_record_count", "the end record has another number of entries", image, func(a *archive) { a.endRecord = put(8, "\x00") }),
		v("head_lost", "the first 42 bytes are zero", image, func(a *archive) {
			a.file = func(b []byte) []byte { clear(b[:42]); return b }
		}),
		{"not_an_archive", "neither head nor end line are those of an archive", refuse, refuse, "2.3", with(records(), func(a *archive) {
			a.file = func(b []byte) []byte { clear(b[:42]); clear(b[len(b)-109:]); return b }
		})},
	}
}

func badManifest() []vector {
	v := func(name, what, reader, old, new string) vector {
		return vector{name, what, reader, damage, "5", with(records(), func(a *archive) {
			a.manifest = func(m string) string { return swap(m, old, new) }
		})}
	}
	return []vector{
		v("manifest_size", "another size of the image", damage, `"size":248`, `"size":249`),
		v("manifest_blocks", "another number of blocks", damage, `"blocks":6`, `"blocks":5`),
		v("manifest_entries", "another number of entries", image, `"entries":9`, `"entries":10`),
		v("manifest_stored", "another sum of stored lengths", image, `"stored":`, `"stored":1`),
		v("manifest_sha256", "another SHA-256", damage, `"sha256":"`, `"sha256":"00000000`+strings.Repeat("0", 56)+`","x":"`),
		v("manifest_sha256_short", "a SHA-256 of 2 digits", damage, `"sha256":"`, `"sha256":"00","x":"`),
		v("manifest_tree_short", "a sum of pieces of 2 digits", damage, `"size":248`, `"tree":"00","size":248`),
		v("manifest_front_crc", "another checksum of the front", image, `"crc32":"`, `"crc32":"00000000","x":"`),
		{"manifest_plan_crc", "another checksum of the plan", damage, damage, "5", with(records(), func(a *archive) {
			a.manifest = func(m string) string {
				before, plan, _ := strings.Cut(m, `"plan":`)
				return before + `"plan":` + swap(plan, `"crc32":"`, `"crc32":"00000000","x":"`)
			}
		})},
		v("manifest_header_place", "the header's place is not that of the first block", damage, `"header":{"off":`, `"header":{"off":1`),
		v("manifest_member_twice", "a member twice", damage, `"size":248`, `"size":248,"size":248`),
		v("manifest_unknown_twice", "an unknown member twice", damage, `"size":248`, `"x":1,"x":1,"size":248`),
		v("manifest_member_missing", "a member is missing", damage, `"size":248`, `"x":248`),
		v("manifest_null", "a member is null", damage, `"size":248`, `"size":null`),
		v("manifest_fraction", "an integer is written with a fraction", damage, `"size":248`, `"size":248.0`),
		v("manifest_zero", "an integer is written with a leading zero", damage, `"size":248`, `"size":0248`),
		v("manifest_names", "name and name_hex", damage, `"size":248`, `"name_hex":"78","size":248`),
		v("manifest_not_utf8", "text that is not UTF-8", damage, `"name":"x.nc"`, "\"name\":\"\xff\""),
		v("manifest_surrogate", "an unpaired surrogate", damage, `"name":"x.nc"`, `"name":"\ud800"`),
		v("manifest_case", "a member in upper case", damage, `"size":248`, `"Size":248`),
		v("manifest_entries_few", "fewer entries than an archive can have", image, `"entries":9`, `"entries":3`),
		v("manifest_copies_zero", "second copies at byte 0", damage, `"size":248`, `"copies":{"plan":0,"header":0},"size":248`),
		v("manifest_loss_empty", "loss without variables", damage, `"size":248`, lossOf("")+`:248`),
		v("manifest_loss_order", "rounded variables in another order", damage, `"size":248`, lossOf(`{"var":1,"filter":52727},{"var":0,"filter":52727}`)+`:248`),
		v("manifest_loss_sha256", "loss without the SHA-256 of the source", damage, `"size":248`, `"loss":{"vars":[{"var":0,"filter":52727}]},"size":248`),
		v("manifest_loss_var", "a rounded variable that the header does not have", image, `"size":248`, lossOf(`{"var":9,"filter":52727}`)+`:248`),
		{"manifest_after", "a byte after the deflate stream of the manifest", damage, damage, "3.1", with(records(), func(a *archive) { a.afterMan = true })},
		{"manifest_not_deflated", "the manifest is stored", damage, damage, "3.1", with(records(), func(a *archive) { a.storedMan = true })},
	}
}

func badIndex() []vector {
	v := func(name, what, reader string, change func(*archive)) vector {
		return vector{name, what, reader, damage, "6", with(records(), change)}
	}
	sealed := func(at int, text string) func(*archive) {
		return func(a *archive) { a.index = func(b []byte) { put(at, text)(b); sealIndex(b) } }
	}
	rows := func(f func([]row)) func(*archive) { return func(a *archive) { a.rows = f } }
	return []vector{
		v("index_magic", "another magic", damage, sealed(0, "CDFZ")),
		v("index_header_crc", "another checksum of the header", damage, func(a *archive) { a.index = put(28, "\x00\x00\x00\x00") }),
		v("index_rows", "another number of rows", damage, sealed(8, "\x07")),
		v("index_page_rows", "another number of rows per page", damage, sealed(16, "\x80\x00")),
		v("index_page_crc", "another checksum of a page", damage, func(a *archive) { a.index = put(32, "\x00\x00\x00\x00") }),
		v("index_page_number", "another number of a page", damage, sealed(36, "\x01")),
		v("index_row_beyond", "a row's place is beyond the end", damage, rows(func(r []row) { r[0].off = 1 << 40 })),
		v("index_row_negative", "a row's place is 2^63", damage, rows(func(r []row) { r[0].off = -1 << 63 })),
		v("index_row_place", "a row's place is that of another block", damage, rows(func(r []row) { r[0].off = r[1].off })),
		v("index_row_crc", "a row has another checksum", damage, rows(func(r []row) { r[0].crc ^= 1 })),
		v("index_row_header", "the row of .cdfz/rest/0 has another checksum", image, rows(func(r []row) { r[len(r)-2].crc ^= 1 })),
		v("index_row_mask", "a row has another mask", damage, rows(func(r []row) { r[1].mask = 0 })),
	}
}

func badPlan() []vector {
	v := func(name, what, section, reader, verifier, old, new string) vector {
		return vector{name, what, reader, verifier, section, planned(old, new)}
	}
	d := func(name, what, section, old, new string) vector {
		return v(name, what, section, damage, damage, old, new)
	}
	return []vector{
		v("plan_format", "format 2", "7.1", refuse, refuse, `"format":1`, `"format":2`),
		v("plan_format_later", "format 2, whose other members are unknown", "7.1", refuse, refuse, `"format":1,"features":[],"writer":"vectors"`, `"format":2,"writer":3,"features":null`),
		v("plan_format_rest", "format 2, and what follows is no JSON, with a member twice", "7.1", refuse, refuse, `"format":1,"features":[],`, `"format":2,"x":"\xff","x":-,"features":[],`),
		v("plan_feature_twice", "an unknown feature, and a member twice", "7.1", refuse, refuse, `"features":[],`, `"features":["x"],"writer":"",`),
		v("plan_feature", "an unknown feature", "7.1", refuse, refuse, `"features":[]`, `"features":["x"]`),
		d("plan_format_second", "format is not the first member", "7", `"format":1,"features":[]`, `"features":[],"format":1`),
		d("plan_zarr_first", "format is not the first member that this page names", "7", `"format":1,`, `"zarr":"viewed","format":1,`),
		d("plan_minus", "an integer with a sign", "5.1", `"stride":0`, `"stride":-0`),
		d("plan_member_twice", "a member twice", "5.1", `"writer":"vectors"`, `"writer":"vectors","writer":"vectors"`),
		d("plan_member_missing", "a member is missing", "5.1", `"groups"`, `"x"`),
		d("plan_null", "a member is null", "5.1", `"params":[3]`, `"params":null`),
		d("plan_negative", "a negative number", "5.1", `"stride":12`, `"stride":-12`),
		d("plan_zarr", "an unknown Zarr view", "7.5", `"writer":"vectors"`, `"writer":"vectors","zarr":"pooled"`),
		d("plan_groups_first", "groups precede vars", "7", `"vars":[`, `"groups":[[1],[0,2]],"vars":[`),
		d("plan_group_empty", "an empty group", "7.1", `[[1],[0,2]]`, `[[1],[],[0,2]]`),
		d("plan_group_twice", "a variable in two groups", "7.1", `[[1],[0,2]]`, `[[1],[0,1,2]]`),
		d("plan_group_missing", "a variable in no group", "7.1", `[[1],[0,2]]`, `[[1],[0]]`),
		d("plan_chain", "a chain that is not there", "7.4", `"block":[2,3],"chain":1`, `"block":[2,3],"chain":3`),
		d("plan_chain_long", "a chain of 33 filters", "7.2", `[]],"rest"`, `[],[`+strings.Repeat(`{"id":3},`, 32)+`{"id":3}]],"rest"`),
		d("plan_rest_len", "another length of the rest", "7.4", `"rest":{"len":215`, `"rest":{"len":216`),
		d("plan_rest_first", "block 0 of the rest ends within the header", "7.3", `"first":200`, `"first":199`),
		d("plan_rest_block", "further blocks of the rest have no bytes", "7.3", `"block":1024,"chain":0`, `"block":0,"chain":0`),
		d("plan_image_size", "an image of another size", "7.4", `"size":248`, `"size":252`),
		d("plan_header_len", "another length of the netCDF header", "7.1", `"header":200`, `"header":196`),
		d("plan_var_order", "variables out of order", "7.4", `"var":1`, `"var":4`),
		d("plan_var_twice", "two variables with one number", "7.4", `"var":1`, `"var":0`),
		d("plan_var_beyond", "a variable that the header does not have", "7.4", `"var":3`, `"var":4`),
		d("plan_var_other", "the number of another variable", "7.4", `"var":1`, `"var":2`),
		d("plan_type_unknown", "an unknown type", "7.4", `"type":"short"`, `"type":"half"`),
		d("plan_type", "another type than in the header", "7.4", `"type":"short"`, `"type":"ushort"`),
		d("plan_shape", "another shape than in the header", "7.4", `"shape":[3,3],"block":[2,3]`, `"shape":[9,1],"block":[6,1]`),
		d("plan_rank", "a block shape of another rank", "7.4", `"block":[2,3]`, `"block":[2,3,1]`),
		d("plan_block_zero", "a block shape with 0", "8.1", `"block":[2,3]`, `"block":[0,3]`),
		d("plan_block_long", "a block shape that exceeds the shape", "8.1", `"block":[2,3]`, `"block":[4,3]`),
		d("plan_block_box", "a block shape whose bytes are no run", "8.1", `"block":[2,3]`, `"block":[2,2]`),
		d("plan_path_parent", "a path that leads out of the archive", "3.2", `"path":"a"`, `"path":"../a"`),
		d("plan_path_absolute", "an absolute path", "3.2", `"path":"a"`, `"path":"/a"`),
		d("plan_path_number", "the path of another number", "3.2", `"path":"a"`, `"path":".cdfz/v/1"`),
		d("plan_segment_header", "a segment within the header", "10.2", `"off":200,"len":3`, `"off":190,"len":3`),
		d("plan_segment_beyond", "a segment that ends beyond the image", "10.2", `"off":200,"len":3`, `"off":246,"len":3`),
		d("plan_segment_overlap", "segments that overlap", "10.2", `"off":220,"len":4`, `"off":216,"len":4`),
		d("plan_segment_stride", "records with two strides", "10.2", `"off":220,"len":4,"stride":12`, `"off":220,"len":4,"stride":13`),
		d("plan_segment_other", "a segment elsewhere than the header has the variable", "7.4", `"off":200,"len":3`, `"off":204,"len":3`),
		d("plan_segment_record", "a segment elsewhere in the record than the header has the variable", "7.4", `"off":220,"len":4`, `"off":218,"len":4`),
		d("plan_view", "an unknown reason not to be in the view", "7.4", `"stride":12,"count":3}}`, `"stride":12,"count":3},"view":"other"}`),
		{"plan_view_pooled", "a reason not to be in a view that the archive does not have", image, damage, "7.4",
			planned(`"stride":12,"count":3}}`, `"stride":12,"count":3},"view":"no-codec"}`)},
		{"plan_codec", "the codec of another filter", image, damage, "7.2", planned(`"params":[6],`, `"params":[6],"codec":{"id":"bz2","level":6},`)},
		{"plan_path_other", "a path made of the number, which the name does not need", image, damage, "14.3", with(planned(`"path":"a"`, `"path":".cdfz/v/0"`), func(a *archive) {
			a.blocks[a0].name, a.blocks[a1].name = ".cdfz/v/0/0.0", ".cdfz/v/0/1.0"
		})},
		{"plan_after", "a byte after the deflate stream of the plan", damage, damage, "3.1", with(records(), func(a *archive) {
			a.front = func(f []entry) []entry { f[0].data = append(f[0].data, 0); return f }
		})},
		{"plan_not_deflated", "the plan is stored", damage, damage, "3.1", with(records(), func(a *archive) {
			a.front = func(f []entry) []entry { f[0] = stored(".cdfz/plan.json", []byte(a.plan)); return f }
		})},
	}
}

func badFilters() []vector {
	v := func(name, what, section, chain string, block []byte) vector {
		return vector{name, what, damage, damage, section, one(chain, block)}
	}
	const zlib, zstd = `[{"id":1,"params":[6]}]`, `[{"id":32015}]`
	frame := zstdFrame(oneValues)
	// zstdHead is a frame with another header before the block.
	zstdHead := func(head ...byte) []byte {
		return cat([]byte{0x28, 0xb5, 0x2f, 0xfd}, head, zstdBlockHead(oneValues), oneValues)
	}
	adler := zlibStream(oneValues)
	adler[len(adler)-1] ^= 1
	preset := zlibStream(oneValues)
	preset = cat([]byte{0x78, 0x20 | 0x1b}, []byte{0, 0, 0, 1}, preset[2:])
	preset[1] = 0x20
	for binary.BigEndian.Uint16(preset)%31 != 0 {
		preset[1]++
	}
	return []vector{
		{"filter_unknown", "an unknown filter", refuse, refuse, "9.1", one(`[{"id":65000}]`, oneValues)},
		v("filter_id", "a filter id above 65535", "9.2", `[{"id":65536}]`, oneValues),
		v("zstd_checksum", "a zstd frame with a checksum", "9.3", zstd, append(zstdHead(0x24, 8), 0, 0, 0, 0)),
		v("zstd_no_size", "a zstd frame without content size", "9.3", zstd, zstdHead(0, 0x50)),
		v("zstd_dictionary", "a zstd frame with dictionary id 0", "9.3", zstd, zstdHead(0x21, 0, 8)),
		v("zstd_two_frames", "two zstd frames", "9.3", zstd, cat(zstdFrame(oneValues[:4]), zstdFrame(oneValues[4:]))),
		v("zstd_skippable", "a skippable frame before the zstd frame", "9.3", zstd, cat([]byte{0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0}, frame)),
		v("zstd_after", "a byte after the zstd frame", "9.3", zstd, append(frame[:len(frame):len(frame)], 0)),
		v("zstd_cut", "a zstd frame that is cut off", "9.3", zstd, frame[:len(frame)-1]),
		v("zstd_longer", "a zstd frame of 9 bytes for a block of 8", "9.1", zstd, zstdFrame([]byte("ABCDEFGHI"))),
		v("zstd_shorter", "a zstd frame of 7 bytes for a block of 8", "9.1", zstd, zstdFrame(oneValues[:7])),
		v("zstd_level", "level 23", "9.2", `[{"id":32015,"params":[23]}]`, frame),
		v("zstd_params", "two parameters", "9.2", `[{"id":32015,"params":[3,3]}]`, frame),
		v("deflate_adler", "a zlib stream with another checksum", "9.2", zlib, adler),
		v("deflate_after", "a byte after the zlib stream", "9.1", zlib, append(zlibStream(oneValues), 0)),
		v("deflate_dictionary", "a zlib stream with a preset dictionary", "9.2", zlib, preset),
		v("deflate_raw", "a deflate stream without a zlib header", "9.2", zlib, rawDeflate(oneValues)),
		v("deflate_level", "level 10", "9.2", `[{"id":1,"params":[10]}]`, zlibStream(oneValues)),
		v("deflate_no_level", "no level", "9.2", `[{"id":1}]`, zlibStream(oneValues)),
		{"lz4_end", "an LZ4 block whose last sequence has 2 literals", damage, damage, "9.2", with(one(`[{"id":32004}]`,
			[]byte("\x00\x00\x00\x00\x00\x00\x00\x08\x00\x00\x00\x08\x00\x00\x00\x07\x11A\x01\x00\x20AA")), func(a *archive) {
			copy(a.image[80:], "AAAAAAAA")
		})},
		v("shuffle_no_size", "shuffle without a size", "9.2", `[{"id":2}]`, oneValues),
		v("shuffle_zero", "shuffle with size 0", "9.2", `[{"id":2,"params":[0]}]`, oneValues),
		v("block_longer", "9 bytes for a block of 8 without filters", "9.1", `[]`, []byte("ABCDEFGHI")),
		v("block_shorter", "7 bytes for a block of 8 without filters", "9.1", `[]`, oneValues[:7]),
	}
}

func badBlocks() []vector {
	v := func(name, what, section, reader string, a *archive) vector {
		return vector{name, what, reader, damage, section, a}
	}
	return []vector{
		v("block_bit", "a bit of a block's stored bytes is wrong", "9.1", damage, with(records(), func(a *archive) {
			a.blocks[t0].data = append([]byte{0x80}, a.blocks[t0].data[1:]...)
			a.file = nil
			crc := crcOf(a.blocks[t0].raw)
			a.rows = func(r []row) { r[3].crc = crc }
		})),
		v("block_padding", "the padding of a block is zero", "15.2", image, with(records(), func(a *archive) {
			b := append([]byte{}, records().image[212+24:][:6]...)
			b = shuffle(append(b, 0, 0, 0, 0, 0, 0), 2)
			a.blocks[a1].raw, a.blocks[a1].data = b, b
		})),
		v("mask_beyond", "a mask with a bit beyond the chain", "9.1", damage, with(records(), func(a *archive) { a.blocks[a1].mask = 6 })),
		v("header_magic", "the first block is not a netCDF header", "7.1", damage, with(smallest(), func(a *archive) {
			a.image[3] = 9
			b := zstdFrame(a.image)
			a.blocks[0].raw, a.blocks[0].data = b, b
		})),
		v("image_other", "the image has another SHA-256 than the manifest", "5.2", damage, with(records(), func(a *archive) {
			a.image = append([]byte{}, a.image...)
			a.image[0] = 'c'
		})),
	}
}

func badEntries() []vector {
	v := func(name, what, section string, a *archive) vector {
		return vector{name, what, image, damage, section, a}
	}
	front := func(a *archive, f func([]entry) []entry) *archive {
		a.front = f
		return a
	}
	insert := func(a *archive, at int, e ...entry) *archive {
		return front(a, func(f []entry) []entry { return slices.Insert(f, at, e...) })
	}
	return []vector{
		v("local_date", "a local header with another date", "14.2", with(records(), func(a *archive) { a.blocks[t0].local = put(12, "\x22") })),
		v("local_version", "a local header with another version needed", "14.2", with(records(), func(a *archive) { a.blocks[t0].local = put(4, "\x14") })),
		v("local_crc", "a local header with another checksum", "14.2", with(records(), func(a *archive) { a.blocks[t0].local = put(14, "\x00\x00\x00\x00") })),
		v("local_name", "a local header with another name", "14.3", with(records(), func(a *archive) { a.blocks[t0].local = put(30, "u") })),
		v("local_mask", "a local header with another mask", "14.2", with(records(), func(a *archive) { a.blocks[a1].local = put(39, "\x01") })),
		v("local_flags", "a local header with the flag of a data descriptor", "14.2", with(records(), func(a *archive) { a.blocks[t0].local = put(6, "\x08") })),
		v("gap", "a byte between two entries", "14.1", with(records(), func(a *archive) { a.blocks[t0].before = []byte{0} })),
		v("directory_date", "a directory record with another date", "14.2", with(records(), func(a *archive) { a.blocks[t0].record = put(14, "\x22") })),
		v("directory_order", "the directory in another order", "14.1", with(records(), func(a *archive) {
			a.directory = func(e []entry) []entry { e[2], e[3] = e[3], e[2]; return e }
		})),
		v("directory_missing", "an entry that the directory does not have", "14.1", with(records(), func(a *archive) {
			a.directory = func(e []entry) []entry { return slices.Delete(e, 3, 4) }
		})),
		v("blocks_order", "blocks in another order", "14.4", with(records(), func(a *archive) {
			a.blocks[n0], a.blocks[a0] = a.blocks[a0], a.blocks[n0]
			a.number[n0], a.number[a0] = a.number[a0], a.number[n0]
		})),
		v("entry_outside", "an entry that no variable explains", "14.4", insert(records(), 1, stored("other", nil))),
		v("entry_parent", "an entry whose name leads out of a folder", "14.4", insert(records(), 1, stored("../x", nil))),
		v("entry_block_name", "an entry that looks like a block", "17", insert(records(), 1, stored(".cdfz/v/1/0", nil))),
		v("later_twice", "an entry of a later version twice", "17", insert(records(), 1, stored(".cdfz/x", nil), stored(".cdfz/x", nil))),
		v("later_crc", "an entry of a later version with another checksum", "17", insert(records(), 1, entry{name: ".cdfz/x", raw: []byte("x"), data: []byte("y")})),
		v("zarr_pooled", "Zarr metadata in a pooled archive", "B", insert(records(), 1, deflated(".zgroup", `{"zarr_format":2}`))),
		v("zarr_missing", "no .zmetadata", "B", front(viewed(), func(f []entry) []entry { return f[:len(f)-1] })),
		v("zarr_twice", ".zgroup twice", "B", insert(viewed(), 2, deflated(".zgroup", `{"zarr_format":2}`))),
		v("zarr_order", "Zarr metadata out of order", "B", front(viewed(), func(f []entry) []entry { f[1], f[2] = f[2], f[1]; return f })),
		v("zarr_consolidated_array", "a .zarray in a consolidated archive", "B", front(consolidated(), func(f []entry) []entry { return slices.Insert(f, 3, viewed().meta[2]) })),
		v("zarr_consolidated_missing", "no .zattrs in a consolidated archive", "B", front(consolidated(), func(f []entry) []entry { return slices.Delete(f, 3, 4) })),
		v("zarr_stored", "Zarr metadata that are stored", "B", front(viewed(), func(f []entry) []entry { f[1] = stored(".zgroup", f[1].raw); return f })),
		v("zarr_after", "a byte after the deflate stream of Zarr metadata", "B", front(viewed(), func(f []entry) []entry { f[1].data = append(f[1].data, 0); return f })),
		v("zarr_fill_null", "a Zarr store without the fill value of its variable", "B", store("_FillValue", ncShort, -2<<16, "null", `"_FillValue":-2`)),
		v("zarr_fill_other", "a Zarr store with another fill value than its variable", "B", store("_FillValue", ncShort, -2<<16, "-1", `"_FillValue":-2`)),
		v("zarr_fill_invented", "a Zarr store with a fill value that its variable does not have", "B", store("valid_min", ncInt, -5, "0", `"valid_min":-5`)),
		v("zarr_fill_type", "a Zarr store with a fill value of another type than its variable", "B", store("_FillValue", ncInt, -5, "-5", `"_FillValue":-5`)),
		v("zarr_other", "an attribute that the netCDF header does not have", "B", front(viewed(), func(f []entry) []entry { f[2] = deflated(".zattrs", `{"title":"abd"}`); return f })),
	}
}
