package verify

import (
	"errors"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/evidence"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Comparison of manifest, index, directory and end with the entries.

// readTail finds the index, which helps where local headers are damaged. checkTail
// reports damage of the tail itself. The only error is that of a later format.
func (v *verifier) readTail() error {
	if v.Size < czip.EndLen {
		return nil
	}
	var t czip.Tail
	if v.end != nil {
		t = v.end.tail
	} else {
		b := make([]byte, czip.EndLen)
		if ioat.ReadFull(v.src, b, v.Size-czip.EndLen) != nil {
			return nil
		}
		var err error
		if t, err = czip.ParseTail(b, v.Size); errors.Is(err, fault.ErrVersion) {
			return err
		}
		if err != nil {
			return nil
		}
	}
	v.tail = &t
	idx := t.Index()
	if t.IdxLen < blockidx.HeaderLen {
		return nil
	}
	data := v.indexed().Section(idx.End()-idx.Stored, idx.Stored)
	head := make([]byte, blockidx.HeaderLen)
	if ioat.ReadFull(data, head, 0) == nil {
		v.index, _ = blockidx.NewReader(data, t.IdxLen, head, 0)
	}
	if g := v.src.Gap(); g > 0 && v.index != nil && opening.LoadIndex(v.index, t.IdxLen, g) != nil {
		v.index = nil
	}
	return nil
}

// checkTail checks the manifest and everything after it.
func (v *verifier) checkTail() error {
	if v.tail != nil && v.tail.ManOff != v.off {
		v.tail = nil // it says nothing about the manifest here: another archive may follow this one
	}
	man, err := v.Expect(v.off, czip.ManifestName)
	var payload []byte
	if err == nil {
		payload, err = v.Payload(&man)
	}
	if err == nil {
		err = v.checkManifest(&man, payload)
	}
	if err != nil {
		if err := v.damage(DamageManifest, v.off, -1, err); err != nil || man.Name != czip.ManifestName {
			return err
		}
	}
	t := plan.TailWriter{L: v.l, Front: v.front, Table: v.table, Back: v.back, Man: man, ManCRC: czip.CRC(payload)}
	if v.tail != nil && err != nil {
		// The end line has the manifest's original checksum.
		t.ManCRC = v.tail.ManCRC
	}
	same := &evidence.Comparer{R: v.R, Off: man.End(), Size: v.Size}
	if _, err := t.WriteTo(same); err != nil {
		return err
	}
	idxLen, err := blockidx.Size(v.l.Blocks)
	if err != nil {
		return err
	}
	idx := czip.ZipEntry{Name: czip.IndexName, Stored: idxLen, Size: idxLen, Off: man.End()}
	for _, d := range same.Differ {
		kind := DamageDirectory
		switch {
		case d.Off < idx.End():
			kind = DamageIndex
		case d.Off >= same.Off-czip.EndLen:
			kind = DamageEnd
		}
		err := fault.Corruptf("%s: bytes %d to %d do not follow from the entries", kind, d.Off, d.End())
		if err := v.damage(kind, d.Off, d.Len, err); err != nil {
			return err
		}
	}
	if v.Size > same.Off {
		return v.damage(DamageEnd, same.Off, v.Size-same.Off, fault.Corruptf("%d bytes after the end at byte %d", v.Size-same.Off, same.Off))
	}
	return nil
}

// checkManifest compares the manifest with the results of the walk.
func (v *verifier) checkManifest(e *czip.ZipEntry, payload []byte) error {
	if v.tail != nil && czip.CRC(payload) != v.tail.ManCRC {
		return fault.Corruptf("manifest at byte %d: expected checksum %08x, found %08x", e.Off, v.tail.ManCRC, czip.CRC(payload))
	}
	known := v.end != nil && v.end.inflates(e, payload)
	var data []byte
	var m *plan.Manifest
	var err error
	if known {
		data, m = v.end.text, v.end.man
	} else if data, err = czip.Inflate(v.ctx, e, payload, czip.MaxManifest); err != nil {
		return err
	} else if m, err = plan.ReadManifest(data); err != nil {
		return err
	}
	frontEnd := v.front[len(v.front)-1].End()
	want := plan.Manifest{
		Name: m.Name, NameHex: m.NameHex, SHA256: m.SHA256, Tree: m.Tree,
		Size: v.l.Image.Size, Entries: int64(len(v.front)) + v.l.Blocks + int64(len(v.back)) + 2, Blocks: v.l.Blocks, Stored: v.stored,
		Front: plan.Front{Len: frontEnd, CRC32: plan.Hex32(v.crc)}, Plan: v.plan, Header: v.first, Copies: v.copies, Loss: m.Loss,
	}
	if n := len(v.back); n > 0 && v.back[n-1].Name == czip.ParityName {
		want.Parity = v.back[n-1].Off
	}
	v.rep.Image, v.rep.SHA256, v.rep.Entries = m.ImageName(), m.SHA256, want.Entries
	v.rep.Rounded, v.rep.SourceSHA256 = m.Loss.Rounded()
	if n := len(v.rep.Rounded); n > 0 && v.header != nil && v.rep.Rounded[n-1] >= len(v.header.Vars) {
		return fault.Corruptf("manifest: variable %d was rounded, but the netCDF header has %d variables", v.rep.Rounded[n-1], len(v.header.Vars))
	}
	if *m != want {
		return fault.Corruptf("manifest: expected %s, found %s", plan.EncodeJSON(want), data)
	}
	if known {
		v.man = m
	}
	return nil
}
