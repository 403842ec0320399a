package main

import (
	"encoding/binary"
	"fmt"
	"strings"
)

var be = binary.BigEndian

// netCDF types.
const (
	ncByte   = 1
	ncShort  = 3
	ncInt    = 4
	ncFloat  = 5
	ncDouble = 6
)

// words is big-endian 32-bit numbers, and names padded to four bytes.
func words(list ...any) (b []byte) {
	for _, x := range list {
		switch x := x.(type) {
		case int:
			b = be.AppendUint32(b, uint32(x))
		case string:
			b = be.AppendUint32(b, uint32(len(x)))
			b = append(b, x...)
			for len(b)%4 != 0 {
				b = append(b, 0)
			}
		}
	}
	return b
}

func base() *archive {
	return &archive{name: `"name":"x.nc",`}
}

// smallest returns the archive of an empty netCDF file.
func smallest() *archive {
	a := base()
	a.image = append([]byte("CDF\x01"), make([]byte, 28)...)
	a.plan = `{"format":1,"features":[],"writer":"vectors","image":{"size":32,"header":32},"block":262144,` +
		`"chains":[[{"id":32015,"params":[3]}]],"rest":{"len":32,"first":32,"block":262144,"chain":0},"vars":[],"groups":[]}`
	a.blocks = []entry{stored(".cdfz/rest/0", zstdFrame(a.image))}
	a.number = []int{0}
	return a
}

// recordsHeader is the length of the header of the records image.
const recordsHeader = 200

// recordsImage returns a CDF-1 file of three records with nonzero padding. Its
// variables are a(time, x), n(x), s and t(time).
func recordsImage() []byte {
	const begin = recordsHeader
	b := append([]byte("CDF\x01"), words(3, 0x0a, 2, "time", 0, "x", 3, 0, 0, 0x0b, 4,
		"a", 2, 0, 1, 0, 0, ncShort, 8, begin+12,
		"n", 1, 1, 0, 0, ncByte, 4, begin,
		"s", 0, 0, 0, ncDouble, 8, begin+4,
		"t", 1, 0, 0, 0, ncInt, 4, begin+20)...)
	if len(b) != begin {
		panic(fmt.Sprintf("header of %d bytes", len(b)))
	}
	b = append(b, 1, 2, 3, 0xee)
	b = append(b, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0)
	for i := range 3 {
		for j := range 3 {
			b = be.AppendUint16(b, uint16(0x1000+256*i+j))
		}
		b = append(b, 0xee, 0xee)
		b = be.AppendUint32(b, uint32(10*i))
	}
	return b
}

// recordsPlan stores a in blocks of two records, n without filters, and s in the rest.
const recordsPlan = `{"format":1,"features":[],"writer":"vectors","image":{"size":248,"header":200},"block":1024,` +
	`"chains":[[{"id":32015,"params":[3]}],[{"id":2,"params":[2]},{"id":1,"params":[6],"optional":true}],[]],` +
	`"rest":{"len":215,"first":200,"block":1024,"chain":0},"vars":[` +
	`{"var":0,"path":"a","type":"short","shape":[3,3],"block":[2,3],"chain":1,"segment":{"off":212,"len":6,"stride":12,"count":3}},` +
	`{"var":1,"path":"n","type":"byte","shape":[3],"block":[3],"chain":2,"segment":{"off":200,"len":3,"stride":0,"count":1}},` +
	`{"var":3,"path":"t","type":"int","shape":[3],"block":[3],"chain":2,"segment":{"off":220,"len":4,"stride":12,"count":3}}],` +
	`"groups":[[1],[0,2]]}`

// Positions of the blocks of the records archive, in stored order.
const (
	header = iota // .cdfz/rest/0
	n0            // n/0
	a0            // a/0.0
	a1            // a/1.0: padded, and deflate left out
	t0            // t/0
	rest1         // .cdfz/rest/1
)

func records() *archive {
	a := base()
	a.image, a.plan = recordsImage(), recordsPlan
	var va, t, rest []byte
	for i := range 3 {
		rec := a.image[212+12*i:][:12]
		va, t = append(va, rec[:6]...), append(t, rec[8:]...)
	}
	rest = append(append(rest, a.image[203]), a.image[204:212]...)
	for range 3 {
		rest = append(rest, 0xee, 0xee)
	}
	padded := append([]byte{}, va[12:]...)
	for len(padded) < 12 {
		padded = append(padded, va[16:]...)
	}
	a.blocks = []entry{
		stored(".cdfz/rest/0", zstdFrame(a.image[:200])),
		stored("n/0", a.image[200:203]),
		stored("a/0.0", zlibStream(shuffle(va[:12], 2))),
		stored("a/1.0", shuffle(padded, 2)),
		stored("t/0", t),
		stored(".cdfz/rest/1", zstdFrame(rest)),
	}
	a.blocks[a1].mask = 2
	a.number = []int{4, 2, 0, 1, 3, 5}
	return a
}

// viewed returns a Zarr store: v(x), two shorts with an attribute.
func viewed() *archive { return store("valid_min", ncInt, -5, "null", `"valid_min":-5`) }

// filled returns a Zarr store whose variable has the fill value -2.
func filled() *archive { return store("_FillValue", ncShort, -2<<16, "-2", `"_FillValue":-2`) }

// store returns a Zarr store of v(x), two shorts with an attribute of one value, which is
// given as the word of the header and as JSON.
func store(attr string, typ, word int, fill, value string) *archive {
	a := base()
	b := append([]byte("CDF\x01"), words(0, 0x0a, 1, "x", 2, 0x0c, 1, "title", 2, "abc", 0x0b, 1,
		"v", 1, 0, 0x0c, 1, attr, typ, 1, word, ncShort, 4, 132)...)
	// The value of title is char, its length 3 and padded, like a name written by
	// words.
	if len(b) != 132 {
		panic(fmt.Sprintf("header of %d bytes", len(b)))
	}
	a.image = append(b, 0, 1, 0xff, 0xfe)
	a.plan = `{"format":1,"features":[],"writer":"vectors","zarr":"viewed","image":{"size":136,"header":132},"block":1024,` +
		`"chains":[[{"id":32015,"params":[3],"codec":{"id":"zstd","level":3}}],` +
		`[{"id":2,"params":[2],"codec":{"id":"shuffle","elementsize":2}},{"id":1,"params":[6],"codec":{"id":"zlib","level":6}}]],` +
		`"rest":{"len":132,"first":132,"block":1024,"chain":0},"vars":[` +
		`{"var":0,"path":"v","type":"short","shape":[2],"block":[2],"chain":1,"segment":{"off":132,"len":4,"stride":0,"count":1}}],"groups":[[0]]}`
	zarray := `{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":">i2","order":"C","fill_value":` + fill + `,` +
		`"filters":[{"id":"shuffle","elementsize":2}],"compressor":{"id":"zlib","level":6}}`
	list := [][2]string{
		{".zgroup", `{"zarr_format":2}`}, {".zattrs", `{"title":"abc"}`},
		{"v/.zarray", zarray}, {"v/.zattrs", `{"_ARRAY_DIMENSIONS":["x"],` + value + `}`},
	}
	var all []string
	for _, f := range list {
		a.meta = append(a.meta, deflated(f[0], f[1]))
		all = append(all, fmt.Sprintf("%q:%s", f[0], f[1]))
	}
	a.meta = append(a.meta, deflated(".zmetadata", `{"metadata":{`+strings.Join(all, ",")+`},"zarr_consolidated_format":1}`))
	a.blocks = []entry{stored(".cdfz/rest/0", zstdFrame(b)), stored("v/0", zlibStream(shuffle(a.image[132:], 2)))}
	a.number = []int{1, 0}
	return a
}

// consolidated returns the same Zarr store with only consolidated metadata.
func consolidated() *archive {
	return with(viewed(), func(a *archive) {
		a.plan = swap(a.plan, `"zarr":"viewed"`, `"zarr":"consolidated"`)
		a.meta = []entry{a.meta[0], a.meta[1], a.meta[4]}
	})
}

// one returns an archive of a file with one variable, v(x) of 8 bytes, encoded with a
// chain.
func one(chain string, block []byte) *archive {
	a := base()
	b := append([]byte("CDF\x01"), words(0, 0x0a, 1, "x", 8, 0, 0, 0x0b, 1, "v", 1, 0, 0, 0, ncByte, 8, 80)...)
	if len(b) != 80 {
		panic(fmt.Sprintf("header of %d bytes", len(b)))
	}
	a.image = append(b, oneValues...)
	a.plan = `{"format":1,"features":[],"writer":"vectors","image":{"size":88,"header":80},"block":1024,` +
		`"chains":[[],` + chain + `],"rest":{"len":80,"first":80,"block":1024,"chain":0},"vars":[` +
		`{"var":0,"path":"v","type":"byte","shape":[8],"block":[8],"chain":1,"segment":{"off":80,"len":8,"stride":0,"count":1}}],"groups":[[0]]}`
	a.blocks = []entry{stored(".cdfz/rest/0", b), stored("v/0", block)}
	a.number = []int{1, 0}
	return a
}

var oneValues = []byte("ABCDEFGH")
