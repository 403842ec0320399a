package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"hash/crc32"
	"strings"
)

var le = binary.LittleEndian

// entry is an entry of the ZIP.
type entry struct {
	name   string
	method uint16
	raw    []byte // uncompressed
	data   []byte // as stored
	mask   uint32
	off    int // of the local header, once written

	// Faults.
	local  func(header []byte) // changes the local header
	record func(record []byte) // changes the directory record
	before []byte              // bytes between the previous entry and this one
}

// stored returns an entry with data stored unchanged.
func stored(name string, data []byte) entry { return entry{name: name, raw: data, data: data} }

// deflated returns a metadata entry in one uncompressed deflate block. Its text is
// readable in a dump and the same on every machine.
func deflated(name, text string) entry {
	return entry{name: name, method: 8, raw: []byte(text), data: rawDeflate([]byte(text))}
}

func rawDeflate(b []byte) []byte {
	out := []byte{1}
	out = le.AppendUint16(out, uint16(len(b)))
	out = le.AppendUint16(out, ^uint16(len(b)))
	return append(out, b...)
}

func (e *entry) dataOff() int { return e.off + 30 + len(e.name) + len(e.extra()) }

func (e *entry) extra() []byte {
	if e.mask == 0 {
		return nil
	}
	return le.AppendUint32([]byte{0xf3, 0xcd, 4, 0}, e.mask)
}

// common appends the fields that local header and directory record share.
func (e *entry) common(b []byte) []byte {
	version, flags := uint16(10), uint16(0)
	if e.method == 8 {
		version = 20
	}
	if strings.IndexFunc(e.name, func(r rune) bool { return r >= 0x80 }) >= 0 {
		flags = 0x800
	}
	for _, x := range []uint16{version, flags, e.method, 0, 0x21} {
		b = le.AppendUint16(b, x)
	}
	for _, x := range []int{int(crc32.ChecksumIEEE(e.raw)), len(e.data), len(e.raw)} {
		b = le.AppendUint32(b, uint32(x))
	}
	b = le.AppendUint16(b, uint16(len(e.name)))
	return le.AppendUint16(b, uint16(len(e.extra())))
}

func (e *entry) header() []byte {
	b := e.common([]byte("PK\x03\x04"))
	b = append(append(b, e.name...), e.extra()...)
	if e.local != nil {
		e.local(b)
	}
	return b
}

func (e *entry) centralRecord() []byte {
	b := e.common([]byte("PK\x01\x02\x00\x03"))
	b[4] = b[6]
	b = append(b, 0, 0, 0, 0, 0, 0)
	b = le.AppendUint32(b, 0o100644<<16)
	b = le.AppendUint32(b, uint32(e.off))
	b = append(append(b, e.name...), e.extra()...)
	if e.record != nil {
		e.record(b)
	}
	return b
}

// row is a row of the index.
type row struct {
	off, len  int
	mask, crc uint32
}

// archive holds the parts of an archive. The fields after image are faults.
type archive struct {
	plan   string
	meta   []entry // Zarr metadata, and entries of later versions
	blocks []entry // in stored order
	number []int   // global number of each block
	copies bool    // second copies
	back   []entry // entries of later versions before the manifest
	parity *layout // nil: none
	name   string  // members of the manifest for the image's name
	image  []byte

	after int // bytes after the parity

	front     func([]entry) []entry // plan and meta
	copied    func([]entry)         // second copies
	manifest  func(string) string
	storedMan bool
	afterMan  bool                     // a byte after the deflate stream of the manifest
	manBlanks int                      // blanks after the manifest
	manData   func(text string) []byte // the deflate stream of the manifest, without the blanks
	blanks    int                      // blanks after the plan
	planData  func(text string) []byte // its deflate stream, without the blanks
	rows      func([]row)
	moreRows  int
	index     func([]byte) // after its checksums
	afterRows int          // bytes after the index's rows
	gap       int          // bytes before the index
	line      func(string) string
	directory func([]entry) []entry
	endRecord func([]byte)
	file      func([]byte) []byte
}

func hex32(x uint32) string { return fmt.Sprintf("%08x", x) }

// bytes assembles the archive.
func (a *archive) bytes() []byte {
	var out []byte
	var all []entry
	put := func(e entry) entry {
		out = append(out, e.before...)
		e.off = len(out)
		out = append(append(out, e.header()...), e.data...)
		all = append(all, e)
		return e
	}
	planEntry := deflated(".cdfz/plan.json", a.plan)
	if a.planData != nil {
		planEntry.data = a.planData(a.plan)
		planEntry.raw = append(planEntry.raw, bytes.Repeat([]byte(" "), a.blanks)...)
	}
	front := append([]entry{planEntry}, a.meta...)
	if a.front != nil {
		front = a.front(front)
	}
	var plan entry
	for _, e := range front {
		if e = put(e); e.name == ".cdfz/plan.json" {
			plan = e
		}
	}
	frontLen, frontCRC := len(out), crc32.ChecksumIEEE(out)
	rows := make([]row, len(a.blocks))
	total := 0
	var first entry
	for i, e := range a.blocks {
		e = put(e)
		rows[a.number[i]] = row{e.dataOff(), len(e.data), e.mask, crc32.ChecksumIEEE(e.data)}
		total += len(e.data)
		if e.name == ".cdfz/rest/0" {
			first = e
		}
	}
	var places string
	if a.copies {
		plan, first := plan, first
		plan.name, first.name = ".cdfz/copy/plan.json", ".cdfz/copy/header"
		both := []entry{plan, first}
		if a.copied != nil {
			a.copied(both)
		}
		both[0], both[1] = put(both[0]), put(both[1])
		places = fmt.Sprintf(`,"copies":{"plan":%d,"header":%d}`, both[0].dataOff(), both[1].dataOff())
	}
	for _, e := range a.back {
		put(e)
	}
	if l := a.parity; l != nil {
		l.off = len(out)
		// The bytes that follow, of manifest, index, directory and end, are counted in a
		// second pass. Their number does not depend on the records.
		l.lay(l.off + a.after)
		e := stored(".cdfz/parity", l.empty())
		e.local = l.local
		e = put(e)
		l.from, l.end = e.dataOff(), len(out)
		places += fmt.Sprintf(`,"parity":%d`, l.off)
	}
	man := fmt.Sprintf(`{%s"size":%d,"sha256":"%x","entries":%d,"blocks":%d,"stored":%d,"front":{"len":%d,"crc32":"%08x"},`+
		`"plan":{"off":%d,"len":%d,"crc32":"%08x"},"header":{"off":%d,"len":%d,"crc32":"%08x"}%s}`,
		a.name, len(a.image), sha256.Sum256(a.image), len(all)+2, len(rows), total, frontLen, frontCRC,
		plan.dataOff(), len(plan.data), crc32.ChecksumIEEE(plan.data), first.dataOff(), len(first.data), crc32.ChecksumIEEE(first.data), places)
	if first.mask != 0 {
		man = strings.Replace(man, `"header":{`, fmt.Sprintf(`"header":{"mask":%d,`, first.mask), 1)
	}
	if a.manifest != nil {
		man = a.manifest(man)
	}
	e := deflated(".cdfz/manifest.json", man)
	if a.manData != nil {
		e.data = a.manData(man)
		e.raw = append(e.raw, bytes.Repeat([]byte(" "), a.manBlanks)...)
	}
	if a.storedMan {
		e = stored(".cdfz/manifest.json", []byte(man))
	}
	if a.afterMan {
		e.data = append(e.data, 0)
	}
	e = put(e)
	if a.rows != nil {
		a.rows(rows)
	}
	index := indexBytes(append(rows, make([]row, a.moreRows)...))
	if a.index != nil {
		a.index(index)
	}
	indexEntry := stored(".cdfz/index", append(index, make([]byte, a.afterRows)...))
	indexEntry.before = make([]byte, a.gap)
	x := put(indexEntry)
	index = x.data
	line := fmt.Sprintf("cdfz 1 manifest %016x %08x %08x index %016x %016x %08x ",
		e.off, len(e.data), crc32.ChecksumIEEE(e.data), x.off, len(index), crc32.ChecksumIEEE(index))
	if a.line != nil {
		line = a.line(line)
	}
	out = a.tail(out, all, line)
	if l := a.parity; l != nil {
		if after := len(out) - l.end; after != a.after {
			a.after = after
			return a.bytes()
		}
		l.fill(out)
	}
	if a.file != nil {
		out = a.file(out)
	}
	return out
}

// tail appends directory and end.
func (a *archive) tail(out []byte, all []entry, line string) []byte {
	if a.directory != nil {
		all = a.directory(all)
	}
	start := len(out)
	for i := range all {
		out = append(out, all[i].centralRecord()...)
	}
	end := []byte("PK\x05\x06\x00\x00\x00\x00")
	end = le.AppendUint16(end, uint16(len(all)))
	end = le.AppendUint16(end, uint16(len(all)))
	end = le.AppendUint32(end, uint32(len(out)-start))
	end = le.AppendUint32(end, uint32(start))
	end = le.AppendUint16(end, 109)
	if a.endRecord != nil {
		a.endRecord(end)
	}
	return append(append(out, end...), line+hex32(crc32.ChecksumIEEE([]byte(line)))+"\n"...)
}

// indexBytes returns an index of one page.
func indexBytes(rows []row) []byte {
	b := append([]byte("cdfzidx\x01"), make([]byte, 32)...)
	le.PutUint64(b[8:], uint64(len(rows)))
	le.PutUint32(b[16:], 256)
	le.PutUint32(b[20:], 20)
	for _, r := range rows {
		b = le.AppendUint64(b, uint64(r.off))
		b = le.AppendUint32(b, uint32(r.len))
		b = le.AppendUint32(b, r.mask)
		b = le.AppendUint32(b, r.crc)
	}
	sealIndex(b)
	return b
}

// sealIndex fills in the checksums.
func sealIndex(b []byte) {
	le.PutUint32(b[28:], crc32.ChecksumIEEE(b[:28]))
	le.PutUint32(b[32:], crc32.ChecksumIEEE(b[36:]))
}

// The encoders. All of them store, so their output is the same everywhere.

func zlibStream(b []byte) []byte {
	out := append([]byte{0x78, 0x01}, rawDeflate(b)...)
	return binary.BigEndian.AppendUint32(out, adler32.Checksum(b))
}

// zstdFrame returns a frame with one raw block, of at most 255 bytes.
func zstdFrame(b []byte) []byte {
	return append(append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x20, byte(len(b))}, zstdBlockHead(b)...), b...)
}

func zstdBlockHead(b []byte) []byte {
	h := len(b)<<3 | 1
	return []byte{byte(h), byte(h >> 8), byte(h >> 16)}
}

func shuffle(b []byte, size int) []byte {
	n := len(b) / size
	out := make([]byte, len(b))
	for i := range n {
		for j := range size {
			out[j*n+i] = b[i*size+j]
		}
	}
	copy(out[n*size:], b[n*size:])
	return out
}

func crcOf(b []byte) uint32 { return crc32.ChecksumIEEE(b) }
