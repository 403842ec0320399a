package verify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/evidence"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/zarrview"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/unlimited"
)

// Comparison of plan and metadata with the netCDF header.

// checkHeader compares plan and Zarr metadata with the netCDF header.
func (v *verifier) checkHeader() error {
	if v.header == nil {
		return nil
	}
	_, why := unlimited.Plan(v.header, v.l.Image.Size)
	names := plan.PathNames{Pooled: v.l.Layout() == plan.Pooled, Taken: map[string]bool{}}
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

// fromPlugin reports whether the codec of a built-in filter may come from a plugin. ours is the
// registered one, or nil. A stored one that ours cannot read does, unless it has the name of
// another codec.
func fromPlugin(ours *filters.Codec, text json.RawMessage) bool {
	switch {
	case ours != nil && ours.Origin != "":
		return true
	case len(text) == 0:
		return false
	case ours == nil:
		return true
	}
	var head struct{ ID string }
	if json.Unmarshal(text, &head) != nil {
		return false
	}
	if head.ID == ours.ID {
		_, err := ours.Params(text)
		return err != nil
	}
	return !slices.ContainsFunc(filters.Registered(), func(id uint32) bool { return filters.CodecID(id) == head.ID })
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
			// Plugins of other machines may have other filters and codecs.
			if m, known := filters.Lookup(f.ID); !known || m.Origin != "" || fromPlugin(m.Codec, f.Codec) {
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
		if !known && v.l.Zarr.HasView() {
			_, why = plan.PlanFilters(v.l.Filters[c.chain], c.len)
			views[c] = why
		}
		want := why
		if v.l.Zarr.HasView() {
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
	if v.l.Zarr.HasView() {
		var err error
		if want, err = zarrview.ZarrMeta(v.ctx, v.header, v.l.Plan, czip.MetaLimit(v.Size, 0), nil); errors.Is(err, plan.ErrMetadata) {
			return v.damage(DamageMetadata, -1, -1, opening.Corrupt(err))
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
	for i := 1; i < len(v.front); i++ {
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
