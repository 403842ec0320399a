package main

import (
	"bytes"
	"fmt"
	"math"
)

// badHeaders are netCDF headers that are malformed, and headers whose variables cannot be blocked as
// the plan has them.
func badHeaders() []vector {
	v := func(name, what string, header []byte) vector {
		return vector{"header_" + name, what, damage, damage, "1.3", whole(header, make([]byte, 8))}
	}
	none := []any{absent, length(0)}
	parts := func(list ...any) (out []any) {
		for _, x := range list {
			if l, ok := x.([]any); ok {
				out = append(out, l...)
			} else {
				out = append(out, x)
			}
		}
		return out
	}
	// file is a header with dimensions and variables.
	file := func(version byte, records uint64, dims, vars []any) []byte {
		return headerOf(version, parts(length(records), dims, none, vars)...)
	}
	dims := func(lengths ...uint64) []any {
		out := []any{dimensions, length(len(lengths))}
		for _, n := range lengths {
			out = append(out, name("d"), length(n))
		}
		return out
	}
	// of is a variable of some dimensions.
	of := func(typ tag, begin uint64, ids ...uint64) []any {
		out := []any{name("v"), length(len(ids))}
		for _, id := range ids {
			out = append(out, length(id))
		}
		return append(out, absent, length(0), typ, length(0), place(begin))
	}
	vars := func(list ...[]any) []any {
		out := []any{variables, length(len(list))}
		for _, x := range list {
			out = append(out, x...)
		}
		return out
	}
	const most = math.MaxInt64
	short := base()
	short.image = []byte("CDF")
	short.plan = `{"format":1,"features":[],"writer":"vectors","image":{"size":3,"header":3},"block":1024,` +
		`"chains":[[]],"rest":{"len":3,"first":3,"block":1024,"chain":0},"vars":[],"groups":[]}`
	short.blocks, short.number = []entry{stored(".cdfz/rest/0", short.image)}, []int{0}
	cut := file(1, 0, none, none)
	return []vector{
		{"header_short", "an image of 3 bytes", damage, damage, "1.3", short},
		v("no_magic", "the image begins with CDX", append([]byte("CDX"), cut[3:]...)),
		v("version", "the image begins with CDF and 3", append([]byte("CDF\x03"), cut[4:]...)),
		v("tag", "a list with another tag", file(1, 0, []any{variables, length(1), name("d"), length(2)}, none)),
		v("tag_absent", "a list with tag 0 and an element", file(1, 0, []any{absent, length(1), name("d"), length(2)}, none)),
		v("list_long", "a list of more elements than the file has bytes", file(1, 0, []any{dimensions, length(1 << 30)}, none)),
		v("name_long", "a name longer than the file", headerOf(1, length(0), dimensions, length(1), length(1<<20))),
		v("name_padding", "a name whose padding is cut", append(headerOf(1, length(0), absent, length(0), attributes, length(1), length(9)), "12345678"...)),
		v("values_long", "an attribute of more values than the file has bytes", headerOf(1, length(0), absent, length(0), attributes, length(1), name("a"), tag(6), length(1<<20))),
		v("values_many", "an attribute of 2^61 + 1 doubles", append(headerOf(5, length(0), absent, length(0), attributes, length(1), name("a"), tag(6), length(1<<61+1)),
			append(make([]byte, 8), headerOf(5, absent, length(0))[4:]...)...)),
		v("attribute_type", "an attribute of type 12", append(headerOf(1, length(0), absent, length(0), attributes, length(1), name("a"), tag(12), length(0)),
			headerOf(1, absent, length(0))[4:]...)),
		v("attribute_type_zero", "an attribute of type 0", append(headerOf(1, length(0), absent, length(0), attributes, length(1), name("a"), tag(0), length(0)),
			headerOf(1, absent, length(0))[4:]...)),
		v("type_zero", "a variable of type 0", file(1, 0, dims(2), vars(of(0, 80, 0)))),
		v("type", "a variable of type 12", file(1, 0, dims(2), vars(of(12, 80, 0)))),
		v("dimension", "a variable with a dimension that is not there", file(1, 0, dims(2), vars(of(ncByte, 80, 1)))),
		v("dimension_records", "a record dimension in the second place", file(1, 1, dims(2, 0), vars(of(ncByte, 88, 0, 1)))),
		v("rank_long", "a variable of more dimensions than the file has bytes", headerOf(1, length(0), dimensions, length(1), name("d"), length(2), absent, length(0),
			variables, length(1), name("v"), length(1<<20), length(0))),
		v("length_cdf1", "a dimension of 2^31 in CDF-1", file(1, 0, dims(1<<31), none)),
		v("length_cdf5", "a dimension of 2^63 in CDF-5", file(5, 0, dims(1<<63), none)),
		v("begin_cdf1", "a begin of 2^31 in CDF-1", file(1, 0, dims(2), vars(of(ncByte, 1<<31, 0)))),
		v("begin_cdf2", "a begin of 2^63 in CDF-2", file(2, 0, dims(2), vars(of(ncByte, 1<<63, 0)))),
		v("numrecs_cdf5", "2^63 records in CDF-5", file(5, 1<<63, none, none)),
		v("bytes", "a variable of 2^63 bytes", file(5, 0, dims(1<<60), vars(of(ncDouble, 200, 0)))),
		v("bytes_shape", "a variable of 2^64 elements", file(5, 0, dims(1<<32), vars(of(ncByte, 200, 0, 0)))),
		v("end", "a variable that ends at byte 2^63", file(5, 0, dims(1<<62), vars(of(ncByte, 1<<62, 0)))),
		v("record", "records of 2^63 bytes", file(5, 0, dims(0, 1<<62), vars(of(ncByte, 200, 0, 1), of(ncByte, 200, 0, 1)))),
		v("record_padded", "a record variable whose padding takes the record beyond 2^63 bytes", file(5, 0, dims(0, most-2), vars(of(ncByte, 0, 0, 1), of(ncByte, 0, 0)))),
		v("records", "all records together have 2^63 bytes", file(5, 1<<32, dims(0, 1<<31), vars(of(ncByte, 200, 0, 1)))),
		v("records_end", "the last record ends beyond byte 2^63", file(5, 1<<31, dims(0, 1<<31), vars(of(ncByte, 1<<62, 0, 1)))),
		v("records_end_other", "the last record of the second variable ends beyond byte 2^63", file(5, 2, dims(0, 1<<60), vars(of(ncByte, 200, 0, 1), of(ncByte, most-1<<60, 0, 1)))),
	}
}

// badPlaces are variables that the plan has blocked where the header has them, but that lie where
// section 10.2 does not allow it.
func badPlaces() []vector {
	v := func(name, what string, a *archive) vector {
		return vector{"place_" + name, what, damage, damage, "10.2", a}
	}
	// some is a file of variables, a and b, of 4 bytes each.
	some := func(begin ...uint64) []byte {
		parts := []any{length(0), dimensions, length(1), name("d"), length(4), absent, length(0), variables, length(len(begin))}
		for i, at := range begin {
			parts = append(parts, name("ab"[i:i+1]), length(1), length(0), absent, length(0), tag(ncByte), length(4), place(at))
		}
		return headerOf(1, parts...)
	}
	n, one := len(some(0, 0)), len(some(0))
	same := []byte{7, 7, 7, 7}
	// recs is a file of two record variables, a and b, of 4 bytes a record.
	recs := func(count uint64, begin ...uint64) []byte {
		parts := []any{length(count), dimensions, length(2), name("t"), length(0), name("d"), length(4), absent, length(0), variables, length(len(begin))}
		for i, at := range begin {
			parts = append(parts, name("abc"[i:i+1]))
			if i < 2 {
				parts = append(parts, length(2), length(0), length(1))
			} else {
				parts = append(parts, length(1), length(1))
			}
			parts = append(parts, absent, length(0), tag(ncByte), length(4), place(at))
		}
		return headerOf(1, parts...)
	}
	record := func(number int, path string, off, count int, data []byte) blocked {
		return blocked{number, fmt.Sprintf(`"path":"%s","type":"byte","shape":[%d,4],"block":[%d,4],"chain":0,"segment":{"off":%d,"len":4,"stride":8,"count":%d}`,
			path, count, count, off, count), []entry{stored(path+"/0.0", data)}}
	}
	m, o := len(recs(2, 0, 0)), len(recs(2, 0, 0, 0))
	at := func(n int) uint64 { return uint64(n) }
	sevens := func(n int) []byte { return bytes.Repeat([]byte{7}, n) }
	a := func(off int) blocked { return fixed(0, "a", "byte", []int{4}, off, same) }
	b := func(off int) blocked { return fixed(1, "b", "byte", []int{4}, off, same) }
	within := some(at(n)-4, at(n)+4)
	inside := fixed(0, "a", "byte", []int{4}, n-4, within[n-4:])
	return []vector{
		// The last 4 bytes of the header are those of a, and the 4 bytes after it have the same values.
		v("header", "a variable within the header", split(within, append(within[n-4:n:n], same...), nil, inside, b(n+4))),
		v("beyond", "a variable that ends beyond the image", split(some(at(one)+2), same, nil, a(one+2))),
		v("overlap", "variables that overlap", split(some(at(n), at(n)), sevens(8), nil, a(n), b(n))),
		v("records_beyond", "records that end beyond the image", split(recs(3, at(m)+8, at(m)+12), sevens(24), nil,
			record(0, "a", m+8, 3, sevens(12)), record(1, "b", m+12, 3, sevens(12)))),
		v("records_overlap", "record variables that overlap", split(recs(2, at(m), at(m)+2), sevens(16), nil,
			record(0, "a", m, 2, sevens(8)), record(1, "b", m+2, 2, sevens(8)))),
		v("records_window", "a record variable that begins a record later", split(recs(2, at(m), at(m)+12), sevens(24), sevens(8),
			record(0, "a", m, 2, sevens(8)), record(1, "b", m+12, 2, sevens(8)))),
		v("records_between", "a variable between the first and the last record", split(recs(2, at(o), at(o)+4, at(o)+4), sevens(16), sevens(4),
			record(0, "a", o, 2, sevens(8)), fixed(2, "c", "byte", []int{4}, o+4, same))),
	}
}
