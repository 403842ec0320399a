// Package write makes the archive of an image from its plan: the metadata before the blocks, the blocks, and the
// tail, each byte appended once.
package write

import (
	"context"
	"fmt"
	"math"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/zarrview"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/cdf3"
)

// Draft is a planned archive that is not yet written.
type Draft struct {
	Plan  *plan.Resolved
	Front []czip.MetaEntry // plan, Zarr metadata
}

// ManifestGuess is the length of the manifest in the bounds of layouts, in bytes: docs/FORMAT.md, "Thresholds of
// the layouts".
const ManifestGuess = 512

// mostMeta is the most bytes by which an entry of metadata may exceed czip.MetaBase.
const mostMeta = math.MaxInt64 - czip.MetaBase

// NewDraft plans the archive of an image of size bytes and makes its metadata. The metadata of a view may have
// so many bytes as the spec grants headers of blocks. ErrMetadata means that the layout needs more metadata
// than the format allows, or than that.
func NewDraft(ctx context.Context, h *cdf3.Header, size int64, s *plan.Spec, lay plan.Layout) (*Draft, error) {
	l, err := plan.NewPlan(ctx, h, size, s, lay)
	if err != nil {
		return nil, err
	}
	text, err := l.Encode(ctx)
	if err != nil {
		return nil, err
	}
	files := []zarrview.MetaFile{{Name: czip.PlanName, Data: text}}
	d := &Draft{Plan: l}
	if lay.HasView() {
		// Most small images fail here, which saves making the metadata.
		if d.Structural() > s.Headers {
			return nil, fmt.Errorf("archive: %w", plan.ErrMetadata)
		}
		zarr, err := zarrview.ZarrMeta(ctx, h, l.Plan, czip.MetaBase+min(s.Headers, mostMeta), nil)
		if err != nil {
			return nil, err
		}
		files = append(files, zarr...)
	}
	for _, f := range files {
		e, err := czip.NewLongMeta(ctx, f.Name, f.Data)
		if err != nil {
			return nil, err
		}
		d.Front = append(d.Front, e)
	}
	if entry := &d.Front[0]; entry.Stored > plan.MaxPlan {
		return nil, fmt.Errorf("archive: %s: expected at most %d bytes, found %d: %w", czip.PlanName, plan.MaxPlan, entry.Stored, plan.ErrMetadata)
	}
	// The archive has at least the structural bytes. They do not include the header.
	limit := czip.MetaLimit(d.Structural(), 0)
	for _, f := range files {
		if int64(len(f.Data)) > limit {
			return nil, fmt.Errorf("archive: %s: expected at most %d bytes, found %d: %w", f.Name, limit, len(f.Data), plan.ErrMetadata)
		}
	}
	return d, nil
}

// Structural returns the length of the archive without the stored bytes of blocks.
func (d *Draft) Structural() int64 {
	l := d.Plan
	perBlock := int64(czip.LocalFixed + czip.CentralFixed)
	n, err := blockidx.Size(l.Blocks)
	if err != nil {
		panic("archive: internal error: " + err.Error())
	}
	n += czip.EndLen + 2*(czip.LocalFixed+czip.CentralFixed) + 2*int64(len(czip.ManifestName)+len(czip.IndexName)) + ManifestGuess
	for i := range d.Front {
		n += d.Front[i].Cost()
	}
	n += l.Blocks * perBlock
	for i, g := range l.Geoms {
		keys, _ := g.KeysLen()
		n += 2 * (keys + g.Blocks*int64(len(l.Path(i))+1))
	}
	return n + 2*(l.RestBlocks*int64(len(czip.RestPrefix))+plan.DigitsBelow(l.RestBlocks))
}
