package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/encode"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/zarrview"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/unlimited"
)

// Choice of the layout. It is decided before a byte is written, from the header and the
// options and, if these leave it open, from some blocks.

// slack is the number of bytes by which an archive may exceed its image.
const slack = 4096

// joinedRest is the most bytes that follow the header of a small image in its block. Another block would cost more than
// decoding them with the header.
const joinedRest = 8 << 10

// draft is a planned archive that is not yet written.
type draft struct {
	o     *WriteOptions
	l     *plan.Resolved
	front []czip.MetaEntry // plan, Zarr metadata
	memo  *encode.Memo     // encoded blocks of other drafts, or nil
}

// newDraft plans an archive and makes its metadata. ErrMetadata means that the layout
// needs more metadata than the format allows, or far more than the view is worth.
func newDraft(ctx context.Context, h *cdf3.Header, size int64, o *WriteOptions, lay plan.Layout, more ...func(*plan.PlanOptions)) (*draft, error) {
	joined := int64(0)
	if size < plan.SmallImage {
		joined = joinedRest
	}
	first := h.Len + joined
	if lay == plan.Single {
		first = size
	}
	head, rest, err := o.Preset.rest(size, first)
	if err != nil {
		return nil, err
	}
	worth := int64(math.MaxInt64 - czip.MetaBase)
	if lay.HasView() && !o.Zarr.forced() {
		worth = viewWorth(lay, size)
	}
	po := &plan.PlanOptions{
		Block: o.Block, PoolBlock: o.poolBlock, Memory: o.Memory, Head: head, Joined: joined, Rest: rest, Chain: o.chainFor, Pool: o.poolChain, Named: o.named, Headers: worth,
		Shape: func(n int) ([]int64, error) { return o.Shapes[h.Vars[n].Name], nil },
	}
	for _, f := range more {
		f(po)
	}
	l, err := plan.NewPlan(ctx, h, size, po, lay)
	if err != nil {
		return nil, err
	}
	text, err := l.Encode(ctx)
	if err != nil {
		return nil, err
	}
	files := []zarrview.MetaFile{{Name: czip.PlanName, Data: text}}
	d := &draft{o: o, l: l}
	if lay.HasView() {
		// Most small images fail here, which saves making the metadata.
		if d.structural() > po.Headers {
			return nil, fmt.Errorf("archive: %w", plan.ErrMetadata)
		}
		zarr, err := zarrview.ZarrMeta(ctx, h, l.Plan, czip.MetaBase+worth)
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
		d.front = append(d.front, e)
	}
	if entry := &d.front[0]; entry.Stored > plan.MaxPlan {
		return nil, fmt.Errorf("archive: %s: expected at most %d bytes, found %d: %w", czip.PlanName, plan.MaxPlan, entry.Stored, plan.ErrMetadata)
	}
	// The archive has at least the structural bytes. They do not include the header.
	limit := czip.MetaLimit(d.structural(), 0)
	for _, f := range files {
		if int64(len(f.Data)) > limit {
			return nil, fmt.Errorf("archive: %s: expected at most %d bytes, found %d: %w", f.Name, limit, len(f.Data), plan.ErrMetadata)
		}
	}
	return d, nil
}

// chooseView plans an archive with a Zarr view, if one is wanted and worth its cost. It
// returns nil otherwise. See docs/FORMAT.md, "Thresholds of the layouts".
func chooseView(ctx context.Context, image io.ReaderAt, size int64, h *cdf3.Header, o *WriteOptions, more ...func(*plan.PlanOptions)) (*draft, error) {
	for _, lay := range o.Zarr.layouts() {
		// Planning reports unknown filters, even if no block gets them.
		if !o.Zarr.forced() && len(o.Filters) == 0 && leastWithView(h, size, lay) > viewWorth(lay, size) {
			continue
		}
		d, err := newDraft(ctx, h, size, o, lay, more...)
		if err != nil && (o.Zarr.forced() || !errors.Is(err, plan.ErrMetadata)) {
			return nil, err
		}
		if err == nil {
			ok, err := d.paysView(ctx, image)
			if err != nil {
				return nil, err
			}
			if ok {
				return d, nil
			}
		}
	}
	return nil, nil
}

// chooseDraft plans the archive of an image that is not in memory.
func chooseDraft(ctx context.Context, image io.ReaderAt, size int64, h *cdf3.Header, o *WriteOptions) (*draft, error) {
	sizes := new(blockSizer).options(ctx, image, size, h, o)
	d, err := chooseView(ctx, image, size, h, o, sizes)
	if d != nil || err != nil {
		return d, err
	}
	d, err = newDraft(ctx, h, size, o, plan.Pooled, sizes)
	if errors.Is(err, plan.ErrMetadata) {
		return newDraft(ctx, h, size, o, plan.Single)
	}
	return d, err
}

// The numbers of "Thresholds of the layouts".
const (
	viewBase          = 1560
	viewShare         = 128
	consolidatedShare = 32
	boundPerBlock     = 144
	manifestGuess     = 512
)

// structural returns the length of the archive without the stored bytes of blocks.
func (d *draft) structural() int64 {
	l := d.l
	perBlock := int64(czip.LocalFixed + czip.CentralFixed)
	n, err := blockidx.Size(l.Blocks)
	if err != nil {
		panic("archive: internal error: " + err.Error())
	}
	n += czip.EndLen + 2*(czip.LocalFixed+czip.CentralFixed) + 2*int64(len(czip.ManifestName)+len(czip.IndexName)) + manifestGuess
	for i := range d.front {
		n += d.front[i].Cost()
	}
	n += l.Blocks * perBlock
	for i, g := range l.Geoms {
		keys, _ := g.KeysLen()
		n += 2 * (keys + g.Blocks*int64(len(l.Path(i))+1))
	}
	return n + 2*(l.RestBlocks*int64(len(czip.RestPrefix))+plan.DigitsBelow(l.RestBlocks))
}

// Least bytes in an archive with a view. They are a little less than those of variables of one
// shape that have short names and no attributes, whose documents deflate best.
const (
	leastFixed = 1047 // entries but those of blocks, without index, manifest and end
	leastVar   = 100  // the headers of a block and the member of a variable in the plan
	leastArray = 345  // the two entries of Zarr metadata of a variable
)

// leastWithView returns a number of bytes that structural surely reaches in a layout with a
// view. Most small images have no view, and this spares the planning of one.
func leastWithView(h *cdf3.Header, size int64, lay plan.Layout) int64 {
	n := int64(0)
	_, why := unlimited.Plan(h, size)
	for i := range h.Vars {
		if why[i] == unlimited.Blocked && h.Vars[i].Len > 0 {
			n++
		}
	}
	index, err := blockidx.Size(n)
	if err != nil {
		return 0
	}
	sum := leastFixed + czip.EndLen + manifestGuess + index + n*leastVar
	if lay == plan.Viewed {
		sum += n * leastArray
	}
	return sum
}

// layouts lists the layouts with a Zarr view that a mode allows, in order of
// preference.
func (m ZarrMode) layouts() []plan.Layout {
	switch m {
	case ZarrAuto:
		return []plan.Layout{plan.Viewed, plan.Consolidated}
	case ZarrAlways:
		return []plan.Layout{plan.Viewed}
	case ZarrConsolidated:
		return []plan.Layout{plan.Consolidated}
	}
	return nil
}

// forced reports whether the archive gets a view at any cost.
func (m ZarrMode) forced() bool { return m == ZarrAlways || m == ZarrConsolidated }

// viewWorth returns the number of structural bytes that an archive with a view may
// have.
func viewWorth(lay plan.Layout, size int64) int64 {
	if lay == plan.Consolidated {
		return viewBase + size/consolidatedShare
	}
	return viewBase + size/viewShare
}

// paysView reports whether an archive with a view satisfies the bounds on its size, or
// need not.
func (d *draft) paysView(ctx context.Context, image io.ReaderAt) (bool, error) {
	if d.o.Zarr.forced() {
		return true, nil
	}
	n, size := d.structural(), d.l.Image.Size
	if n > viewWorth(d.l.Layout(), size) {
		return false, nil
	}
	if size < plan.SmallImage {
		return true, nil
	}
	missing := n - slack - boundPerBlock*d.l.Blocks
	if missing <= 0 {
		return true, nil
	}
	return d.saves(ctx, image, missing)
}

// errEnough stops a cutter after some blocks.
var errEnough = errors.New("enough blocks")

// probeWindow is the number of bytes of the record section that a probe reads at once.
// Most probes need few blocks.
const probeWindow = 256 << 10

// saves reports whether encoding saves at least missing bytes. It stops as soon as the
// answer is known.
func (d *draft) saves(ctx context.Context, image io.ReaderAt, missing int64) (bool, error) {
	probe := &probe{ctx: ctx, e: encode.NewEncoder(d.l), missing: missing}
	c := &encode.Cutter{L: d.l, R: image, Sink: probe, Window: probeWindow, Read: func(int64) {}}
	err := c.All()
	if errors.Is(err, errEnough) {
		return true, nil
	}
	return false, err
}

// probe is a sink that encodes blocks to measure the savings.
type probe struct {
	ctx     context.Context
	e       *encode.Encoder
	missing int64
	out     []byte
}

func (p *probe) Buffer(n int64) []byte { return make([]byte, n) }

func (p *probe) Submit(j *encode.BlockJob) error {
	if err := p.ctx.Err(); err != nil {
		return err
	}
	j.Out = p.out
	p.e.Encode(j)
	if j.Err != nil {
		return j.Err
	}
	p.out = j.Out
	_, n := 0, int64(len(j.Raw))
	if j.V >= 0 {
		_, n = p.e.L.Geoms[j.V].At(j.B)
	}
	if p.missing -= n - j.Entry.Stored; p.missing <= 0 {
		return errEnough
	}
	return nil
}
