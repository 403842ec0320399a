package main

import (
	"fmt"
	"strings"

	"github.com/zeebo/xxh3"
)

// planned returns the records archive with a change of its plan.
func planned(old, new string) *archive {
	return with(records(), func(a *archive) { a.plan = swap(a.plan, old, new) })
}

// protected returns the records archive with parity in some groups, after a change.
func protected(groups int, change func(*archive)) *archive {
	return with(records(), func(a *archive) {
		a.parity = &layout{piece: 64, stripe: 4, groups: groups, parity: 4, parts: 1, share: 500}
		if groups > 1 {
			a.parity.parts = 2
		}
		change(a)
	})
}

// good returns archives that every reader restores.
func good() []vector {
	v := func(name, section, what string, a *archive) vector {
		return vector{name, what, image, ok, section, a}
	}
	const zstd = `[{"id":32015}]`
	return []vector{
		v("smallest", "1", "a file with nothing in it", smallest()),
		v("records", "D", "the example with records, padding and a mask", records()),
		v("viewed", "B", "a Zarr store", viewed()),
		v("zarr_fill", "B", "a Zarr store with a fill value", filled()),
		v("zarr_fill_type", "B", "a Zarr store with _FillValue of another type than its variable", store("_FillValue", ncInt, -5, "null", `"_FillValue":-5`)),
		v("consolidated", "B", "a Zarr store with consolidated metadata alone", consolidated()),
		v("pools", "7.6", "pools of fixed and record variables, and a chain of the header", pooled()),
		v("pools_single", "7.6", "a pool of one variable, of another shape", with(pooled(), func(a *archive) {
			a.plan = swap(a.plan, `"vars":[1,0],"type":"float","shape":[2,3],"block":[1,3],"chain":1}`,
				`"vars":[1],"type":"float","shape":[1,3],"block":[1,3],"chain":1},{"vars":[0],"type":"float","shape":[3],"block":[3],"chain":1}`)
			a.blocks[pool01].name = ".cdfz/pool/1/0"
			a.blocks[pool00].name = ".cdfz/pool/0/0.0"
			a.blocks[pool10].name, a.blocks[pool11].name = ".cdfz/pool/2/0", ".cdfz/pool/2/1"
		})),
		v("pools_first", "7", "pools precede vars", with(pooled(), func(a *archive) {
			cut := strings.Index(a.plan, `,"pools":`)
			a.plan = swap(a.plan[:cut]+"}", `"vars":[`, a.plan[cut+1:len(a.plan)-1]+`,"vars":[`)
		})),
		v("later_entry", "17", "an entry of a later version", with(records(), func(a *archive) { a.meta = append(a.meta, stored(".cdfz/later-1.bin", []byte("x"))) })),
		v("later_entry_viewed", "17", "an entry of a later version between Zarr metadata", with(viewed(), func(a *archive) {
			a.meta = append(a.meta[:2:2], append([]entry{deflated(".cdfz/later", "x")}, a.meta[2:]...)...)
		})),
		v("copies", "5.3", "second copies of plan and netCDF header", with(records(), func(a *archive) { a.copies = true })),
		v("copies_masked", "5.3", "second copies, and the block of the netCDF header leaves its filter out", with(smallest(), func(a *archive) {
			a.copies, a.blocks[0].data, a.blocks[0].raw, a.blocks[0].mask = true, a.image, a.image, 1
		})),
		v("later_entry_back", "17", "an entry of a later version before the manifest", with(records(), func(a *archive) {
			a.copies, a.back = true, []entry{stored(".cdfz/later", []byte("x"))}
		})),
		v("parity", "19", "parity of one group", protected(1, func(*archive) {})),
		v("parity_groups", "19.1", "parity of three groups, with checksums in two parts", protected(3, func(*archive) {})),
		v("parity_copies", "19", "parity after second copies", protected(1, func(a *archive) { a.copies = true })),
		v("unknown_members", "5.1", "members that the format does not name, in plan and manifest", with(planned(`"vars":[`, `"later":[{"a":null,"b":-1.5e3}],"vars":[`), func(a *archive) {
			a.manifest = func(m string) string { return swap(m, `"size"`, `"later":{},"size"`) }
		})),
		v("member_order", "5.1", "members in another order", with(planned(`"writer":"vectors",`, ``), func(a *archive) {
			a.plan = swap(a.plan, `"groups":[[1],[0,2]]`, `"groups":[[1],[0,2]],"writer":"vectors"`)
		})),
		v("json_space", "5.1", "space and escapes in JSON", planned(`"path":"a"`, "\"p\\u0061th\" :\t\"\\u0061\"\r\n")),
		v("no_name", "5.2", "the image has no name", with(records(), func(a *archive) { a.name = "" })),
		v("name_hex", "5.2", "the name of the image is not UTF-8", with(records(), func(a *archive) { a.name = `"name_hex":"782eff",` })),
		v("tree", "5.5", "the sum of pieces of an image with one piece", with(records(), func(a *archive) {
			piece := xxh3.Hash128(a.image).Bytes()
			sum := xxh3.Hash128(piece[:]).Bytes()
			a.manifest = func(m string) string { return swap(m, `"size"`, fmt.Sprintf(`"tree":"%x","size"`, sum)) }
		})),
		v("loss", "5.4", "values of a variable were rounded", with(records(), func(a *archive) {
			a.manifest = func(m string) string { return swap(m, `"size"`, lossOf(`{"var":0,"filter":52727,"params":[7,3,4,1]}`)) }
		})),
		v("name_path", "5.2", "the name of the image is a path, which is not to be used as one", with(records(), func(a *archive) { a.name = `"name":"../../x\u0000.nc",` })),
		v("path_number", "14.3", "a path made of the number, because the name has a slash", pathNumber()),
		v("deflate", "9.2", "deflate without shuffle", one(`[{"id":1,"params":[9]}]`, zlibStream(oneValues))),
		v("shuffle", "9.2", "shuffle with a size that does not divide the block", one(`[{"id":2,"params":[3]}]`, shuffle(oneValues, 3))),
		v("shuffle_1", "9.2", "shuffle with size 1", one(`[{"id":2,"params":[1]}]`, oneValues)),
		v("zstd_no_params", "9.3", "zstd without parameters", one(zstd, zstdFrame(oneValues))),
		v("zstd_window", "9.3", "a zstd frame with a window descriptor of 2^30 bytes, which means nothing",
			one(zstd, cat([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x80, 20 << 3, 8, 0, 0, 0}, zstdBlockHead(oneValues), oneValues))),
		v("three_filters", "9.1", "three filters in one chain", one(`[{"id":2,"params":[2]},{"id":1,"params":[6]},{"id":32015,"params":[3]}]`,
			zstdFrame(zlibStream(shuffle(oneValues, 2))))),
		v("mask_required", "9.1", "a mask that leaves out filters that are not optional", with(one(`[{"id":2,"params":[2]},{"id":32015}]`, oneValues), func(a *archive) { a.blocks[1].mask = 3 })),
		v("unknown_filter_masked", "9.1", "an unknown filter that every block leaves out", with(one(`[{"id":65000,"params":[1],"optional":true,"name":"later"}]`, oneValues), func(a *archive) { a.blocks[1].mask = 1 })),
		v("filter_params_masked", "9.1", "parameters that no filter allows, of one that every block leaves out", with(one(`[{"id":1,"params":[12],"optional":true}]`, oneValues), func(a *archive) { a.blocks[1].mask = 1 })),
		v("filter_params_masked_required", "9.1", "the same of a filter that is not optional", with(one(`[{"id":1,"params":[12]}]`, oneValues), func(a *archive) { a.blocks[1].mask = 1 })),
		v("unknown_filter_masked_required", "9.1", "an unknown filter that is not optional, and that every block leaves out", with(one(`[{"id":65000,"params":[1],"name":"later"}]`, oneValues), func(a *archive) { a.blocks[1].mask = 1 })),
		v("header_masked", "5.2", "the block of the netCDF header leaves its filter out", with(smallest(), func(a *archive) {
			a.blocks[0].raw, a.blocks[0].data, a.blocks[0].mask = a.image, a.image, 1
		})),
		v("rest_blocks", "8.2", "a rest in many blocks", restBlocks()),
	}
}

// pathNumber returns an archive with a variable called "v/w" at the path .cdfz/v/0.
func pathNumber() *archive {
	a := one(`[]`, oneValues)
	b := append([]byte("CDF\x01"), words(0, 0x0a, 1, "x", 8, 0, 0, 0x0b, 1, "v/w", 1, 0, 0, 0, ncByte, 8, 80)...)
	a.image = append(b, oneValues...)
	a.plan = swap(a.plan, `"path":"v"`, `"path":".cdfz/v/0"`)
	a.blocks = []entry{stored(".cdfz/rest/0", b), stored(".cdfz/v/0/0", oneValues)}
	return a
}

// restBlocks leaves all variables in the rest, in blocks of 20 bytes after the first 200.
func restBlocks() *archive {
	a := base()
	a.image = recordsImage()
	a.plan = `{"format":1,"features":[],"writer":"vectors","image":{"size":248,"header":200},"block":1024,` +
		`"chains":[[]],"rest":{"len":248,"first":200,"block":20,"chain":0},"vars":[],"groups":[]}`
	for i, from := 0, 0; from < 248; i++ {
		to := min(200+20*i, 248)
		a.blocks = append(a.blocks, stored(fmt.Sprintf(".cdfz/rest/%d", i), a.image[from:to]))
		a.number = append(a.number, i)
		from = to
	}
	return a
}
