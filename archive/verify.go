package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"reflect"
	"slices"

	"encoding/json"

	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/unlimited"
)

// VerifyOptions of Verify. Nil and the zero value mean the defaults.
type VerifyOptions struct {
	Workers int // goroutines that decode; 0: GOMAXPROCS
	// Progress, if not nil, is told the bytes done so far: those of the archive,
	// then those of the image.
	Progress func(done int64)
}

// Report is what Verify found.
type Report struct {
	Size      int64  // of the archive
	Entries   int64  // of the ZIP
	Blocks    int64  // of data
	Image     string // base name of the image
	ImageSize int64
	SHA256    string // of the image, as the manifest has it
	Damage    []Damage
}

// The kinds of damage.
const (
	DamageHeader    = "local header"
	DamageBlock     = "block"
	DamageMetadata  = "metadata"
	DamagePlan      = "plan"
	DamageManifest  = "manifest"
	DamageIndex     = "index"
	DamageDirectory = "directory"
	DamageEnd       = "end"
	DamageImage     = "image"
)

// Damage is one thing that is wrong.
type Damage struct {
	Kind         string
	Off, Len     int64 // archive bytes, -1 if unknown
	Var          string
	Start, Count []int64 // index range of the variable, for blocks
	Text         string
}

// Verify checks every byte of an archive: each entry's checksum, each structure
// against every other, and the SHA-256 of the image. Damage goes into the report;
// the error is for archives that cannot be judged (ErrNotArchive, ErrVersion) and
// for failing reads.
func Verify(ctx context.Context, r io.ReaderAt, size int64, o *VerifyOptions) (*Report, error) {
	if o == nil {
		o = &VerifyOptions{}
	}
	head, end, err := probeArchive(r, size)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	if !head && !end {
		return nil, fmt.Errorf("archive: %w", ErrNotArchive)
	}
	v := &verifier{ctx: ctx, o: o, walker: walker{r: r, size: size}, rep: &Report{Size: size}}
	if err := v.run(); err != nil {
		return nil, err
	}
	return v.rep, nil
}

// verifier walks an archive from its first byte to its last, steering by the
// local headers and, where one is damaged, by the index.
type verifier struct {
	walker
	ctx    context.Context
	o      *VerifyOptions
	rep    *Report
	l      *layout
	header *cdf3.Header
	index  *blockidx.Reader // nil if it cannot be used
	tail   *tail            // nil if it cannot be used
	table  *blockidx.Table
	front  []zipEntry
	off    int64 // where the walk is
	crc    uint32
	stored int64 // bytes of blocks
	first  zipEntry
	buf    []byte
}

// run returns an error only if the archive cannot be judged.
func (v *verifier) run() error {
	v.readTail()
	if err := v.walkFront(); err != nil || v.l == nil {
		return err
	}
	table, err := blockidx.NewTable(v.l.blocks)
	if err != nil {
		return err
	}
	defer table.Close()
	v.table = table
	whole, err := v.walkBlocks()
	if err != nil {
		return err
	}
	if whole {
		if err := v.checkTail(); err != nil {
			return err
		}
	}
	if err := v.checkHeader(); err != nil {
		return err
	}
	if len(v.rep.Damage) > 0 {
		return v.decodeBlocks()
	}
	return v.checkImage()
}

// damage notes an error, and passes on what is none of the archive's fault.
func (v *verifier) damage(kind string, off, n int64, err error) error {
	if err == nil {
		return nil
	}
	if !errors.Is(err, ErrCorrupt) {
		return err
	}
	d := Damage{Kind: kind, Off: off, Len: n, Text: err.Error()}
	var b *BlockError
	if errors.As(err, &b) {
		d.Var, d.Start, d.Count = b.Var, b.Start, b.Count
	}
	v.rep.Damage = append(v.rep.Damage, d)
	return nil
}

// readTail finds the index, which is of help where local headers are damaged.
// What is wrong with the tail itself is reported by checkTail.
func (v *verifier) readTail() {
	if v.size < endLen {
		return
	}
	b := make([]byte, endLen)
	if unlimited.ReadFull(v.r, b, v.size-endLen) != nil {
		return
	}
	t, err := parseTail(b, v.size)
	if err != nil {
		return
	}
	v.tail = &t
	idx := zipEntry{name: indexName, stored: t.idxLen, size: t.idxLen, off: t.idxOff}
	if t.idxLen < blockidx.HeaderLen {
		return
	}
	data := io.NewSectionReader(v.r, idx.end()-idx.stored, idx.stored)
	head := make([]byte, blockidx.HeaderLen)
	if unlimited.ReadFull(data, head, 0) == nil {
		v.index, _ = blockidx.NewReader(data, t.idxLen, head, 0)
	}
}

// walkFront checks what precedes the blocks. Without a plan nothing further can
// be told apart: then every entry's checksum is checked.
func (v *verifier) walkFront() error {
	l, entries, err := v.walker.front()
	if errors.Is(err, ErrVersion) {
		return err
	}
	for i := range entries {
		if err := v.checkMeta(&entries[i]); err != nil {
			return err
		}
	}
	if n := len(entries); n > 0 {
		v.off = entries[n-1].end()
	}
	v.front = entries
	if err != nil {
		kind := DamageHeader
		if l == nil && len(entries) == 1 {
			kind = DamagePlan
		}
		if err := v.damage(kind, v.off, -1, err); err != nil {
			return err
		}
		return v.walkBlind()
	}
	v.l = l
	if v.index != nil && v.index.Rows() != l.blocks {
		v.index = nil
	}
	v.rep.Blocks, v.rep.ImageSize = l.blocks, l.Image.Size
	return nil
}

// checkMeta checks an entry of the front and adds it to the front's checksum.
func (v *verifier) checkMeta(e *zipEntry) error {
	payload, err := v.payload(e)
	if err != nil {
		return err
	}
	v.crc = crc32.Update(v.crc, crc32.IEEETable, e.appendLocal(nil))
	v.crc = crc32.Update(v.crc, crc32.IEEETable, payload)
	data, err := inflate(e, payload, maxHeader)
	if err == nil && e.name == readmeName && string(data) != readme {
		err = corruptf("%s has another text", readmeName)
	}
	return v.damage(DamageMetadata, e.off, e.end()-e.off, err)
}

// walkBlind checks the entries of an archive whose plan is lost, as far as the
// local headers lead.
func (v *verifier) walkBlind() error {
	for v.off < v.size {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		e, err := v.at(v.off)
		if err != nil {
			// The directory comes next, or the headers lead no further.
			return nil
		}
		if e.method == methodStored {
			payload, err := v.payload(&e)
			if err != nil {
				return err
			}
			if got := crcOf(payload); got != e.crc {
				err := corruptf("%q: checksum %08x, expected %08x", e.name, got, e.crc)
				if err := v.damage(DamageBlock, e.off, e.end()-e.off, err); err != nil {
					return err
				}
			}
		}
		v.off = e.end()
	}
	return nil
}

// walkBlocks checks header and checksum of every block. It returns false if
// neither the headers nor the index lead to the end.
func (v *verifier) walkBlocks() (whole bool, err error) {
	var name []byte
	whole = true
	one := func(i int, b int64) bool {
		if err = v.ctx.Err(); err != nil {
			return false
		}
		name = v.l.appendName(name[:0], i, b)
		whole, err = v.walkBlock(i, b, string(name))
		if v.o.Progress != nil {
			v.o.Progress(v.off)
		}
		return whole && err == nil
	}
	if one(-1, 0) {
		v.l.storedOrder(one)
	}
	for b := int64(1); whole && err == nil && b < v.l.restBlocks; b++ {
		one(-1, b)
	}
	return whole, err
}

// walkBlock checks the entry of a block where the walk is and moves on.
func (v *verifier) walkBlock(i int, b int64, name string) (bool, error) {
	e, err := v.expect(v.off, name)
	n := v.l.number(i, b)
	if err != nil {
		if err := v.damage(DamageHeader, v.off, -1, newBlockError(v.l, v.header, i, b, v.off, err)); err != nil {
			return false, err
		}
	}
	if byIndex, ok := v.fromIndex(n, name); ok {
		if err == nil && byIndex != e {
			err := newBlockError(v.l, v.header, i, b, v.off, corruptf("local header and index disagree"))
			if err := v.damage(DamageHeader, v.off, e.localLen(), err); err != nil {
				return false, err
			}
		}
		// The index has a checksum of its own, the header has none.
		e, err = byIndex, nil
	}
	if err != nil {
		return false, nil
	}
	row := blockidx.Row{Off: e.end() - e.stored, Len: e.stored, Mask: e.mask, CRC: e.crc}
	if err := v.table.Set(n, row); err != nil {
		return false, err
	}
	if n == v.l.restFirst {
		v.first = e
	}
	v.stored += e.stored
	if int64(cap(v.buf)) < e.stored {
		v.buf = make([]byte, e.stored)
	}
	stored := v.buf[:e.stored]
	if err := unlimited.ReadFull(v.r, stored, row.Off); err != nil {
		return false, fmt.Errorf("archive: %w", err)
	}
	if got := crcOf(stored); got != e.crc {
		err := newBlockError(v.l, v.header, i, b, row.Off, corruptf("checksum %08x, expected %08x", got, e.crc))
		if err := v.damage(DamageBlock, row.Off, row.Len, err); err != nil {
			return false, err
		}
	} else if n == v.l.restFirst {
		// From here on damage can be named by variable.
		h, err := decodeHeader(v.l, &e, stored)
		if err == nil {
			err = v.l.checkHeader(h)
		}
		if err != nil {
			return true, v.damage(DamageBlock, row.Off, row.Len, err)
		}
		v.header = h
	}
	v.off = e.end()
	return true, nil
}

// fromIndex is the entry of a block as the index has it, if that fits the walk.
func (v *verifier) fromIndex(n int64, name string) (zipEntry, bool) {
	if v.index == nil {
		return zipEntry{}, false
	}
	row, err := v.index.Row(n)
	if err != nil {
		return zipEntry{}, false
	}
	e := zipEntry{name: name, crc: row.CRC, stored: row.Len, size: row.Len, mask: row.Mask, off: v.off}
	return e, e.end() == row.Off+row.Len && e.end() <= v.size
}

// checkTail checks the manifest and everything behind it.
func (v *verifier) checkTail() error {
	man, err := v.expect(v.off, manifestName)
	var payload []byte
	if err == nil {
		payload, err = v.payload(&man)
	}
	if err == nil {
		err = v.checkManifest(&man, payload)
	}
	if err != nil {
		if err := v.damage(DamageManifest, v.off, -1, err); err != nil || man.name != manifestName {
			return err
		}
	}
	t := tailWriter{l: v.l, front: v.front, table: v.table, man: man, manCRC: crcOf(payload)}
	if v.tail != nil && err != nil {
		// The end line has the manifest's checksum as it was.
		t.manCRC = v.tail.manCRC
	}
	same := &comparer{r: v.r, off: man.end(), size: v.size}
	if _, err := t.writeTo(same); err != nil {
		return err
	}
	idxLen, err := blockidx.Size(v.l.blocks)
	if err != nil {
		return err
	}
	idx := zipEntry{name: indexName, stored: idxLen, size: idxLen, off: man.end()}
	for _, d := range same.differ {
		kind := DamageDirectory
		switch {
		case d.off < idx.end():
			kind = DamageIndex
		case d.off >= same.off-endLen:
			kind = DamageEnd
		}
		err := corruptf("%s: bytes %d to %d are not what the entries give", kind, d.off, d.end)
		if err := v.damage(kind, d.off, d.end-d.off, err); err != nil {
			return err
		}
	}
	if v.size > same.off {
		return v.damage(DamageEnd, same.off, v.size-same.off, corruptf("%d bytes behind the end at byte %d", v.size-same.off, same.off))
	}
	return nil
}

// checkManifest compares the manifest with what was found.
func (v *verifier) checkManifest(e *zipEntry, payload []byte) error {
	if v.tail != nil && crcOf(payload) != v.tail.manCRC {
		return corruptf("manifest at byte %d: checksum %08x, expected %08x", e.off, crcOf(payload), v.tail.manCRC)
	}
	data, err := inflate(e, payload, 0)
	if err != nil {
		return err
	}
	m := &Manifest{}
	if err := json.Unmarshal(data, m); err != nil {
		return corruptf("manifest: %v", err)
	}
	frontEnd := v.front[len(v.front)-1].end()
	want := Manifest{
		Name: m.Name, NameHex: m.NameHex, SHA256: m.SHA256,
		Size: v.l.Image.Size, Entries: int64(len(v.front)) + v.l.blocks + 2, Blocks: v.l.blocks, Stored: v.stored,
		Front: Front{frontEnd, hex32(v.crc)}, Header: Place{v.first.end() - v.first.stored, v.first.stored},
	}
	v.rep.Image, v.rep.SHA256, v.rep.Entries = m.ImageName(), m.SHA256, want.Entries
	if *m != want {
		return corruptf("manifest says %s, found %s", data, encodeJSON(want))
	}
	return nil
}

// checkHeader compares plan and Zarr metadata with the netCDF header.
func (v *verifier) checkHeader() error {
	if v.header == nil {
		return nil
	}
	segs, why := unlimited.Plan(v.header, v.l.Image.Size)
	names := pathNames{pooled: v.l.Layout == Pooled, taken: map[string]bool{}}
	for i := range v.l.Vars {
		pv := &v.l.Vars[i]
		name := v.header.Vars[pv.Var].Name
		_, longest := v.l.vars[i].keysLen()
		path, ok := names.of(name, pv.Var, longest)
		var err error
		switch {
		case why[pv.Var] != unlimited.Blocked:
			err = corruptf("plan: variable %q is blocked, but %s", name, why[pv.Var])
		case segs[pv.Var] != pv.Segment:
			err = corruptf("plan: variable %q has segment %+v, expected %+v", name, pv.Segment, segs[pv.Var])
		case !ok || path != pv.Path:
			err = corruptf("plan: variable %q has path %q, expected %q", name, pv.Path, path)
		}
		if err := v.damage(DamagePlan, -1, -1, err); err != nil {
			return err
		}
	}
	if v.l.Layout != Viewed {
		return nil
	}
	return v.checkZarr()
}

// checkZarr compares the Zarr metadata with what the netCDF header gives.
func (v *verifier) checkZarr() error {
	want, _ := zarrMeta(v.header, v.l.Plan)
	for _, f := range want {
		i := slices.IndexFunc(v.front, func(e zipEntry) bool { return e.name == f.name })
		if i < 0 {
			if err := v.damage(DamageMetadata, -1, -1, corruptf("%q is missing", f.name)); err != nil {
				return err
			}
			continue
		}
		e := &v.front[i]
		got, err := v.content(e)
		if err == nil && !sameJSON(got, f.data) {
			err = corruptf("%q does not follow from the netCDF header", f.name)
		}
		if err := v.damage(DamageMetadata, e.off, e.end()-e.off, err); err != nil {
			return err
		}
	}
	return nil
}

// sameJSON compares two documents by their values.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// checkImage opens the archive as a reader does and compares the image's SHA-256.
func (v *verifier) checkImage() error {
	a, err := NewReader(v.r, v.size, &ReaderOptions{Cache: -1})
	if err == nil {
		progress := v.o.Progress
		if progress != nil {
			progress = func(done int64) { v.o.Progress(v.size + done) }
		}
		err = a.Copy(v.ctx, nil, &CopyOptions{Workers: v.o.Workers, Progress: progress})
	}
	if err == nil {
		return nil
	}
	var b *BlockError
	if errors.As(err, &b) {
		return v.decodeBlocks()
	}
	return v.damage(DamageImage, -1, -1, err)
}

// decodeBlocks decodes every block by itself, to name all that fail. Those whose
// checksum is wrong were reported.
func (v *verifier) decodeBlocks() error {
	a, err := NewReader(v.r, v.size, &ReaderOptions{Cache: -1})
	if err != nil {
		return nil // what is wrong with it has been reported
	}
	known := map[int64]bool{}
	for _, d := range v.rep.Damage {
		known[d.Off] = true
	}
	var buf []byte
	for n := range a.l.blocks {
		i, b := a.l.locate(n)
		_, size := a.l.blockInfo(i, b)
		if int64(cap(buf)) < size {
			buf = make([]byte, size)
		}
		err := a.readBlock(v.ctx, n, buf[:size])
		var be *BlockError
		if errors.As(err, &be) && known[be.StoredOff] {
			continue
		}
		if err := v.damage(DamageBlock, -1, -1, err); err != nil {
			return err
		}
	}
	return nil
}
