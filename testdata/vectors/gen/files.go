package main

import (
	"fmt"
	"math"
	"slices"
)

// length is a number of the width of NON_NEG of a version of the netCDF format, tag a word of 4
// bytes in all of them, and place an OFFSET.
type (
	length uint64
	tag    uint32
	place  uint64
	name   string
)

// headerOf returns a header of a version from its parts after the magic.
func headerOf(version byte, parts ...any) []byte {
	b := []byte{'C', 'D', 'F', version}
	number := func(x uint64, wide bool) {
		if wide {
			b = be.AppendUint64(b, x)
		} else {
			b = be.AppendUint32(b, uint32(x))
		}
	}
	for _, x := range parts {
		switch x := x.(type) {
		case tag:
			number(uint64(x), false)
		case length:
			number(uint64(x), version == 5)
		case place:
			number(uint64(x), version != 1)
		case name:
			number(uint64(len(x)), version == 5)
			b = append(b, x...)
			for len(b)%4 != 0 {
				b = append(b, 0)
			}
		default:
			panic(fmt.Sprintf("%T", x))
		}
	}
	return b
}

// The tags of lists.
const (
	dimensions = tag(0x0a)
	variables  = tag(0x0b)
	attributes = tag(0x0c)
	absent     = tag(0)
)

// whole returns an archive of a file that has all its bytes in block 0 of the rest.
func whole(header, data []byte) *archive {
	a := base()
	a.image = slices.Concat(header, data)
	a.plan = fmt.Sprintf(`{"format":1,"features":[],"writer":"vectors","image":{"size":%d,"header":%d},"block":1024,`+
		`"chains":[[]],"rest":{"len":%d,"first":%d,"block":1024,"chain":0},"vars":[],"groups":[]}`,
		len(a.image), len(header), len(a.image), len(a.image))
	a.blocks, a.number = []entry{stored(".cdfz/rest/0", a.image)}, []int{0}
	return a
}

// blocked is a variable of split, with the bytes of its blocks.
type blocked struct {
	number int
	json   string // members of the variable after its number
	blocks []entry
}

// split returns an archive of variables without filters. rest is the rest without the header.
func split(header, data, rest []byte, vars ...blocked) *archive {
	a := base()
	a.image = slices.Concat(header, data)
	var list, groups string
	for i, v := range vars {
		if i > 0 {
			list, groups = list+",", groups+","
		}
		list += fmt.Sprintf(`{"var":%d,%s}`, v.number, v.json)
		groups += fmt.Sprintf("[%d]", i)
	}
	first := slices.Concat(header, rest)
	a.plan = fmt.Sprintf(`{"format":1,"features":[],"writer":"vectors","image":{"size":%d,"header":%d},"block":1024,`+
		`"chains":[[]],"rest":{"len":%d,"first":%d,"block":1024,"chain":0},"vars":[%s],"groups":[%s]}`,
		len(a.image), len(header), len(first), len(first), list, groups)
	a.blocks = []entry{stored(".cdfz/rest/0", first)}
	a.number = []int{0}
	n := 0
	for _, v := range vars {
		for _, b := range v.blocks {
			a.blocks, a.number = append(a.blocks, b), append(a.number, n)
			n++
		}
	}
	a.number[0] = n
	return a
}

// fixed is a variable of fixed size in one block.
func fixed(number int, path, typ string, shape []int, begin int, data []byte) blocked {
	key := "0"
	for range len(shape) - 1 {
		key += ".0"
	}
	text := jsonList(shape)
	return blocked{number, fmt.Sprintf(`"path":"%s","type":"%s","shape":%s,"block":%s,"chain":0,"segment":{"off":%d,"len":%d,"stride":0,"count":1}`,
		path, typ, text, text, begin, len(data)), []entry{stored(path+"/"+key, data)}}
}

func jsonList(list []int) string {
	out := "["
	for i, x := range list {
		if i > 0 {
			out += ","
		}
		out += fmt.Sprint(x)
	}
	return out + "]"
}

// goodFiles are netCDF files of every version, with indeterminate numbers of records.
func goodFiles() []vector {
	v := func(name, section, what string, a *archive) vector {
		return vector{name, what, image, ok, section, a}
	}
	return []vector{
		v("cdf2", "1.3", "a CDF-2 file", version(2)),
		v("cdf5", "1.3", "a CDF-5 file with a variable of each type that CDF-5 added", version(5)),
		v("streaming", "1.3", "an indeterminate number of records, of which the last is not complete", streaming(1, math.MaxUint32)),
		v("streaming_cdf5", "1.3", "an indeterminate number of records in CDF-5", streaming(5, math.MaxUint64)),
		v("vsize_wrong", "1.3", "vsize has no meaning", whole(headerOf(1, length(0), dimensions, length(1), name("x"), length(2), absent, length(0),
			variables, length(1), name("v"), length(1), length(0), absent, length(0), tag(ncByte), length(77), place(80)), []byte{1, 2, 0, 0})),
		v("records_longest", "1.3", "records of 2^63 - 3 bytes, which have no padding, since there is one record variable", whole(headerOf(5, length(0), dimensions, length(2),
			name("t"), length(0), name("x"), length(1<<63-3), absent, length(0), variables, length(1),
			name("v"), length(2), length(0), length(1), absent, length(0), tag(ncByte), length(0), place(0)), nil)),
	}
}

// version returns a file of a version of the format with a variable of each of its types. The
// variables are fixed, of two elements each.
func version(v byte) *archive {
	types := []string{"byte", "char", "short", "int", "float", "double", "ubyte", "ushort", "uint", "int64", "uint64"}
	sizes := []int{1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8}
	if v < 5 {
		types = types[:6]
	}
	make := func(start int) (header, data []byte, vars []blocked, padding []byte) {
		parts := []any{length(0), dimensions, length(1), name("x"), length(2), attributes, length(1), name("a"), tag(ncByte), length(1)}
		b := headerOf(v, parts...)
		b = append(b, 7, 0, 0, 0)
		b = append(b, headerOf(v, variables, length(len(types)))[4:]...)
		for i, typ := range types {
			n := 2 * sizes[i]
			values := []byte(typ + "................")[:n]
			begin := start + len(data)
			b = append(b, headerOf(v, name(typ), length(1), length(0), absent, length(0), tag(i+1), length((n+3)/4*4), place(begin))[4:]...)
			vars = append(vars, fixed(i, typ, typ, []int{2}, begin, values))
			data = append(data, values...)
			for len(data)%4 != 0 {
				data, padding = append(data, 0xee), append(padding, 0xee)
			}
		}
		return b, data, vars, padding
	}
	header, _, _, _ := make(0)
	header, data, vars, padding := make(len(header))
	return split(header, data, padding, vars...)
}

// streaming returns a file of two record variables, bytes b(time) and shorts s(time), with three
// records and a part of the fourth.
func streaming(v byte, numrecs uint64) *archive {
	make := func(start int) []byte {
		return headerOf(v, length(numrecs), dimensions, length(1), name("time"), length(0), absent, length(0), variables, length(2),
			name("b"), length(1), length(0), absent, length(0), tag(ncByte), length(4), place(start),
			name("s"), length(1), length(0), absent, length(0), tag(ncShort), length(4), place(start+4))
	}
	n := len(make(0))
	header := make(n)
	data := []byte{1, 9, 9, 9, 0, 11, 9, 9, 2, 9, 9, 9, 0, 22, 9, 9, 3, 9, 9, 9, 0, 33, 9, 9, 4, 9, 9, 9, 0}
	rest := []byte{9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 4, 9, 9, 9, 0}
	recs := func(number int, path, typ string, off, size int, values []byte) blocked {
		return blocked{number, fmt.Sprintf(`"path":"%s","type":"%s","shape":[3],"block":[3],"chain":0,"segment":{"off":%d,"len":%d,"stride":8,"count":3}`,
			path, typ, off, size), []entry{stored(path+"/0", values)}}
	}
	return split(header, data, rest, recs(0, "b", "byte", n, 1, []byte{1, 2, 3}), recs(1, "s", "short", n+4, 2, []byte{0, 11, 0, 22, 0, 33}))
}
