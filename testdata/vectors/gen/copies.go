package main

import "bytes"

// copied returns the records archive with second copies, after a change.
func copied(change func(*archive)) *archive {
	return with(records(), func(a *archive) {
		a.copies = true
		change(a)
	})
}

// flip damages the stored bytes of entries in the finished file.
func flip(names ...string) func(*archive) {
	return func(a *archive) {
		a.file = func(b []byte) []byte {
			for _, name := range names {
				b[bytes.Index(b, []byte(name))+len(name)+7] ^= 1
			}
			return b
		}
	}
}

// badCopies returns archives with faults of second copies, or with faults that second
// copies make up for.
func badCopies() []vector {
	v := func(name, what, reader string, change func(*archive)) vector {
		return vector{name, what, reader, damage, "5.3", copied(change)}
	}
	return []vector{
		v("copies_plan", "the plan's bytes are damaged, those of its copy are not", image, flip(".cdfz/plan.json")),
		v("copies_header", "the bytes of the netCDF header's block are damaged, those of its copy are not", image, flip(".cdfz/rest/0")),
		v("copies_both", "plan and header are damaged, their copies are not", image, flip(".cdfz/plan.json", ".cdfz/rest/0")),
		v("copies_plan_twice", "the plan and its copy are damaged", damage, flip(".cdfz/plan.json", ".cdfz/copy/plan.json")),
		v("copies_header_twice", "the header's block and its copy are damaged", damage, flip(".cdfz/rest/0", ".cdfz/copy/header")),
		v("copy_plan", "the copy of the plan is damaged", image, flip(".cdfz/copy/plan.json")),
		v("copy_header", "the copy of the header's block is damaged", image, flip(".cdfz/copy/header")),
		v("copy_local", "the local header of a copy has another checksum", image, func(a *archive) {
			a.copied = func(e []entry) { e[1].local = put(14, "\x00\x00\x00\x00") }
		}),
		v("copies_order", "the copies are in another order", image, func(a *archive) {
			a.copied = func(e []entry) { e[0], e[1] = e[1], e[0] }
		}),
		v("copies_beyond", "the manifest puts a copy after itself", damage, func(a *archive) {
			a.manifest = func(m string) string { return swap(m, `"copies":{"plan":1`, `"copies":{"plan":9`) }
		}),
		v("copies_front", "the manifest puts a copy before the first block", damage, func(a *archive) {
			a.manifest = func(m string) string { return swap(m, `"copies":{"plan":1`, `"copies":{"plan":`) }
		}),
		v("copies_member_missing", "the manifest has the place of one copy", damage, func(a *archive) {
			a.manifest = func(m string) string { return swap(m, `"copies":{"plan"`, `"copies":{"x"`) }
		}),
		v("copies_unnamed", "the manifest does not name the copies", image, func(a *archive) {
			a.manifest = func(m string) string { return swap(m, `"copies"`, `"x"`) }
		}),
		v("copies_missing", "the manifest names copies that are not there", image, func(a *archive) {
			a.copies, a.back = false, []entry{stored(".cdfz/later", make([]byte, 700))}
			a.manifest = func(m string) string { return m[:len(m)-1] + `,"copies":{"plan":1244,"header":1244}}` }
		}),
		v("later_back_crc", "an entry of a later version before the manifest has another checksum", image, func(a *archive) {
			a.back = []entry{{name: ".cdfz/x", raw: []byte("x"), data: []byte("y")}}
		}),
		v("later_back_twice", "an entry of a later version before the manifest, twice", image, func(a *archive) {
			a.back = []entry{stored(".cdfz/x", nil), stored(".cdfz/x", nil)}
		}),
		v("other_back", "an entry before the manifest that no version explains", image, func(a *archive) {
			a.back = []entry{stored("x", nil)}
		}),
	}
}
