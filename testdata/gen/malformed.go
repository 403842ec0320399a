package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
)

// broken is a file of testdata/malformed.
type broken struct {
	name, fault string
	image       []byte
	at          int64 // expected offset in the error; -1 if not classic netCDF
}

// fault is one error in a file. make changes a mixed file of 3 records.
type fault struct {
	name, fault string
	versions    string // "" for all
	make        func(m *maker, b []byte) (image []byte, at int64)
}

func malformed() []broken {
	var files []broken
	for _, f := range faults() {
		for _, v := range []cdf3.Version{cdf3.Classic, cdf3.Offset64, cdf3.Data64} {
			digit := string('0' + rune(v))
			if f.versions != "" && !strings.Contains(f.versions, digit) {
				continue
			}
			m := newMaker(v, f.name)
			b, at := f.make(m, mixedImage(m, 3))
			files = append(files, broken{"cdf" + digit + "_" + f.name + ".nc", f.fault, b, at})
		}
	}
	base := func() []byte { return mixedImage(newMaker(cdf3.Classic, "base"), 3) }
	hdf5 := append([]byte("\x89HDF\r\n\x1a\n"), make([]byte, 88)...)
	return append(files, []broken{
		{"empty.nc", "the file has no bytes", []byte{}, -1},
		{"magic_cut.nc", "the file ends inside the magic number", []byte("CDF"), -1},
		{"magic_lower.nc", "the magic number is in lower case", append([]byte("cdf\x01"), base()[4:]...), -1},
		{"version_3.nc", "format version 3", append([]byte("CDF\x03"), base()[4:]...), -1},
		{"version_4.nc", "format version 4", append([]byte("CDF\x04"), base()[4:]...), -1},
		{"byte_swapped.nc", "the bytes of each word are in reverse order", swap(base()), -1},
		{"hdf5.nc", "an HDF5 file", hdf5, -1},
		{"hdf5_user_block.nc", "an HDF5 file after a user block of 512 bytes", append(make([]byte, 512), hdf5...), -1},
		{"gzip.nc", "a gzip file", []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"), -1},
		{"transfer_crlf.nc", "transferred as text: every LF became CR LF", bytes.ReplaceAll(base(), []byte("\n"), []byte("\r\n")), 8},
		{"transfer_no_nul.nc", "all NULs removed by a version control system", bytes.ReplaceAll(base(), []byte{0}, nil), 8},
		{"version_changed.nc", "CDF-1 whose version byte was changed to 2", append([]byte("CDF\x02"), base()[4:]...), 140},
	}...)
}

func swap(b []byte) []byte {
	for i := 0; i+4 <= len(b); i += 4 {
		b[i], b[i+1], b[i+2], b[i+3] = b[i+3], b[i+2], b[i+1], b[i]
	}
	return b
}

func faults() []fault {
	put32 := func(b []byte, at int64, n uint32) ([]byte, int64) {
		binary.BigEndian.PutUint32(b[at:], n)
		return b, at
	}
	putCount := func(m *maker, b []byte, at int64, n uint64) ([]byte, int64) {
		copy(b[at:], m.count(n))
		return b, at
	}
	type change = func(m *maker, b []byte) ([]byte, int64)
	count := func(at func(m *maker) int64, n uint64) change {
		return func(m *maker, b []byte) ([]byte, int64) { return putCount(m, b, at(m), n) }
	}
	// rewritten is the mixed header changed by f and followed by zeros.
	rewritten := func(f func(m *maker) (at int64)) change {
		return func(m *maker, b []byte) ([]byte, int64) {
			at := f(m)
			return append(m.header(), make([]byte, 64)...), at
		}
	}
	dimsCount := func(m *maker) int64 { return m.dimsAt() + 4 }
	dimName := func(m *maker) int64 { return m.dimsAt() + m.listLen() }
	dimLen := func(m *maker) int64 { return m.dimsAt() + m.listLen() + m.wide() + 4 }
	dim1Len := func(m *maker) int64 { return dimLen(m) + 2*m.wide() + 4 }
	attrName := func(m *maker) int64 { return m.attrsAt() + m.listLen() }
	attrType := func(m *maker) int64 { return attrName(m) + m.wide() + 8 }
	attrLen := func(m *maker) int64 { return attrType(m) + 4 }
	ndims := func(m *maker) int64 { return m.ndimsAt(4) }
	dimID := func(m *maker) int64 { return m.ndimsAt(4) + m.wide() }
	const most = math.MaxUint64
	return []fault{
		{"cut_numrecs", "the file ends inside numrecs", "", func(m *maker, b []byte) ([]byte, int64) { return b[:6], 4 }},
		{"cut_before_dims", "the file ends after numrecs", "", func(m *maker, b []byte) ([]byte, int64) { return b[:m.dimsAt()], m.dimsAt() }},
		{"cut_dim_name", "the file ends inside the name of a dimension", "", func(m *maker, b []byte) ([]byte, int64) {
			return b[:m.attrsAt()-m.wide()-2], m.attrsAt() - m.wide() - 4 - m.wide()
		}},
		{"cut_after_dims", "the file ends after the dimensions", "", func(m *maker, b []byte) ([]byte, int64) { return b[:m.attrsAt()], m.attrsAt() }},
		{"cut_vars_count", "the file ends after the tag of the variables", "", func(m *maker, b []byte) ([]byte, int64) { return b[:m.varsAt()+4], m.varsAt() + 4 }},
		{"cut_begin", "the file ends inside the last field of the header", "", func(m *maker, b []byte) ([]byte, int64) { return b[:m.Len-1], m.beginAt(6) }},
		{"dims_tag", "the dimension list has the tag of variables", "", func(m *maker, b []byte) ([]byte, int64) { return put32(b, m.dimsAt(), 0x0b) }},
		{"attrs_tag", "the attribute list has an unknown tag", "", func(m *maker, b []byte) ([]byte, int64) { return put32(b, m.attrsAt(), 0x0c000000) }},
		{"vars_tag", "the variable list has an unknown tag", "", func(m *maker, b []byte) ([]byte, int64) { return put32(b, m.varsAt(), 1) }},
		{"var_attrs_tag", "an attribute list of a variable has an unknown tag", "", func(m *maker, b []byte) ([]byte, int64) { return put32(b, m.varAttrsAt(1), 0x0d) }},
		{"var_attrs_tag_empty", "an empty attribute list of a variable has an unknown tag", "", func(m *maker, b []byte) ([]byte, int64) { return put32(b, m.varAttrsAt(0), 0x0d) }},
		{"absent_with_count", "the dimension list has a count but no tag", "", func(m *maker, b []byte) ([]byte, int64) {
			b, at := put32(b, m.dimsAt(), 0)
			return b, at + 4
		}},
		{"dims_count", "2^28 dimensions", "", count(dimsCount, 1<<28)},
		{"dims_count_most", "as many dimensions as the field can hold", "", count(dimsCount, most)},
		{"dim_name_len", "a name of 2^30 bytes", "", count(dimName, 1<<30)},
		{"dim_name_len_most", "a name as long as the field can hold", "", count(dimName, most)},
		{"dim_len_negative", "a dimension of length -1", "15", count(dim1Len, most)},
		{"attrs_count_most", "as many attributes as the field can hold", "", count(func(m *maker) int64 { return m.attrsAt() + 4 }, most)},
		{"attr_type_0", "type code 0 of an attribute", "", func(m *maker, b []byte) ([]byte, int64) { return put32(b, attrType(m), 0) }},
		{"attr_type_12", "type code 12 of an attribute", "", func(m *maker, b []byte) ([]byte, int64) { return put32(b, attrType(m), 12) }},
		{"attr_len_most", "as many elements as the field can hold", "", count(attrLen, most)},
		{"attr_len_wraps", "elements whose bytes are 2^64", "5", func(m *maker, b []byte) ([]byte, int64) {
			b, _ = put32(b, attrType(m), uint32(cdf3.Double))
			return putCount(m, b, attrLen(m), 1<<61)
		}},
		{"vars_count", "2^27 variables", "", count(func(m *maker) int64 { return m.varsAt() + 4 }, 1<<27)},
		{"var_name_len", "a name of 2^31 bytes", "", count(func(m *maker) int64 { return m.varAt(0) }, 1<<31)},
		{"ndims", "2^20 dimensions of a variable", "", count(ndims, 1<<20)},
		{"ndims_wraps", "dimensions of a variable whose numbers take 2^64 bytes", "5", count(ndims, 1<<61)},
		{"dimid", "a dimension number one too large", "", count(dimID, 3)},
		{"dimid_negative", "a dimension number of all ones", "", count(dimID, most)},
		{"type_0", "type code 0 of a variable", "", func(m *maker, b []byte) ([]byte, int64) { return put32(b, m.typeAt(4), 0) }},
		{"type_12", "type code 12 of a variable with dimensions", "", func(m *maker, b []byte) ([]byte, int64) { return put32(b, m.typeAt(4), 12) }},
		{"begin_negative", "begin is negative", "", func(m *maker, b []byte) ([]byte, int64) {
			b[m.beginAt(0)] = 0x80
			return b, m.beginAt(0)
		}},
		{"begin_overflow", "begin is 2^63-1", "25", rewritten(func(m *maker) int64 {
			m.Vars[0].Begin = math.MaxInt64
			return m.beginAt(0)
		})},
		{"unlimited_second", "the unlimited dimension is not the first of a variable", "", rewritten(func(m *maker) int64 {
			m.Vars[0].DimIDs = []int{1, 0}
			return m.ndimsAt(0) + 2*m.wide()
		})},
		{"unlimited_twice", "the unlimited dimension occurs twice in a variable", "", rewritten(func(m *maker) int64 {
			m.Vars[0].DimIDs = []int{0, 0}
			return m.ndimsAt(0) + 2*m.wide()
		})},
		{"unlimited_two", "a variable has two unlimited dimensions", "", rewritten(func(m *maker) int64 {
			m.Dims[2].Len = 0
			m.Vars[4].DimIDs = []int{0, 2}
			return m.ndimsAt(2) + 2*m.wide() // variable 2 is a record variable too
		})},
		{"shape_overflow", "the length of a variable is 2^64 and more", "", rewritten(func(m *maker) int64 {
			m.Dims[1].Len = math.MaxInt32
			m.Vars[0].DimIDs = []int{1, 1, 1}
			return m.typeAt(0)
		})},
		{"record_overflow", "the size of a record is 2^63 and more", "25", rewritten(func(m *maker) int64 {
			m.Dims[1].Len = 1 << 30
			m.Dims[2].Len = 1 << 31
			m.Vars[0].DimIDs = []int{0, 1, 2} // 2^62 bytes
			m.Vars[1].DimIDs = []int{0, 1, 2} // 2^64: two records of it
			m.Vars[1].Type = cdf3.Short
			return m.beginAt(1)
		})},
		{"numrecs_overflow", "the records take 2^63 bytes and more", "5", func(m *maker, b []byte) ([]byte, int64) { return putCount(m, b, 4, 1<<62) }},
		{"numrecs_negative", "numrecs is 2^63", "5", func(m *maker, b []byte) ([]byte, int64) { return putCount(m, b, 4, 1<<63) }},
	}
}
