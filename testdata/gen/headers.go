package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
)

func headerTraits() []trait {
	return []trait{
		{"empty_absent", "no dimension, attribute or variable; lists are ABSENT", "", func(m *maker) ([]byte, int64) {
			m.layout(0)
			return m.image(), 0
		}},
		{"empty_tagged", "empty lists have their tag and a count of 0", "", func(m *maker) ([]byte, int64) {
			m.layout(0)
			b := m.image()
			b[m.dimsAt()+3], b[m.attrsAt()+3], b[m.varsAt()+3] = 0x0a, 0x0c, 0x0b
			return b, 0
		}},
		{"empty_tagged_attrs", "empty attribute lists of the file and a variable have their tag", "", func(m *maker) ([]byte, int64) {
			x := m.dim("x", 3)
			m.add("u", cdf3.Int, x)
			m.add("v", cdf3.Int, x)
			m.layout(0)
			b := m.image()
			b[m.attrsAt()+3], b[m.varAttrsAt(1)+3] = 0x0c, 0x0c
			return b, 0
		}},
		{"dims_only", "dimensions alone", "", func(m *maker) ([]byte, int64) {
			m.dim("t", 0)
			m.dim("x", 3)
			m.layout(0)
			return m.image(), 0
		}},
		{"attrs_only", "attributes alone", "", func(m *maker) ([]byte, int64) {
			m.Attrs = []cdf3.Attr{text("title", "attributes alone"), number("one", cdf3.Int, []int32{1})}
			m.layout(0)
			return m.image(), 0
		}},
		{"scalars", "variables without dimensions", "", func(m *maker) ([]byte, int64) {
			for i, t := range []cdf3.Type{cdf3.Byte, cdf3.Char, cdf3.Short, cdf3.Int, cdf3.Float, cdf3.Double} {
				m.add(fmt.Sprintf("s%d", i), t)
			}
			m.layout(0)
			return m.image(), 0
		}},
		{"names", "odd names: empty, blanks, paths, not UTF-8, two normal forms, line feeds, 256 bytes", "", names},
		{"names_nul", "names with NUL, which are equal as C strings", "", func(m *maker) ([]byte, int64) {
			x := m.dim("x\x00a", 3)
			m.dim("x\x00b", 4)
			m.Attrs = []cdf3.Attr{text("n\x00", "1"), text("n", "2"), text("n\x00\x00", "3")}
			m.add("v\x00", cdf3.Int, x)
			m.add("v", cdf3.Int, x)
			m.layout(0)
			return m.image(), 0
		}},
		{"names_duplicate", "names that occur twice: dimensions, attributes, variables", "", func(m *maker) ([]byte, int64) {
			x, y := m.dim("x", 3), m.dim("x", 4)
			m.Attrs = []cdf3.Attr{text("title", "first"), text("title", "second")}
			m.add("v", cdf3.Short, x).Attrs = []cdf3.Attr{text("units", "m"), text("units", "km")}
			m.add("v", cdf3.Double, y)
			m.layout(0)
			return m.image(), 0
		}},
		{"attrs", "odd attributes: no elements, NaN with a payload, infinities, latin-1, NUL at the end, fill value of the wrong type", "", attrs},
		{"attrs_all_types", "attributes of all eleven types, which the grammar gives to CDF-5 alone", "", func(m *maker) ([]byte, int64) {
			m.Attrs = allTypes()
			m.add("v", cdf3.Int, m.dim("x", 3)).Attrs = allTypes()
			m.layout(0)
			return m.image(), 0
		}},
		{"all_types", "variables of all eleven types, fixed and record", "", func(m *maker) ([]byte, int64) {
			t, x := m.dim("t", 0), m.dim("x", 5)
			for ty := cdf3.Byte; ty <= cdf3.UInt64; ty++ {
				m.add("f_"+ty.String(), ty, x).Attrs = allTypes()[ty-1 : ty]
				m.add("r_"+ty.String(), ty, t, x)
			}
			m.layout(3)
			return m.image(), 3
		}},
		{"rank", "ranks 0 to 12, dimensions of length 1", "", func(m *maker) ([]byte, int64) {
			dims := []int{m.dim("t", 0)}
			for i, n := range []int64{2, 1, 2, 1, 1, 3, 1, 2, 1, 1, 2} {
				dims = append(dims, m.dim(fmt.Sprintf("d%d", i+1), n))
			}
			for i := range dims {
				m.add(fmt.Sprintf("f%d", i), cdf3.Short, dims[1:i+1]...)
			}
			m.add("r12", cdf3.Byte, dims...)
			m.add("r1", cdf3.Float, dims[0])
			m.layout(2)
			return m.image(), 2
		}},
		{"repeated_dims", "a dimension occurs more than once in a variable", "", func(m *maker) ([]byte, int64) {
			t, x := m.dim("t", 0), m.dim("x", 4)
			m.add("cov", cdf3.Double, x, x)
			m.add("tcov", cdf3.Float, t, x, x)
			m.add("cube", cdf3.Byte, x, x, x)
			m.layout(2)
			return m.image(), 2
		}},
		{"many_vars", "150 variables, every third a record variable", "", func(m *maker) ([]byte, int64) {
			t, x := m.dim("t", 0), m.dim("x", 3)
			for i := range 150 {
				dims := []int{t, x}
				if i%3 > 0 {
					dims = dims[1:]
				}
				v := m.add(fmt.Sprintf("var_%03d", i), []cdf3.Type{cdf3.Byte, cdf3.Short, cdf3.Float, cdf3.Char}[i%4], dims...)
				v.Attrs = []cdf3.Attr{text("units", "1")}
			}
			m.layout(4)
			return m.image(), 4
		}},
	}
}

func names(m *maker) ([]byte, int64) {
	x := m.dim("x", 3)
	for i, s := range []string{
		"", " ", "  two  blanks ", "a/b", "/", "..", ".", "../../etc/passwd", ".hidden",
		"new\nline", "tab\t", "quote\"'`", `back\slash`, "C:\\x", "\xff\xfe", "caf\xe9",
		"\u00e9t\u00e9", "e\u0301te\u0301", "\u6e29\u5ea6", "\U0001f30a", "\u202egnp", "-rf", "a:b*c?<d>|",
		"CON", "nul", "zarr.json", ".zattrs", "c/0/0", "c", "%00", "0", "_", strings.Repeat("long name ", 26)[:256],
		strings.Repeat("n", 255),
	} {
		m.Dims = append(m.Dims, cdf3.Dim{Name: s, Len: 2})
		m.Attrs = append(m.Attrs, text(s, s))
		m.add(s, cdf3.Short, x)
		if i == 0 {
			m.Vars[0].Attrs = []cdf3.Attr{text("", "no name")}
		}
	}
	m.layout(0)
	return m.image(), 0
}

func attrs(m *maker) ([]byte, int64) {
	nan := math.Float32frombits(0x7fa00001)
	m.Attrs = []cdf3.Attr{
		text("empty", ""),
		number("no_bytes", cdf3.Byte, []int8{}),
		number("no_shorts", cdf3.Short, []int16{}),
		number("no_doubles", cdf3.Double, []float64{}),
		number("nan32", cdf3.Int, []uint32{math.Float32bits(nan)}),
		{Name: "nan_payload", Type: cdf3.Float, Len: 2, Values: []byte{0x7f, 0xa0, 0, 1, 0xff, 0xc1, 2, 3}},
		{Name: "nan64_payload", Type: cdf3.Double, Len: 1, Values: []byte{0x7f, 0xf0, 0, 0, 0, 0, 0, 1}},
		number("infinities", cdf3.Float, []float32{float32(math.Inf(1)), float32(math.Inf(-1))}),
		number("zeros", cdf3.Double, []float64{0, math.Copysign(0, -1)}),
		number("subnormal", cdf3.Double, []float64{math.SmallestNonzeroFloat64}),
		text("latin1", "temp\xe9rature en \xb0C"),
		text("utf8", "temp\u00e9rature en \u00b0C"),
		text("nul_at_end", "text\x00"),
		text("nul_inside", "a\x00b"),
		text("blanks", "   "),
		text("lines", "one\ntwo\r\nthree"),
		text("json", `{"a": ["\u0000", 1e400]}`),
		text("history", strings.Repeat("Mon Jan 1 00:00:00 2001: a command\n", 40)),
	}
	if m.Version == cdf3.Data64 {
		m.Attrs = append(m.Attrs,
			number("beyond_2_53", cdf3.Int64, []int64{1<<53 + 1, math.MinInt64, math.MaxInt64}),
			number("most", cdf3.UInt64, []uint64{math.MaxUint64}))
	}
	x := m.dim("x", 5)
	m.add("v", cdf3.Short, x).Attrs = []cdf3.Attr{
		number("_FillValue", cdf3.Float, []float32{-999}),
		number("scale_factor", cdf3.Double, []float64{}),
		text("add_offset", "0"),
		number("valid_range", cdf3.Short, []int16{-1, 0, 1}),
	}
	m.add("w", cdf3.Char, x).Attrs = []cdf3.Attr{text("_FillValue", "\x00"), text("units", "")}
	m.layout(0)
	return m.image(), 0
}

func allTypes() []cdf3.Attr {
	return []cdf3.Attr{
		number("byte", cdf3.Byte, []int8{-128, 0, 127}),
		text("char", "text"),
		number("short", cdf3.Short, []int16{math.MinInt16, 0, math.MaxInt16}),
		number("int", cdf3.Int, []int32{math.MinInt32, math.MaxInt32}),
		number("float", cdf3.Float, []float32{-1.5, math.MaxFloat32}),
		number("double", cdf3.Double, []float64{-1.5, math.MaxFloat64}),
		number("ubyte", cdf3.UByte, []uint8{0, 255}),
		number("ushort", cdf3.UShort, []uint16{65535}),
		number("uint", cdf3.UInt, []uint32{math.MaxUint32}),
		number("int64", cdf3.Int64, []int64{math.MinInt64, math.MaxInt64}),
		number("uint64", cdf3.UInt64, []uint64{math.MaxUint64}),
	}
}
