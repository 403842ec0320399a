package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/unlimited"
)

// What a verifier compares with what: the tail with the entries, the plan and the
// metadata with the netCDF header, the image with its sum.

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
	data, err := inflate(e, payload, maxManifest)
	if err != nil {
		return err
	}
	m, err := readManifest(data)
	if err != nil {
		return err
	}
	frontEnd := v.front[len(v.front)-1].end()
	want := Manifest{
		Name: m.Name, NameHex: m.NameHex, SHA256: m.SHA256,
		Size: v.l.Image.Size, Entries: int64(len(v.front)) + v.l.blocks + 2, Blocks: v.l.blocks, Stored: v.stored,
		Front: Front{frontEnd, hex32(v.crc)}, Plan: v.plan, Header: v.first,
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
		_, longest := v.l.geoms[i].keysLen()
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
	// The walk is over, and its reads ahead with it: the front is read by itself.
	front := make([]byte, v.front[len(v.front)-1].end())
	if err := ioat.ReadFull(ioat.Bind(v.ctx, v.src), front, 0); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	v.walker.r = bytes.NewReader(front)
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
	a, err := newReader(v.src, v.size, &readOptions{cache: -1})
	if err == nil {
		progress := v.o.Progress
		if progress != nil {
			progress = func(done int64) { v.o.Progress(v.size + done) }
		}
		err = a.Copy(v.ctx, nil, &copyOptions{Workers: v.o.Workers, Progress: progress})
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
	a, err := newReader(v.src, v.size, &readOptions{cache: -1})
	if err != nil {
		return nil // what is wrong with it has been reported
	}
	known := map[int64]bool{}
	for _, d := range v.rep.Damage {
		known[d.Off] = true
	}
	read := a.readBlock
	ahead := a.newBlocksAhead(v.ctx)
	if ahead != nil {
		read = ahead.readBlock
		defer ahead.close()
	}
	var buf []byte
	for n := range a.l.blocks {
		if ahead != nil {
			if err := ahead.begun(n); err != nil {
				return err
			}
		}
		i, b := a.l.locate(n)
		_, size := a.l.blockInfo(i, b)
		if int64(cap(buf)) < size {
			buf = make([]byte, size)
		}
		err := read(v.ctx, n, buf[:size])
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
