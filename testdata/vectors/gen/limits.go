package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// squeezedPlan compresses the plan, so that it may be long.
func squeezedPlan(a *archive) {
	a.planData = func(text string) []byte { return squeezed([]byte(text)) }
}

// repeated is a list of n equal elements.
func repeated(one string, n int) string { return strings.Repeat(one+",", n-1) + one }

// ranked returns an archive of a file with some variables of so many dimensions of length 1.
func ranked(rank, count int) *archive {
	header := func(begin int) []byte {
		parts := []any{length(0), dimensions, length(1), name("x"), length(1), absent, length(0), variables, length(count)}
		for i := range count {
			parts = append(parts, name(""), length(rank))
			for range rank {
				parts = append(parts, length(0))
			}
			parts = append(parts, absent, length(0), tag(ncByte), length(1), place(begin+i))
		}
		return headerOf(1, parts...)
	}
	begin := len(header(0))
	shape := slices.Repeat([]int{1}, rank)
	var vars []blocked
	for i := range count {
		v := fixed(i, fmt.Sprintf(".cdfz/v/%d", i), "byte", shape, begin+i, []byte{7})
		// The key of the block would be too long for a name; readers do not need it.
		v.blocks[0].name = fmt.Sprintf(".cdfz/v/%d/0", i)
		vars = append(vars, v)
	}
	return with(split(header(begin), bytes.Repeat([]byte{7}, count), nil, vars...), func(a *archive) {
		a.plan = swap(a.plan, `"chains":[[]]`, `"chains":[[],[{"id":1,"params":[6]}]]`)
		a.plan = swap(a.plan, `"block":1024,"chain":0}`, `"block":1024,"chain":0,"head":1}`)
		a.blocks[0] = stored(".cdfz/rest/0", zlibSqueezed(a.blocks[0].data))
		squeezedPlan(a)
	})
}

// limited returns the records archive with a change of its plan, which is compressed.
func limited(old, new string) *archive {
	return with(records(), func(a *archive) {
		a.plan = swap(a.plan, old, new)
		squeezedPlan(a)
	})
}

// goodLimits are archives at the limits of section 13.
func goodLimits() []vector {
	v := func(name, what string, a *archive) vector { return vector{name, what, image, ok, "13", a} }
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	many := ""
	for i := range 32 {
		many += fmt.Sprintf(`"x%d":%s,`, i, deep(32))
	}
	codec := `{"id":"` + strings.Repeat("x", 4096-9) + `"}`
	list := []vector{
		v("limit_unknown", "32 members that the format does not name, of 32 levels", limited(`"writer"`, many+`"writer"`)),
		v("limit_unknown_manifest", "the same in the manifest", with(records(), func(a *archive) {
			a.manifest = func(m string) string { return swap(m, `"size"`, many+`"size"`) }
		})),
		v("limit_chains", "4096 chains", limited(`[]],"rest"`, repeated(`[]`, 4094)+`],"rest"`)),
		v("limit_filters", "4096 filters in all chains, 32 in a chain", limited(`[]],"rest"`,
			`[],`+repeated(`[`+repeated(`{"id":3}`, 32)+`]`, 127)+`,[`+repeated(`{"id":3}`, 29)+`]],"rest"`)),
		v("limit_params", "65536 parameters of all filters", limited(`[]],"rest"`, `[],[{"id":3,"params":[`+repeated("0", 65533)+`]}]],"rest"`)),
		v("limit_codec", "a codec of 4096 bytes", limited(`[]],"rest"`, `[],[{"id":65000,"codec":`+codec+`}]],"rest"`)),
		v("limit_text", "a writer of 255 bytes", limited(`"vectors"`, `"`+strings.Repeat("w", 255)+`"`)),
		v("limit_manifest", "a manifest of 65536 bytes", with(records(), func(a *archive) {
			longManifest(a, 1<<16)
		})),
		v("limit_plan", "a plan of 256 bytes for each stored one, and 65536 more", with(smallest(), func(a *archive) {
			longPlan(a, blanksFor(len(a.plan)))
		})),
	}
	return slices.Concat(list, goodChains())
}

// longManifest makes the manifest n bytes long.
func longManifest(a *archive, n int) {
	a.manData = func(text string) []byte {
		a.manBlanks = n - len(text)
		return squeezed([]byte(text + strings.Repeat(" ", a.manBlanks)))
	}
}

// longPlan adds runs of 258 blanks to the plan.
func longPlan(a *archive, runs int) {
	a.blanks = 1 + 258*runs
	a.planData = func(text string) []byte { return blanks(text, runs) }
}

// blanksFor returns the most runs of 258 blanks after a text of n bytes that a plan may have.
func blanksFor(n int) int {
	k := 0
	for text := make([]byte, n); n+1+258*(k+1) <= 1<<16+256*len(blanks(string(text), k+1)); {
		k++
	}
	return k
}

// badLimits exceed a limit of section 13 by one.
func badLimits() []vector {
	v := func(name, what string, a *archive) vector {
		return vector{"beyond_" + name, what, damage, damage, "13", a}
	}
	plan := func(name, what, old, new string) vector { return v(name, what, limited(old, new)) }
	codec := `{"id":"` + strings.Repeat("x", 4097-9) + `"}`
	// A header of 2^21 + 4 bytes, most of them zeros of an attribute.
	const zeros = 1<<21 - 48 + 4
	head := headerOf(1, length(0), absent, length(0), attributes, length(1), name("z"), tag(ncByte), length(zeros))
	tail := headerOf(1, absent, length(0))[4:]
	header := slices.Concat(head, make([]byte, zeros), tail)
	frame := slices.Concat([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0, byte(len(header)), byte(len(header) >> 8), byte(len(header) >> 16), 0},
		[]byte{byte(len(head) << 3), byte(len(head) >> 5), 0}, head)
	for left := zeros; left > 0; {
		n := min(left, 128<<10)
		h := n<<3 | 1<<1
		frame = append(frame, byte(h), byte(h>>8), byte(h>>16), 0)
		left -= n
	}
	frame = slices.Concat(frame, zstdBlockHead(tail), tail)
	long := with(whole(header, nil), func(a *archive) {
		a.plan = swap(a.plan, `"chains":[[]]`, `"chains":[[{"id":32015}]]`)
		a.blocks[0].data, a.blocks[0].raw = frame, frame
	})
	params := strings.Repeat("0,", 256) + "0"
	return []vector{
		{"limit_features", "64 features, all of them unknown", refuse, refuse, "7.1", limited(`"features":[]`, `"features":[`+repeated(`"x"`, 64)+`]`)},
		plan("features", "65 features, all of them unknown", `"features":[]`, `"features":[`+repeated(`"x"`, 65)+`]`),
		plan("feature", "an unknown feature of 256 bytes", `"features":[]`, `"features":["`+strings.Repeat("x", 256)+`"]`),
		plan("chains", "4097 chains", `[]],"rest"`, repeated(`[]`, 4095)+`],"rest"`),
		plan("filters", "4097 filters in all chains", `[]],"rest"`,
			`[],`+repeated(`[`+repeated(`{"id":3}`, 32)+`]`, 127)+`,[`+repeated(`{"id":3}`, 30)+`]],"rest"`),
		plan("params", "65537 parameters of all filters", `[]],"rest"`, `[],[{"id":3,"params":[`+repeated("0", 65534)+`]}]],"rest"`),
		plan("codec", "a codec of 4097 bytes", `[]],"rest"`, `[],[{"id":65000,"codec":`+codec+`}]],"rest"`),
		plan("codec_levels", "a codec of 33 levels", `[]],"rest"`, `[],[{"id":65000,"codec":{"id":"x","y":`+strings.Repeat("[", 32)+strings.Repeat("]", 32)+`}}]],"rest"`),
		plan("unknown", "33 members that the format does not name", `{"id":2,"params":[2]}`, `{"id":2,"params":[2]`+unknown(33)+`}`),
		plan("text", "a writer of 256 bytes", `"vectors"`, `"`+strings.Repeat("w", 256)+`"`),
		{"limit_rank", "a variable of 1024 dimensions, which readers accept, with an entry name that is too long", image, damage, "14.3", ranked(1024, 1)},
		v("rank", "a variable of 1025 dimensions", ranked(1025, 1)),
		v("ranks", "variables with more dimensions together than the plan may have for its length", ranked(1024, 160)),
		v("manifest", "a manifest of 65537 bytes", with(records(), func(a *archive) {
			longManifest(a, 1<<16+1)
		})),
		v("manifest_stored", "a manifest of 65537 stored bytes", with(records(), func(a *archive) {
			a.manData = func(text string) []byte {
				var b []byte
				for 5+len(text)+len(b) < 1<<16+1-5 {
					b = append(b, 0, 0, 0, 0xff, 0xff)
				}
				for 5+len(text)+len(b) <= 1<<16 {
					b = append(b, 0, 0, 0, 0xff, 0xff)
				}
				return append(b, rawDeflate([]byte(text))...)
			}
		})),
		v("plan", "a plan of more than 256 bytes for each stored one, and 65536 more", with(smallest(), func(a *archive) {
			longPlan(a, blanksFor(len(a.plan))+1)
		})),
		{"manifest_loss_params", "257 parameters of a rounded variable", damage, damage, "13", with(records(), func(a *archive) {
			a.manifest = func(m string) string {
				return swap(m, `"size"`, lossOf(`{"var":0,"filter":52727,"params":[`+params+`]}`))
			}
		})},
		v("header_filtered", "a netCDF header of more than 2^21 bytes that a filter encodes", long),
		v("stored", "a block of 8 bytes with more than 65552 stored ones", one(`[{"id":1,"params":[6]}]`,
			slices.Concat(zlibStream(oneValues)[:2], []byte(strings.Repeat("\x00\x00\x00\xff\xff", 13107)), zlibStream(oneValues)[2:]))),
	}
}

// unknown is n members that the format does not name.
func unknown(n int) (out string) {
	for i := range n {
		out += fmt.Sprintf(`,"x%d":0`, i)
	}
	return out
}
