// Package hostile makes archives with false claims: any field of any structure is set
// to an extreme value, with valid checksums. It follows docs/FORMAT.md and shares no
// code with the packages under test.
package hostile

import (
	"archive/zip"
	"bytes"

	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/flate"
)

// Archive is an archive taken apart.
type Archive struct {
	front  []entry // up to the first block
	blocks []entry
	back   []entry // second copies, and entries of later versions before the manifest
	man    *node
	rows   []int // number of each block, in file order
	tail   tail
}

// entry is an entry of the ZIP.
type entry struct {
	name   string
	method uint16
	data   []byte // as stored
	raw    []byte // inflated
	mask   uint32
	off    int // offset of data in the new archive
	crc    uint32
	head   func([]byte) // changes the local header
	dir    func([]byte) // changes the directory record
}

// tail holds changes of the parts after the manifest.
type tail struct {
	index     func(b []byte) // called before its checksums are computed
	line      func(f []uint64)
	manifest  func(n *node)
	more      int  // number of added rows
	originals bool // plan and netCDF header are damaged, their second copies are not
}

const manifestName, indexName, headerName = ".cdfz/manifest.json", ".cdfz/index", ".cdfz/rest/0"

// copyNames are the names of second copies by the members of the manifest.
var copyNames = map[string]string{"plan": ".cdfz/copy/plan.json", "header": ".cdfz/copy/header"}

// Parse takes apart an intact archive.
func Parse(ar []byte) (*Archive, error) {
	z, err := zip.NewReader(bytes.NewReader(ar), int64(len(ar)))
	if err != nil {
		return nil, err
	}
	a := &Archive{}
	places := map[uint64]int{}
	for _, f := range z.File {
		r, err := f.OpenRaw()
		if err != nil {
			return nil, err
		}
		e := entry{name: f.Name, method: f.Method}
		if e.data, err = io.ReadAll(r); err != nil {
			return nil, err
		}
		if e.raw = e.data; f.Method == zip.Deflate {
			if e.raw, err = io.ReadAll(flate.NewReader(bytes.NewReader(e.data))); err != nil {
				return nil, err
			}
		}
		if len(f.Extra) == 8 {
			e.mask = binary.LittleEndian.Uint32(f.Extra[4:])
		}
		switch off, err := f.DataOffset(); {
		case err != nil:
			return nil, err
		case f.Name == manifestName:
			if a.man, err = parse(e.raw); err != nil {
				return nil, err
			}
		case f.Name == indexName:
			rows := int(binary.LittleEndian.Uint64(e.raw[8:]))
			for i := range rows {
				places[binary.LittleEndian.Uint64(e.raw[rowAt(i):])] = i
			}
		case f.Name == headerName || len(a.blocks) > 0:
			a.blocks = append(a.blocks, e)
			a.rows = append(a.rows, int(off))
		default:
			a.front = append(a.front, e)
		}
	}
	for i, off := range a.rows {
		n, ok := places[uint64(off)]
		if !ok {
			a.back = slices.Clone(a.blocks[i:])
			a.blocks, a.rows = a.blocks[:i:i], a.rows[:i:i]
			break
		}
		a.rows[i] = n
	}
	if len(a.rows) != len(places) {
		return nil, fmt.Errorf("hostile: %d blocks for %d rows of the index", len(a.rows), len(places))
	}
	return a, nil
}

// Header returns the stored bytes of block 0 of the rest, which begins with the netCDF header.
func (a *Archive) Header() []byte { return a.blocks[0].data }

// WithHeader returns an archive that has other stored bytes there. a is not changed.
func (a *Archive) WithHeader(stored []byte) *Archive {
	m := *a
	m.blocks = slices.Clone(a.blocks)
	m.blocks[0].data, m.blocks[0].raw = stored, stored
	return &m
}

func rowAt(i int) int { return 32 + i/256*5128 + 8 + i%256*20 }

// Bytes assembles the archive with correct places and checksums, except for the
// changes.
func (a *Archive) Bytes() []byte {
	var out []byte
	put := func(e *entry) {
		e.crc = crc32.ChecksumIEEE(e.raw)
		start := len(out)
		out = append(out, e.header(nil)...)
		if e.head != nil {
			e.head(out[start:])
		}
		e.off = len(out)
		out = append(out, e.data...)
	}
	for i := range a.front {
		put(&a.front[i])
	}
	front := len(out)
	sum := crc32.ChecksumIEEE(out)
	stored := 0
	for i := range a.blocks {
		put(&a.blocks[i])
		stored += len(a.blocks[i].data)
	}
	for i := range a.back {
		e := &a.back[i]
		switch e.name {
		case copyNames["plan"]:
			e.data, e.raw = a.front[0].data, a.front[0].raw
		case copyNames["header"]:
			e.data, e.raw, e.mask = a.blocks[0].data, a.blocks[0].raw, a.blocks[0].mask
		}
		put(e)
	}
	man := a.manifest(front, sum, stored)
	manOff := len(out)
	put(&man)
	index := entry{name: indexName}
	index.data = a.index()
	index.raw = index.data
	idxOff := len(out)
	put(&index)
	dirOff, n := len(out), 0
	for _, list := range [][]entry{a.front, a.blocks, a.back, {man, index}} {
		for _, e := range list {
			start := len(out)
			out = e.record(out)
			if e.dir != nil {
				e.dir(out[start:])
			}
			n++
		}
	}
	f := []uint64{uint64(manOff), uint64(len(man.data)), uint64(crc32.ChecksumIEEE(man.data)), uint64(idxOff), uint64(len(index.data)), uint64(index.crc)}
	if a.tail.line != nil {
		a.tail.line(f)
	}
	le := binary.LittleEndian
	end := le.AppendUint32(nil, 0x06054b50)
	end = append(end, 0, 0, 0, 0)
	end = le.AppendUint16(end, uint16(n))
	end = le.AppendUint16(end, uint16(n))
	end = le.AppendUint32(end, uint32(len(out)-dirOff))
	end = le.AppendUint32(end, uint32(dirOff))
	end = le.AppendUint16(end, 109)
	line := fmt.Sprintf("cdfz 1 manifest %016x %08x %08x index %016x %016x %08x ", f[0], uint32(f[1]), uint32(f[2]), f[3], f[4], uint32(f[5]))
	out = append(append(out, end...), line...)
	if a.tail.originals {
		for _, e := range []*entry{&a.front[0], &a.blocks[0]} {
			if len(e.data) > 0 {
				out[e.off] ^= 0xff
			}
		}
	}
	return fmt.Appendf(out, "%08x\n", crc32.ChecksumIEEE([]byte(line)))
}

// header appends the canonical local header to b.
func (e *entry) header(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, 0x04034b50)
	b = e.common(b)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(e.extra())))
	return append(append(b, e.name...), e.extra()...)
}

func (e *entry) common(b []byte) []byte {
	le := binary.LittleEndian
	version, flags := uint16(10), uint16(0)
	if e.method != 0 {
		version = 20
	}
	if strings.IndexFunc(e.name, func(r rune) bool { return r >= 0x80 }) >= 0 {
		flags = 1 << 11
	}
	for _, x := range []uint16{version, flags, e.method, 0, 0x21} {
		b = le.AppendUint16(b, x)
	}
	for _, x := range []uint32{e.crc, uint32(len(e.data)), uint32(len(e.raw))} {
		b = le.AppendUint32(b, x)
	}
	return le.AppendUint16(b, uint16(len(e.name)))
}

func (e *entry) extra() []byte {
	if e.mask == 0 {
		return nil
	}
	return binary.LittleEndian.AppendUint32([]byte{0xf3, 0xcd, 4, 0}, e.mask)
}

// record appends the canonical directory record to b.
func (e *entry) record(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(b, 0x02014b50)
	made := len(b)
	b = append(b, 0, 3)
	b = e.common(b)
	b[made] = b[made+2]
	b = le.AppendUint16(b, uint16(len(e.extra())))
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0, 0xa4, 0x81)
	b = le.AppendUint32(b, uint32(e.off-30-len(e.name)-len(e.extra())))
	return append(append(b, e.name...), e.extra()...)
}

// manifest returns the entry of the manifest with updated places.
func (a *Archive) manifest(front int, sum uint32, stored int) entry {
	m := a.man.clone()
	set := func(v any, path ...string) {
		n := m
		for _, name := range path {
			if n = n.member(name); n == nil {
				return
			}
		}
		b, _ := json.Marshal(v)
		n.text = string(b)
	}
	hex := func(x uint32) string { return fmt.Sprintf("%08x", x) }
	set(front, "front", "len")
	set(hex(sum), "front", "crc32")
	for name, copyName := range copyNames {
		for _, e := range a.back {
			if e.name == copyName {
				set(e.off, "copies", name)
			}
		}
	}
	for name, e := range map[string]*entry{"plan": &a.front[0], "header": &a.blocks[0]} {
		set(e.off, name, "off")
		set(len(e.data), name, "len")
		set(hex(crc32.ChecksumIEEE(e.data)), name, "crc32")
		set(e.mask, name, "mask")
	}
	set(stored, "stored")
	set(len(a.front)+len(a.blocks)+len(a.back)+2, "entries")
	if a.tail.manifest != nil {
		a.tail.manifest(m)
	}
	e := entry{name: manifestName, method: 8, raw: m.append(nil)}
	e.data = deflate(e.raw)
	return e
}

// index returns the stored bytes of the index.
func (a *Archive) index() []byte {
	le := binary.LittleEndian
	rows := len(a.blocks) + a.tail.more
	pages := (rows + 255) / 256
	b := make([]byte, 32+rows*20+pages*8)
	copy(b, "cdfzidx\x01")
	le.PutUint64(b[8:], uint64(rows))
	le.PutUint32(b[16:], 256)
	le.PutUint32(b[20:], 20)
	for p := range pages {
		le.PutUint32(b[32+p*5128+4:], uint32(p))
	}
	for i, e := range a.blocks {
		r := b[rowAt(a.rows[i]):]
		le.PutUint64(r, uint64(e.off))
		le.PutUint32(r[8:], uint32(len(e.data)))
		le.PutUint32(r[12:], e.mask)
		le.PutUint32(r[16:], e.crc)
	}
	if a.tail.index != nil {
		a.tail.index(b)
	}
	le.PutUint32(b[28:], crc32.ChecksumIEEE(b[:28]))
	for p := range pages {
		page := b[32+p*5128:]
		page = page[:min(len(page), 5128)]
		le.PutUint32(page, crc32.ChecksumIEEE(page[4:]))
	}
	return b
}

// deflate compresses as the writer does, so that archives that are not changed stay the same.
func deflate(b []byte) []byte {
	var out bytes.Buffer
	level := flate.BestCompression
	if len(b) < 64<<10 {
		level = 6
	}
	w, err := flate.NewWriter(&out, level)
	if err != nil {
		panic(err)
	}
	w.Write(b)
	w.Close()
	return out.Bytes()
}

// Plan returns the JSON of the plan.
func (a *Archive) Plan() []byte { return a.front[0].raw }

// WithPlan returns an archive that has another plan. a is not changed.
func (a *Archive) WithPlan(text []byte) *Archive {
	m := *a
	m.front = slices.Clone(a.front)
	m.front[0].data, m.front[0].raw = deflate(text), text
	return &m
}

// WithBlock returns an archive that has other stored bytes in the last block. a is not changed.
func (a *Archive) WithBlock(stored []byte) *Archive {
	m := *a
	m.blocks = slices.Clone(a.blocks)
	last := &m.blocks[len(m.blocks)-1]
	last.data, last.raw = stored, stored
	return &m
}
