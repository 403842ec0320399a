package layout

import (
	"context"
	"errors"
	"io"
	"math"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/encode"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/write"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/recycled"
	"github.com/cdfz-format/cdfz/unlimited"
)

// What a Zarr view may cost: docs/FORMAT.md, "Thresholds of the layouts".
const (
	viewBase          = 1560
	viewShare         = 128
	consolidatedShare = 32
	boundPerBlock     = 144

	// slack is the number of bytes by which an archive may exceed its image.
	slack = 4096
)

// Least bytes in an archive with a view. They are a little less than those of variables of one
// shape that have short names and no attributes, whose documents deflate best.
const (
	leastFixed = 1047 // entries but those of blocks, without index, manifest and end
	leastVar   = 100  // the headers of a block and the member of a variable in the plan
	leastArray = 345  // the two entries of Zarr metadata of a variable
)

// leastWithView returns a number of bytes that the structural ones surely reach in a layout with a
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
	sum := leastFixed + czip.EndLen + write.ManifestGuess + index + n*leastVar
	if lay == plan.Viewed {
		sum += n * leastArray
	}
	return sum
}

// ViewWorth returns the number of structural bytes that an archive of an image of size bytes with a view may
// have.
func ViewWorth(lay plan.Layout, size int64) int64 {
	if lay == plan.Consolidated {
		return viewBase + size/consolidatedShare
	}
	return viewBase + size/viewShare
}

// worth bounds the metadata of a layout.
func (o *Options) worth(lay plan.Layout, size int64) int64 {
	if lay.HasView() && !o.Forced {
		return ViewWorth(lay, size)
	}
	return math.MaxInt64
}

// paysView reports whether an archive with a view satisfies the bounds on its size, or
// need not.
func (o *Options) paysView(ctx context.Context, d *write.Draft, image io.ReaderAt) (bool, error) {
	if o.Forced {
		return true, nil
	}
	n, size := d.Structural(), d.Plan.Image.Size
	if n > ViewWorth(d.Plan.Layout(), size) {
		return false, nil
	}
	if size < plan.SmallImage {
		return true, nil
	}
	missing := n - slack - boundPerBlock*d.Plan.Blocks
	if missing <= 0 {
		return true, nil
	}
	return saves(ctx, d.Plan, image, missing)
}

// errEnough stops a cutter after some blocks.
var errEnough = errors.New("enough blocks")

// probeWindow is the number of bytes of the record section that a probe reads at once.
// Most probes need few blocks.
const probeWindow = 256 << 10

// saves reports whether encoding saves at least missing bytes. It stops as soon as the
// answer is known.
func saves(ctx context.Context, l *plan.Resolved, image io.ReaderAt, missing int64) (bool, error) {
	probe := &probe{ctx: ctx, e: encode.NewEncoder(ctx, l), missing: missing}
	c := &encode.Cutter{L: l, R: image, Sink: probe.submit, Window: probeWindow, Read: func(int64) {}}
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

func (p *probe) submit(j *encode.BlockJob) error {
	defer recycled.Put(j.Raw)
	if err := p.ctx.Err(); err != nil {
		return err
	}
	j.Out = p.out
	if err := p.e.Encode(j); err != nil {
		return err
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
