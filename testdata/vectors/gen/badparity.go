package main

import (
	"bytes"
	"fmt"
)

// inRecord changes record n of the finished file.
func inRecord(n int, change func(rec []byte)) func(*archive) {
	return func(a *archive) {
		l := a.parity
		a.file = func(b []byte) []byte {
			change(b[l.from+n*l.recordLen():][:l.recordLen()])
			return b
		}
	}
}

// badParity returns archives with faults of the parity, or of bytes that it heals.
func badParity() []vector {
	v := func(name, what, reader, section string, change func(*archive)) vector {
		return vector{name, what, reader, damage, section, protected(3, change)}
	}
	return []vector{
		v("parity_record_crc", "a record has another checksum", image, "19.2", inRecord(4, func(rec []byte) { rec[len(rec)-1] ^= 1 })),
		v("parity_record_number", "a record has the number of the next one", image, "19.2", inRecord(4, func(rec []byte) {
			rec[24]++
			seal(rec)
		})),
		v("parity_record_other", "a record has another K than the others", image, "19.2", inRecord(4, func(rec []byte) {
			rec[52]--
			seal(rec)
		})),
		v("parity_sums", "the checksums in two records of a group are others", image, "19.5", func(a *archive) {
			l := a.parity
			a.file = func(b []byte) []byte {
				for _, n := range []int{0, 5} { // rows 0 and 1 of group 0
					rec := b[l.from+n*l.recordLen():][:l.recordLen()]
					rec[60] ^= 1
					seal(rec)
				}
				return b
			}
		}),
		v("parity_local", "the local header of the parity has another checksum", image, "19.2", func(a *archive) {
			a.parity.local = put(14, "\x00\x00\x00\x00")
		}),
		v("parity_unnamed", "the manifest does not name the parity", image, "19.4", func(a *archive) {
			a.manifest = func(m string) string { return swap(m, `"parity"`, `"x"`) }
		}),
		v("parity_place", "the manifest puts the parity elsewhere", image, "19.4", func(a *archive) {
			a.manifest = func(m string) string {
				return swap(m, fmt.Sprint(`"parity":`, a.parity.off), fmt.Sprint(`"parity":`, a.parity.off-1))
			}
		}),
		v("parity_missing", "the manifest names parity that is not there", image, "19.4", func(a *archive) {
			a.parity = nil
			a.back = []entry{stored(".cdfz/later", make([]byte, 700))}
			a.manifest = func(m string) string { return m[:len(m)-1] + `,"parity":1350}` }
		}),
		v("parity_index", "the index is damaged, its parity is not", damage, "19.5", func(a *archive) {
			a.file = func(b []byte) []byte {
				b[bytes.LastIndex(b, []byte("cdfzidx"))+50] ^= 1
				return b
			}
		}),
	}
}
