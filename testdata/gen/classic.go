package main

import (
	"bytes"
	"math"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
)

// file is a file of testdata/classic with the expected results of a reader.
type file struct {
	name, shows        string
	image              []byte
	headerLen, recSize int64
	records            int64
}

// trait is one unusual feature. make returns the file and the expected number of
// records.
type trait struct {
	name, shows string
	versions    string // "" for all
	make        func(m *maker) (image []byte, records int64)
}

func classic() []file {
	var files []file
	for _, tr := range traits() {
		for _, v := range []cdf3.Version{cdf3.Classic, cdf3.Offset64, cdf3.Data64} {
			digit := string('0' + rune(v))
			if tr.versions != "" && !strings.Contains(tr.versions, digit) {
				continue
			}
			m := newMaker(v, tr.name)
			image, records := tr.make(m)
			files = append(files, file{
				name: "cdf" + digit + "_" + tr.name + ".nc", shows: tr.shows, image: image,
				headerLen: int64(len(m.header())), recSize: m.RecSize, records: records,
			})
		}
	}
	return files
}

func traits() []trait {
	var all []trait
	for _, t := range [][]trait{ordinaryTraits(), recordTraits(), paddingTraits(), placeTraits(), headerTraits()} {
		all = append(all, t...)
	}
	return all
}

// mixed makes a small file with fixed and record variables whose values need padding.
func mixed(m *maker) {
	t, x, lev := m.dim("time", 0), m.dim("x", 3), m.dim("lev", 5)
	m.Attrs = append(m.Attrs, text("title", "a small file"))
	m.add("a", cdf3.Short, x)
	m.add("time", cdf3.Double, t).Attrs = []cdf3.Attr{text("units", "days since 2000-01-01")}
	m.add("c", cdf3.Char, t, lev)
	m.add("s", cdf3.Int)
	m.add("v", cdf3.Float, t, lev, x)
	m.add("b", cdf3.Byte, lev)
	m.add("h", cdf3.Short, t, x)
}

func mixedImage(m *maker, records uint64) []byte {
	mixed(m)
	m.layout(records)
	return m.image()
}

func single(t cdf3.Type, n int64, records uint64) func(m *maker) ([]byte, int64) {
	return func(m *maker) ([]byte, int64) {
		dims := []int{m.dim("t", 0)}
		if n > 0 {
			dims = append(dims, m.dim("x", n))
		}
		m.add("fixed", cdf3.Short, dims[1:]...)
		m.add("v", t, dims...)
		m.layout(records)
		return m.image(), int64(records)
	}
}

func recordTraits() []trait {
	all := func(c func(m *maker) []byte, records int64) func(m *maker) ([]byte, int64) {
		return func(m *maker) ([]byte, int64) { return c(m), records }
	}
	return []trait{
		{"single_rec_byte", "the only record variable has 3 bytes a record and no padding", "", single(cdf3.Byte, 3, 6)},
		{"single_rec_char_scalar", "the only record variable has 1 byte a record", "", single(cdf3.Char, 0, 7)},
		{"single_rec_short", "the only record variable has 6 bytes a record", "", single(cdf3.Short, 3, 5)},
		{"single_rec_double", "the only record variable needs no padding", "", single(cdf3.Double, 3, 4)},
		{"single_rec_one", "one record of 3 bytes", "", single(cdf3.Byte, 3, 1)},
		{"single_rec_vsize_unpadded", "vsize of the only record variable is 3, not 4", "", func(m *maker) ([]byte, int64) {
			t, x := m.dim("t", 0), m.dim("x", 3)
			m.add("v", cdf3.Byte, t, x)
			m.layout(6)
			m.Vars[0].VSize = 3
			return m.image(), 6
		}},
		{"two_rec_small", "two record variables of other types switch padding on", "", func(m *maker) ([]byte, int64) {
			t, x := m.dim("t", 0), m.dim("x", 3)
			m.add("v", cdf3.Byte, t, x)
			m.add("w", cdf3.Short, t)
			m.layout(6)
			return m.image(), 6
		}},
		{"zero_records", "no record, and a file that ends where the first would begin", "", all(func(m *maker) []byte { return mixedImage(m, 0) }, 0)},
		{"one_record", "one record", "", all(func(m *maker) []byte { return mixedImage(m, 1) }, 1)},
		{"zero_records_unpadded", "no record, char[19] and no padding before the next record variable, vsize 19", "", func(m *maker) ([]byte, int64) {
			t, n := m.dim("Time", 0), m.dim("DateStrLen", 19)
			m.add("Times", cdf3.Char, t, n)
			m.add("T2", cdf3.Float, t, n)
			m.layout(0)
			m.Vars[0].VSize = 19
			m.Vars[1].Begin = m.Vars[0].Begin + 19
			return m.image(), 0
		}},
		{"streaming", "numrecs is all ones", "", all(func(m *maker) []byte { return m.streaming(mixedImage(m, 6)) }, 6)},
		{"streaming_cut_last_pad", "numrecs is all ones and the last padding is missing", "", all(func(m *maker) []byte {
			b := m.streaming(mixedImage(m, 6))
			return b[:len(b)-2]
		}, 6)},
		{"streaming_partial", "numrecs is all ones and the last record is only partly there", "", all(func(m *maker) []byte {
			b := m.streaming(mixedImage(m, 6))
			return b[:len(b)-3]
		}, 5)},
		{"streaming_first_partial", "numrecs is all ones and the first record is not all there", "", all(func(m *maker) []byte {
			b := m.streaming(mixedImage(m, 1))
			return b[:len(b)-20]
		}, 0)},
		{"streaming_single_rec", "numrecs is all ones and the only record variable has 3 bytes a record", "", func(m *maker) ([]byte, int64) {
			b, n := single(cdf3.Byte, 3, 6)(m)
			return m.streaming(b), n
		}},
		{"streaming_no_recvar", "numrecs is all ones and there is no record variable", "", func(m *maker) ([]byte, int64) {
			m.dim("t", 0)
			m.add("v", cdf3.Int, m.dim("x", 3))
			m.layout(0)
			return m.streaming(m.image()), 0
		}},
		{"streaming_begin_past_eof", "numrecs is all ones and the records would begin after the end of the file", "", func(m *maker) ([]byte, int64) {
			m.add("v", cdf3.Int, m.dim("t", 0))
			m.layout(0)
			m.Vars[0].Begin += 1000
			return m.streaming(m.image()), 0
		}},
		{"numrecs_no_recdim", "numrecs is 7 without an unlimited dimension", "", func(m *maker) ([]byte, int64) {
			m.add("v", cdf3.Int, m.dim("x", 3))
			m.layout(7)
			return m.image(), 7
		}},
		{"numrecs_no_recvar", "numrecs is 7 without a record variable", "", func(m *maker) ([]byte, int64) {
			m.dim("t", 0)
			m.add("v", cdf3.Int, m.dim("x", 3))
			m.layout(7)
			return m.image(), 7
		}},
		{"numrecs_less", "numrecs is smaller than the records that are there", "", all(func(m *maker) []byte {
			b := mixedImage(m, 6)
			copy(b[4:], m.count(4))
			return b
		}, 4)},
		{"numrecs_more", "numrecs is larger than the records that are there", "", all(func(m *maker) []byte {
			b := mixedImage(m, 3)
			copy(b[4:], m.count(1000000))
			return b
		}, 1000000)},
		{"unlimited_last", "the unlimited dimension is the last that is defined", "", func(m *maker) ([]byte, int64) {
			x, y, t := m.dim("x", 3), m.dim("y", 2), m.dim("time", 0)
			m.add("v", cdf3.Short, t, y, x)
			m.add("t", cdf3.Double, t)
			m.add("f", cdf3.Float, y, x)
			m.layout(4)
			return m.image(), 4
		}},
		{"two_unlimited", "two unlimited dimensions, each the first of a variable", "", func(m *maker) ([]byte, int64) {
			r1, r2, x := m.dim("r1", 0), m.dim("r2", 0), m.dim("x", 3)
			m.add("v", cdf3.Short, r1, x)
			m.add("w", cdf3.Int, r2)
			m.layout(3)
			return m.image(), 3
		}},
	}
}

func paddingTraits() []trait {
	fill := func(b byte) func(*cdf3.Var, int) []byte {
		return func(_ *cdf3.Var, n int) []byte { return bytes.Repeat([]byte{b}, n) }
	}
	return []trait{
		{"pad_blanks", "values are padded with blanks", "", func(m *maker) ([]byte, int64) {
			m.pad = fill(' ')
			return mixedImage(m, 3), 3
		}},
		{"pad_garbage", "values are padded with stale memory", "", func(m *maker) ([]byte, int64) {
			m.pad = func(_ *cdf3.Var, n int) []byte {
				x := m.rnd.next()
				return []byte{byte(x), byte(x >> 8), byte(x >> 16)}[:n]
			}
			return mixedImage(m, 3), 3
		}},
		{"pad_fill", "values are padded with the fill value of their type", "", func(m *maker) ([]byte, int64) {
			m.pad = func(v *cdf3.Var, n int) []byte {
				switch v.Type {
				case cdf3.Short:
					return []byte{0x80, 0x01}[:n]
				case cdf3.Byte:
					return []byte{0x81, 0x81, 0x81}[:n]
				}
				return make([]byte, n)
			}
			return mixedImage(m, 3), 3
		}},
		{"pad_next_value", "padding of a record is the first character of the next, left by the C library when a second record variable was added", "", func(m *maker) ([]byte, int64) {
			t := m.dim("t", 0)
			m.add("v", cdf3.Char, t, m.dim("n", 3))
			m.add("w", cdf3.Byte, t)
			m.values[0] = func(i int64) int64 { return 'a' + i }
			m.values[1] = func(int64) int64 { return -127 }
			m.layout(5)
			n := 0
			m.pad = func(v *cdf3.Var, k int) []byte {
				if v.Name == "w" {
					return []byte{0x81, 0x81, 0x81}
				}
				if n++; n == 5 {
					return []byte{0}
				}
				return []byte{byte('a' + 3*n)}
			}
			return m.image(), 5
		}},
		{"pad_names_ascii_zero", "names and attributes are padded with the digit 0", "", func(m *maker) ([]byte, int64) {
			x := m.dim("longitude", 3)
			m.Attrs = []cdf3.Attr{text("title", "seven b")}
			m.add("value", cdf3.Float, x)
			m.layout(0)
			b := m.image()
			b = replace(b, "longitude\x00\x00\x00", "longitude000")
			b = replace(b, "title\x00\x00\x00", "title000")
			b = replace(b, "seven b\x00", "seven b0")
			return replace(b, "value\x00\x00\x00", "value000"), 0
		}},
		{"cut_last_pad", "the file ends after the last value of a fixed variable, its padding is missing", "", func(m *maker) ([]byte, int64) {
			m.add("v", cdf3.Char, m.dim("x", 98))
			m.layout(0)
			b := m.image()
			return b[:len(b)-2], 0
		}},
		{"cut_last_pad_rec", "the file ends after the last value of the last record, its padding is missing", "", func(m *maker) ([]byte, int64) {
			b := mixedImage(m, 4)
			return b[:len(b)-2], 4
		}},
	}
}

func placeTraits() []trait {
	// moved is a mixed file of 3 records with variables moved by f.
	moved := func(f func(m *maker)) func(m *maker) ([]byte, int64) {
		return func(m *maker) ([]byte, int64) {
			mixed(m)
			m.layout(3)
			f(m)
			return m.image(), 3
		}
	}
	shift := func(m *maker, n int64, only func(i int) bool) {
		for i := range m.Vars {
			if only == nil || only(i) {
				m.Vars[i].Begin += n
			}
		}
	}
	record := func(m *maker) func(int) bool { return func(i int) bool { return m.Vars[i].Record } }
	// In mixed, variables 0, 3, 5 are fixed and 1, 2, 4, 6 are records; 6 is
	// the last.
	return []trait{
		{"vsize_zero", "vsize of all variables is 0", "", moved(func(m *maker) {
			for i := range m.Vars {
				m.Vars[i].VSize = 0
			}
		})},
		{"vsize_lies", "vsize is 1, or 4 too much, or all ones", "", moved(func(m *maker) {
			for i := range m.Vars {
				m.Vars[i].VSize = []uint64{1, m.Vars[i].VSize + 4, math.MaxUint32}[i%3]
			}
		})},
		{"fixed_shuffled", "fixed variables are not in the order of their definition", "", moved(func(m *maker) {
			m.Vars[3].Begin = m.Vars[0].Begin
			m.Vars[0].Begin += 4
		})},
		{"rec_shuffled", "record variables are not in the order of their definition", "", func(m *maker) ([]byte, int64) {
			t, x := m.dim("t", 0), m.dim("x", 3)
			m.add("u", cdf3.Int, t, x)
			m.add("v", cdf3.Int, t, x)
			m.layout(4)
			m.Vars[0].Begin, m.Vars[1].Begin = m.Vars[1].Begin, m.Vars[0].Begin
			return m.image(), 4
		}},
		{"records_before_fixed", "the records lie before the fixed variables", "", moved(func(m *maker) {
			first := m.Vars[0].Begin
			shift(m, first-m.Vars[1].Begin, record(m))
			shift(m, 3*m.RecSize, func(i int) bool { return !m.Vars[i].Record })
		})},
		{"unaligned", "variables begin at odd offsets without padding between them", "", moved(func(m *maker) {
			shift(m, 1, nil)
			m.Vars[3].Begin -= 2
		})},
		{"overlap_fixed", "two fixed variables share bytes", "", moved(func(m *maker) { m.Vars[3].Begin -= 4 })},
		{"overlap_same", "two fixed variables lie at the same place", "", func(m *maker) ([]byte, int64) {
			x := m.dim("x", 8)
			m.add("u", cdf3.Int, x)
			m.add("v", cdf3.Int, x)
			m.layout(0)
			m.Vars[1].Begin = m.Vars[0].Begin
			return m.image(), 0
		}},
		{"overlap_records", "a record variable begins inside another", "", moved(func(m *maker) { m.Vars[6].Begin -= 7 })},
		{"overlap_fixed_in_records", "a fixed variable lies inside the records", "", moved(func(m *maker) { m.Vars[5].Begin = m.Vars[4].Begin + m.RecSize })},
		{"begin_in_header", "a variable begins inside the header", "", moved(func(m *maker) { m.Vars[3].Begin = 8 })},
		{"begin_zero", "a variable begins at byte 0", "", moved(func(m *maker) { m.Vars[5].Begin = 0 })},
		{"rec_begin_next", "the last record variable begins one record later, at an odd offset", "", moved(func(m *maker) { m.Vars[6].Begin += m.RecSize + 1 })},
		{"rec_begin_past_eof", "the last record variable lies after the end of the file", "", func(m *maker) ([]byte, int64) {
			b := mixedImage(m, 3)
			h := m.Header
			m.Vars[6].Begin = math.MaxInt32
			copy(b, m.header())
			m.Header = h
			return b, 3
		}},
		{"truncated_data", "the file ends inside the values of the second record", "", func(m *maker) ([]byte, int64) {
			b := mixedImage(m, 4)
			return b[:m.Vars[4].Begin+m.RecSize+9], 4
		}},
		{"header_only", "a fixed variable with values and a file that ends after the header", "", func(m *maker) ([]byte, int64) {
			m.add("v", cdf3.Int, m.dim("x", 100))
			m.layout(0)
			return m.header(), 0
		}},
		{"trailing_newline", "one line feed after the values", "", func(m *maker) ([]byte, int64) {
			return append(mixedImage(m, 3), '\n'), 3
		}},
		{"trailing_zeros", "zeros up to a multiple of 4096 after the values", "", func(m *maker) ([]byte, int64) {
			b := mixedImage(m, 3)
			return append(b, make([]byte, -len(b)&4095)...), 3
		}},
		{"trailing_file", "a second file after the values, with other values", "", func(m *maker) ([]byte, int64) {
			b := mixedImage(m, 3)
			return append(b, m.image()...), 3
		}},
		{"trailing_partial_record", "part of a record after the last that numrecs counts", "", func(m *maker) ([]byte, int64) {
			b := mixedImage(m, 4)
			copy(b[4:], m.count(3))
			return b[:int64(len(b))-m.RecSize/2], 3
		}},
		{"slack_zero", "zeros between the header and the values", "", moved(func(m *maker) { shift(m, 256, nil) })},
		{"slack_garbage", "remains of an older header between the header and the values", "", moved(func(m *maker) {
			m.gap = func(i int64) byte { return "a long history "[i%15] }
			shift(m, 52, nil)
		})},
		{"gaps", "bytes between variables that belong to none", "", moved(func(m *maker) {
			m.gap = func(i int64) byte { return byte(i) }
			shift(m, 10, func(i int) bool { return i > 0 })
			shift(m, 30, record(m))
		})},
	}
}
