package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"

	"github.com/cdfz-format/cdfz/archive/internal/blocks"
	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/evidence"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/zarrview"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/unlimited"
)

// Comparisons of a verifier: the tail with the entries, plan and metadata with the
// netCDF header, the image with its sums.

// checkTail checks the manifest and everything after it.
func (v *verifier) checkTail() error {
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

// checkHeader compares plan and Zarr metadata with the netCDF header.
func (v *verifier) checkHeader() error {
	if v.header == nil {
		return nil
	}
	_, why := unlimited.Plan(v.header, v.l.Image.Size)
	names := plan.PathNames{Pooled: v.l.Layout == plan.Pooled, Taken: map[string]bool{}}
	for i := range v.l.Vars {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		pv := &v.l.Vars[i]
		name := v.header.Vars[pv.Var].Name
		_, longest := v.l.Geoms[i].KeysLen()
		path, ok := names.Of(name, pv.Var, longest)
		var err error
		switch {
		case why[pv.Var] != unlimited.Blocked:
			err = fault.Corruptf("plan: variable %q is blocked, but %s", name, why[pv.Var])
		case !ok || path != pv.Path:
			err = fault.Corruptf("plan: variable %q: expected path %q, found %q", name, path, pv.Path)
		}
		if err := v.damage(DamagePlan, -1, -1, err); err != nil {
			return err
		}
	}
	for i, p := range v.l.Pools {
		for _, n := range p.Vars {
			if err := v.ctx.Err(); err != nil {
				return err
			}
			if why[n] == unlimited.Blocked {
				continue
			}
			err := fault.Corruptf("plan: variable %q is in pool %d, but %s", v.header.Vars[n].Name, i, why[n])
			if err := v.damage(DamagePlan, -1, -1, err); err != nil {
				return err
			}
		}
	}
	if err := v.checkCodecs(); err != nil || v.front == nil {
		return err
	}
	return v.checkFront()
}

// checkCodecs compares the codecs of chains with their filters, and the plan's codes
// for the Zarr view with the codecs.
func (v *verifier) checkCodecs() error {
	type cut struct {
		chain int
		len   int64
	}
	views := map[cut]plan.NotViewed{}
	judged := make([]bool, len(v.l.Filters))
	for i, c := range v.l.Filters {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		var want []plan.PlanFilter // for the first filter with a codec
		judged[i] = true
		for j, f := range v.l.Chains[i] {
			// Plugins of other machines may have other codecs.
			if m, known := filters.Lookup(f.ID); !known || m.Origin != "" {
				judged[i] = false
				continue
			}
			if len(f.Codec) > 0 && want == nil {
				want, _ = plan.PlanFilters(c, 0)
			}
			if len(f.Codec) > 0 && !sameJSON(f.Codec, want[j].Codec) {
				err := fault.Corruptf("plan: filter %d: expected codec %s, found %s", f.ID, want[j].Codec, f.Codec)
				if err := v.damage(DamagePlan, -1, -1, err); err != nil {
					return err
				}
			}
		}
	}
	for i := range v.l.Vars {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		pv := &v.l.Vars[i]
		c := cut{pv.Chain, v.l.Geoms[i].BlockLen}
		why, known := views[c]
		if !known && v.l.Layout.HasView() {
			_, why = plan.PlanFilters(v.l.Filters[c.chain], c.len)
			views[c] = why
		}
		want := why
		if v.l.Layout.HasView() {
			want = plan.ViewAt(pv.Path, why)
		}
		if judged[pv.Chain] && pv.View != want {
			err := fault.Corruptf("plan: variable %q: expected view %q, found %q", pv.Path, string(want), string(pv.View))
			if err := v.damage(DamagePlan, -1, -1, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkFront compares the entries between plan and blocks with those that follow from
// the netCDF header and the plan: Zarr metadata if the archive has a view. Entries of later
// versions are allowed anywhere.
func (v *verifier) checkFront() error {
	front := v.kept
	if front == nil {
		// The walk and its read-ahead have ended, so the front is read separately.
		front = make([]byte, v.front[len(v.front)-1].End())
		if err := ioat.ReadFull(ioat.Bind(v.ctx, v.src), front, 0); err != nil {
			return fmt.Errorf("archive: %w", err)
		}
	}
	v.R = bytes.NewReader(front)
	var want []zarrview.MetaFile
	if v.l.Layout.HasView() {
		var err error
		if want, err = zarrview.ZarrMeta(v.ctx, v.header, v.l.Plan, czip.MetaLimit(v.Size, 0)); errors.Is(err, plan.ErrMetadata) {
			return v.damage(DamageMetadata, -1, -1, blocks.Corrupt(err))
		} else if err != nil {
			return err
		}
	}
	place := make(map[string]int, len(want))
	for i, f := range want {
		place[f.Name] = i
	}
	next, seen := 0, map[string]bool{}
	missing := func(until int) error {
		for ; next < until; next++ {
			if err := v.damage(DamageMetadata, -1, -1, fault.Corruptf("%q is missing", want[next].Name)); err != nil {
				return err
			}
		}
		return nil
	}
	for i := 2; i < len(v.front); i++ {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		e := &v.front[i]
		n, ours := place[e.Name]
		var err error
		switch {
		case ours && n >= next:
			if err := missing(n); err != nil {
				return err
			}
			next++
			var got []byte
			if got, err = v.Content(v.ctx, e); err == nil && !sameJSON(got, want[n].Data) {
				err = fault.Corruptf("%q does not follow from the netCDF header", e.Name)
			}
		case ours || seen[e.Name]:
			err = fault.Corruptf("%q occurs twice or out of order", e.Name)
		case !evidence.Foreign(e.Name):
			err = fault.Corruptf("%q is not an entry that the format allows here", e.Name)
		}
		seen[e.Name] = true
		if err := v.damage(DamageMetadata, e.Off, e.End()-e.Off, err); err != nil {
			return err
		}
	}
	return missing(len(want))
}

// sameJSON compares two documents by their values.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, err := decodeJSON(a)
	y, failed := decodeJSON(b)
	return err == nil && failed == nil && reflect.DeepEqual(x, y)
}

// decodeJSON decodes a document with exact integers.
func decodeJSON(data []byte) (x any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err = d.Decode(&x); err != nil {
		return nil, err
	}
	if _, err = d.Token(); err != io.EOF {
		return nil, errors.New("expected one JSON value")
	}
	return withNumbers(x), nil
}

// withNumbers replaces the texts of numbers by int64, by uint64 beyond it, and by float64
// if they are no such integers. So 1 equals 1.0, and integers beyond 2^53 differ.
func withNumbers(x any) any {
	switch x := x.(type) {
	case map[string]any:
		for k, v := range x {
			x[k] = withNumbers(v)
		}
	case []any:
		for i, v := range x {
			x[i] = withNumbers(v)
		}
	case json.Number:
		if n, err := strconv.ParseInt(x.String(), 10, 64); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(x.String(), 10, 64); err == nil {
			return n
		}
		f, err := x.Float64()
		switch {
		case err != nil: // out of range
			return x
		case f == math.Trunc(f) && f >= -1<<63 && f < 1<<63:
			return int64(f)
		case f == math.Trunc(f) && f >= 1<<63 && f < 1<<64:
			return uint64(f)
		}
		return f
	}
	return x
}

// checkImage opens the archive like a reader and compares the image's sums. A reader would
// find the plan and the header of the options, since the manifest has their checksums.
func (v *verifier) checkImage(o *blocks.ReadOptions) error {
	v.done.walk(v.Size)
	err, begun := v.image.end()
	if !begun {
		err = v.decodeImage(v.ctx, v.src, o, nil)
	}
	if err == nil {
		return nil
	}
	var b *fault.BlockError
	if errors.As(err, &b) {
		return v.decodeBlocks()
	}
	return v.damage(DamageImage, -1, -1, err)
}

// decodeBlocks decodes each block separately to name all that fail. Blocks with a wrong
// checksum were already reported.
func (v *verifier) decodeBlocks() error {
	a, err := blocks.NewReader(v.ctx, v.origin, v.Size, &blocks.ReadOptions{Cache: -1})
	if err != nil {
		return nil // already reported
	}
	a.CheckPadding = true
	known := map[int64]bool{}
	for _, d := range v.rep.Damage {
		known[d.Off] = true
	}
	read := a.ReadBlock
	ahead := a.NewBlocksAhead(v.ctx)
	if ahead != nil {
		read = ahead.ReadBlock
		defer ahead.Close()
	}
	var buf []byte
	for n := range a.L.Blocks {
		if ahead != nil {
			if err := ahead.Begun(n); err != nil {
				return err
			}
		}
		b := a.L.BlockAt(n)
		if int64(cap(buf)) < b.Len {
			buf = make([]byte, b.Len)
		}
		err := read(v.ctx, b, buf[:b.Len])
		var be *fault.BlockError
		if errors.As(err, &be) && known[be.StoredOff] {
			continue
		}
		if err := v.damage(DamageBlock, -1, -1, err); err != nil {
			return err
		}
	}
	return nil
}
