package main

import (
	"fmt"
	"slices"
	"strings"
)

// badClaims are archives whose end, manifest, index or plan claims something that contradicts another
// part or breaks a rule, where a reader that misses it restores an image.
func badClaims() []vector {
	return slices.Concat(claimsOfEnd(), claimsOfManifest(), claimsOfIndex(), claimsOfPlan())
}

func claimsOfEnd() []vector {
	v := func(name, what, section string, change func(*archive)) vector {
		return vector{name, what, damage, damage, section, with(records(), change)}
	}
	return []vector{
		v("end_short", "the file ends after 100 bytes", "4", func(a *archive) { a.file = func(b []byte) []byte { return b[:100] } }),
		v("end_manifest_before", "the end line puts the manifest before byte 0", "4", func(a *archive) {
			a.line = func(s string) string {
				var n int
				fmt.Sscanf(s[33:41], "%x", &n)
				return s[:16] + fmt.Sprintf("%016x", uint64(1<<64-10)) + s[32:57] + fmt.Sprintf("%016x", 49-10+n) + s[73:]
			}
		}),
		v("end_index_gap", "a byte between manifest and index", "4", func(a *archive) { a.gap = 1 }),
		v("end_index_long", "the end line has 20 more bytes of the index", "6", func(a *archive) {
			a.line = func(s string) string {
				var n int
				fmt.Sscanf(s[74:90], "%x", &n)
				return s[:74] + fmt.Sprintf("%016x", n+20) + s[90:]
			}
		}),
		v("end_index_none", "the end line has an index of no bytes", "6", func(a *archive) { a.line = lineField(74, "0000000000000000") }),
	}
}

func claimsOfManifest() []vector {
	changed := func(name, what, section string, a *archive, change func(string) string) vector {
		a.manifest = change
		return vector{name, what, damage, damage, section, a}
	}
	v := func(name, what, section, old, new string) vector {
		return changed(name, what, section, records(), func(m string) string { return swap(m, old, new) })
	}
	// after replaces a text after another one.
	after := func(start, old, new string) func(string) string {
		return func(m string) string {
			before, rest, found := strings.Cut(m, start)
			if !found {
				panic(start)
			}
			return before + start + swap(rest, old, new)
		}
	}
	many := func(n int) (out string) {
		for i := range n {
			out += fmt.Sprintf(`"x%d":0,`, i)
		}
		return out
	}
	// place returns the place of a copy in a manifest.
	copied := func(m, which string) (off string) {
		_, rest, _ := strings.Cut(m, `"copies":`)
		_, rest, _ = strings.Cut(rest, `"`+which+`":`)
		return rest[:strings.IndexAny(rest, ",}")]
	}
	digits := func(s string) int { return strings.IndexAny(s, ",}") }
	// moved has the place of a second copy instead of the first, and does not name the copies.
	moved := func(which string) func(string) string {
		return func(m string) string {
			before, rest, _ := strings.Cut(m, `"`+which+`":{"off":`)
			return swap(before+`"`+which+`":{"off":`+copied(m, which)+rest[digits(rest):], `"copies"`, `"x"`)
		}
	}
	list := []vector{
		changed("manifest_plan_late", "the plan's place is that of its second copy", "5.2", with(records(), func(a *archive) { a.copies = true }), moved("plan")),
		changed("manifest_header_late", "the header's place is that of its second copy", "5.2", with(records(), func(a *archive) { a.copies = true }), moved("header")),
		changed("copies_header_front", "the manifest puts the copy of the header before the first block", "5.2", with(records(), func(a *archive) { a.copies = true }),
			func(m string) string {
				before, rest, _ := strings.Cut(m, `"copies":`)
				return before + `"copies":` + swap(rest, `"header":`+copied(m, "header"), `"header":42`)
			}),
		changed("copies_header_beyond", "the manifest puts the copy of the header after itself", "5.2", with(records(), func(a *archive) { a.copies = true }),
			func(m string) string {
				before, rest, _ := strings.Cut(m, `"copies":`)
				return before + `"copies":` + swap(rest, `"header":`, `"header":9`)
			}),
		changed("manifest_blocks_index", "the manifest and the index have a block more than the plan", "13", with(records(), func(a *archive) { a.moreRows = 1 }),
			func(m string) string { return swap(m, `"blocks":6`, `"blocks":7`) }),
		changed("manifest_trailing", "text after the manifest", "5.1", records(), func(m string) string { return m + "x" }),
		changed("manifest_front_no_crc", "the front has no checksum", "5.1", records(), after(`"front"`, `"crc32"`, `"x"`)),
		changed("manifest_front_crc_short", "the checksum of the front has 6 digits", "5.2", records(), after(`"front"`, `"crc32":"`, `"crc32":"000000","x":"`)),
		v("manifest_stored_missing", "the sum of stored lengths is missing", "5.1", `"stored"`, `"x"`),
		v("manifest_stored_large", "the sum of stored lengths is 2^63", "5.1", `"stored":`, `"stored":9223372036854775808,"x":`),
		v("manifest_stored_digits", "the sum of stored lengths is 2^64 + 1", "5.1", `"stored":`, `"stored":18446744073709551617,"x":`),
		v("manifest_json_empty", "a member without a value", "5.1", `"stored":`, `"stored":,"x":`),
		v("manifest_json_value", "a word that is no value", "5.1", `"stored":`, `"x":tru,"stored":`),
		v("manifest_json_colon", "a member with = instead of a colon", "5.1", `"stored":`, `"stored"=`),
		v("manifest_json_quote", "text that begins with x instead of a quote", "5.1", `"name":"x.nc"`, `"name":xx.nc"`),
		v("manifest_unknown_many", "33 members that the format does not name", "5.1", `"stored"`, many(33)+`"stored"`),
		v("manifest_deep", "33 levels of lists", "5.1", `"stored"`, `"x":`+strings.Repeat("[", 33)+strings.Repeat("]", 33)+`,"stored"`),
		v("manifest_deep_value", "a number in 32 levels of lists", "5.1", `"stored"`, `"x":`+strings.Repeat("[", 32)+"0"+strings.Repeat("]", 32)+`,"stored"`),
		v("manifest_name_hex_odd", "an odd number of digits", "5.2", `"name":"x.nc"`, `"name_hex":"7"`),
		v("manifest_name_hex_case", "digits in upper case", "5.2", `"name":"x.nc"`, `"name_hex":"7A"`),
		v("manifest_name_hex_inner", "a digit that is none, between others", "5.2", `"name":"x.nc"`, `"name_hex":"7g77"`),
		v("manifest_loss_var_large", "a rounded variable of number 2^31", "5.1", `"size":248`, lossOf(`{"var":2147483648,"filter":52727}`)+`:248`),
		v("manifest_loss_filter", "a rounded variable without a filter", "5.4", `"size":248`, lossOf(`{"var":0}`)+`:248`),
		v("manifest_loss_filter_large", "a rounded variable with the filter 2^32", "5.1", `"size":248`, lossOf(`{"var":0,"filter":4294967296}`)+`:248`),
		v("manifest_loss_params_text", "parameters of a rounded variable that are text", "5.4", `"size":248`, lossOf(`{"var":0,"filter":52727,"params":""}`)+`:248`),
		v("manifest_loss_param_large", "a parameter of 2^32 of a rounded variable", "5.1", `"size":248`, lossOf(`{"var":0,"filter":52727,"params":[4294967296]}`)+`:248`),
		v("manifest_loss_twice", "a rounded variable twice", "5.4", `"size":248`, lossOf(`{"var":0,"filter":52727},{"var":0,"filter":52727}`)+`:248`),
	}
	return append(list,
		vector{"manifest_cut", "the deflate stream of the manifest has no last block", damage, damage, "3.1", with(records(), func(a *archive) {
			a.manData = func(text string) []byte { b := rawDeflate([]byte(text)); b[0] = 0; return b }
		})})
}

func claimsOfIndex() []vector {
	v := func(name, what string, change func(*archive)) vector {
		return vector{name, what, damage, damage, "6", with(records(), change)}
	}
	return []vector{
		v("index_longer", "20 bytes after the last row", func(a *archive) { a.afterRows = 20 }),
		v("index_rows_more", "a row more than the manifest and the plan have blocks", func(a *archive) { a.moreRows = 1 }),
		v("index_rows_negative", "2^63 rows", func(a *archive) {
			a.index = func(b []byte) { put(8, "\x06\x00\x00\x00\x00\x00\x00\x80")(b); sealIndex(b) }
		}),
		v("index_row_end", "a row's bytes end one byte beyond the end", func(a *archive) {
			a.rows = func(r []row) { r[0].off, r[0].len = 1<<20, 1 }
		}),
	}
}

func claimsOfPlan() []vector {
	changed := func(name, what, section string, a *archive, pairs ...string) vector {
		for i := 0; i < len(pairs); i += 2 {
			a.plan = swap(a.plan, pairs[i], pairs[i+1])
		}
		return vector{"plan_" + name, what, damage, damage, section, a}
	}
	v := func(name, what, section string, pairs ...string) vector {
		return changed(name, what, section, records(), pairs...)
	}
	path := func(name, what, text string) vector {
		return v("path_"+name, what, "3.2", `"path":"a"`, `"path":"`+text+`"`)
	}
	// ordered has the variables a and n in the other order, and the blocks numbered in this order.
	ordered := with(records(), func(a *archive) {
		at, n, t := strings.Index(a.plan, `{"var":0`), strings.Index(a.plan, `{"var":1`), strings.Index(a.plan, `{"var":3`)
		a.plan = a.plan[:at] + a.plan[n:t] + a.plan[at:n] + a.plan[t:]
		a.plan = swap(a.plan, `[[1],[0,2]]`, `[[0],[1,2]]`)
		a.number = []int{4, 0, 1, 2, 3, 5}
	})
	// box is a file of shorts v(2, 3), with blocks (2, 2) that hold adjacent bytes.
	values := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	box := split(headerOf(1, length(0), dimensions, length(2), name("y"), length(2), name("x"), length(3), absent, length(0),
		variables, length(1), name("v"), length(2), length(0), length(1), absent, length(0), tag(ncShort), length(12), place(96)), values, nil,
		blocked{0, `"path":"v","type":"short","shape":[2,3],"block":[2,2],"chain":0,"segment":{"off":96,"len":12,"stride":0,"count":1}`,
			[]entry{stored("v/0.0", values[:8]), stored("v/0.1", append(values[8:12:12], 11, 12, 11, 12))}})
	if !strings.Contains(box.plan, `"header":96`) {
		panic("another length of the header")
	}
	// empty is a file of bytes a(4) and b(time, 4) without records, in one pool.
	none := func(begin int) []byte {
		return headerOf(1, length(0), dimensions, length(2), name("t"), length(0), name("x"), length(4), absent, length(0), variables, length(2),
			name("a"), length(1), length(1), absent, length(0), tag(ncByte), length(4), place(begin),
			name("b"), length(2), length(0), length(1), absent, length(0), tag(ncByte), length(4), place(begin+4))
	}
	empty := split(none(len(none(0))), []byte("abcd"), nil)
	empty.plan = swap(empty.plan, `"groups":[]`, `"groups":[],"pools":[{"vars":[0,1],"type":"byte","shape":[4],"block":[4],"chain":0}]`)
	empty.blocks, empty.number = append(empty.blocks, stored(".cdfz/pool/0/0", []byte("abcd"))), []int{1, 0}
	return []vector{
		v("trailing", "text after the plan", "5.1", `[[1],[0,2]]}`, `[[1],[0,2]]}x`),
		v("writer_missing", "the writer is missing", "7.1", `"writer"`, `"x"`),
		v("block_missing", "the target block size is missing", "7.1", `"block":1024,"chains"`, `"x":1024,"chains"`),
		v("features_second", "features are not the second member", "7", `"features":[],"writer":"vectors"`, `"writer":"vectors","features":[]`),
		v("rest_chain_missing", "the rest has no chain", "7.3", `"block":1024,"chain":0}`, `"block":1024,"x":0}`),
		v("rest_chain", "the rest has a chain that is not there", "7.3", `"block":1024,"chain":0}`, `"block":1024,"chain":9,"head":0}`),
		changed("rest_chain_unused", "further blocks of the rest, of which there are none, have a chain that is not there", "7.3", smallest(),
			`"block":262144,"chain":0}`, `"block":262144,"chain":9,"head":0}`),
		changed("rest_block_long", "further blocks of the rest, of which there are none, have 2^30 + 1 bytes", "7.3", smallest(),
			`"block":262144,"chain":0}`, `"block":1073741825,"chain":0}`),
		changed("rest_block_none", "further blocks of the rest, of which there are none, have no bytes", "7.3", smallest(),
			`"block":262144,"chain":0}`, `"block":0,"chain":0}`),
		changed("rest_first_long", "block 0 is longer than the rest", "7.3", with(smallest(), func(a *archive) {
			a.blocks[0] = stored(".cdfz/rest/0", zstdFrame(append(a.image[:32:32], 0)))
		}), `"first":32`, `"first":33`),
		changed("rest_long", "the rest is a byte longer than what the variables leave", "7.4", with(records(), func(a *archive) {
			a.blocks[rest1].data = zstdFrame(append(a.blocks[rest1].data[9:], 0xee))
			a.blocks[rest1].raw = a.blocks[rest1].data
		}), `"rest":{"len":215`, `"rest":{"len":216`),
		v("filter_id_missing", "a filter without an id", "7.2", `[]],"rest"`, `[],[{"params":[]}]],"rest"`),
		v("param_large", "a parameter of 2^32 + 3", "5.1", `{"id":32015,"params":[3]}`, `{"id":32015,"params":[4294967299]}`),
		v("param_unused", "a parameter of 2^32 in a chain that no block has", "5.1", `[]],"rest"`, `[],[{"id":3,"params":[4294967296]}]],"rest"`),
		v("filter_id_large", "a filter id of 2^32 in a chain that no block has", "5.1", `[]],"rest"`, `[],[{"id":4294967296}]],"rest"`),
		v("feature_number", "a feature that is a number", "7.1", `"features":[]`, `"features":[1]`),
		v("features_object", "features are an object", "7.1", `"features":[]`, `"features":{}`),
		v("chain_object", "a chain is an object", "7.2", `[]],"rest"`, `{}],"rest"`),
		v("pools_object", "pools are an object", "7.1", `[[1],[0,2]]}`, `[[1],[0,2]],"pools":{}}`),
		v("block_negative", "the target block size is negative", "5.1", `"block":1024,"chains"`, `"block":-1024,"chains"`),
		v("codec_list", "a codec that is a list", "7.2", `{"id":2,"params":[2]}`, `{"id":2,"params":[2],"codec":[]}`),
		v("codec_text", "a codec that is text", "7.2", `{"id":2,"params":[2]}`, `{"id":2,"params":[2],"codec":"x"}`),
		v("optional_number", "optional is a number", "7.2", `"optional":true`, `"optional":1`),
		v("name_number", "the name of a filter is a number", "7.2", `{"id":2,"params":[2]}`, `{"id":2,"params":[2],"name":5}`),
		v("segment_missing", "a segment without a stride", "7.4", `"len":3,"stride":0,`, `"len":3,"x":0,`),
		changed("chain_missing", "a variable without a chain", "7.4", pooled(), `"block":[2],"chain":0`, `"block":[2],"x":0`),
		changed("groups_first_none", "groups precede vars, of which there are none", "7", smallest(), `"vars":[],"groups":[]`, `"groups":[],"vars":[]`),
		v("group_beyond", "a group names a position that is not there", "7.1", `[[1],[0,2]]`, `[[1],[0,3]]`),
		v("group_same", "a group names a position twice, and none names another", "7.1", `[[1],[0,2]]`, `[[1],[0,0]]`),
		vector{"plan_order", "variables in another order than in the header", damage, damage, "7.4", ordered},
		vector{"plan_block_corner", "blocks that are no runs, with the bytes of runs", damage, damage, "8.1", box},
		changed("block_longer", "a block shape that exceeds the shape, with blocks of this length", "8.1", with(records(), func(a *archive) {
			a.blocks[n0] = stored("n/0", []byte{1, 2, 3, 3})
		}), `"shape":[3],"block":[3],"chain":2,"segment":{"off":200`, `"shape":[3],"block":[4],"chain":2,"segment":{"off":200`),
		vector{"plan_pool_no_bytes", "a pool with a variable that has no bytes", damage, damage, "7.6", empty},
		changed("pool_short", "a pool of a byte less than its variables, which the rest has instead", "7.6", pooled(),
			`"len":258`, `"len":260`, `"shape":[9],"block":[5]`, `"shape":[8],"block":[5]`),
		changed("pool_long", "a pool of more bytes than its variables, which the rest lacks", "7.6", pooled(),
			`"len":258`, `"len":256`, `"shape":[9],"block":[5]`, `"shape":[10],"block":[5]`),
		path("empty", "an empty path", ""),
		path("long", "a path of 201 bytes", strings.Repeat("a", 201)),
		path("dot", "a path that begins with a dot", ".a"),
		path("slash", "a path with a slash", "a/b"),
		path("backslash", "a path with a backslash", `a\\b`),
		path("control", "a path with a control character", `a\u0001`),
		path("control_c1", "a path with the control character U+0085", `a\u0085b`),
		path("delete", "a path with the control character U+007F", `a\u007f`),
		path("number_zero", "a path of a number with a leading zero", ".cdfz/v/00"),
		vector{"plan_cut", "the deflate stream of the plan has no last block", damage, damage, "3.1", with(records(), func(a *archive) {
			a.planData = func(text string) []byte { b := rawDeflate([]byte(text)); b[0] = 0; return b }
		})},
		vector{"plan_deflate_type", "a block of the reserved type follows in the deflate stream of the plan", damage, damage, "3.1", with(records(), func(a *archive) {
			a.planData = func(text string) []byte { b := rawDeflate([]byte(text)); b[0] = 0; return append(b, 7) }
		})},
	}
}
