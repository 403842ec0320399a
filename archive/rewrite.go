package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/cdfz-format/cdfz/archive/internal/encode"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/image"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
)

// Rewrite writes an archive of the netCDF file in src, usually with other filters. Zero
// fields of the options mean: as in src. So without options every block keeps its
// filters. A Preset replaces the chains of all variables that Filters does not name. The
// archive has parity only if the options ask for it.
//
// Blocks with the same elements and the same chain as in src are copied without being
// decoded, so src may have filters that this program lacks. Their codecs are copied too,
// and their variables stay in the Zarr view. [Result].Copied counts copied blocks.
// The SHA-256 of the image is the one in src. It is not verified. Reading the archive
// back does that. An archive of rounded values stays one, with the same [Info].Loss; the
// options must not ask for more loss.
//
// A classic src is archived as [Write] does. Errors are those of Write and of reading src.
func Rewrite(ctx context.Context, dst io.Writer, src *File, opts *WriteOptions) (*Result, error) {
	return spooled(ctx, dst, opts, func(dst io.Writer) (*Result, error) { return rewriteArchive(ctx, dst, src, opts) })
}

// rewriteArchive is Rewrite without parity.
func rewriteArchive(ctx context.Context, dst io.Writer, src *File, opts *WriteOptions) (*Result, error) {
	if src.archive == nil {
		return writeArchive(ctx, dst, src.Image(), src.Image().Size(), opts)
	}
	k, err := newKeeper(src, opts)
	if err != nil {
		return nil, err
	}
	d, err := k.draft(ctx)
	if err != nil {
		return nil, err
	}
	var copied int64
	res, err := d.writeWith(dst, func(w *archiveWriter) (sums image.Sums, err error) {
		copied, err = d.rewriteBlocks(ctx, w, k.from)
		return image.Sums{SHA256: k.from.Man.SHA256, Tree: k.from.Man.Tree}, err
	})
	if err != nil {
		return nil, err
	}
	res.Copied = copied
	return res, nil
}

// RewriteFile rewrites an archive into a file, which appears complete and on disk or not
// at all. Unless file has NoCheck, the new archive is read back and the SHA-256 of its
// image compared. The target must not be the file of src.
func RewriteFile(ctx context.Context, name string, src *File, opts *WriteOptions, file *FileOptions) (*Result, error) {
	if src.archive == nil {
		return WriteFile(ctx, name, src.Image(), src.Image().Size(), opts, file)
	}
	t, o, err := create(name, file, 0)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	res, err := written(ctx, t, t, opts, func(w io.Writer) (*Result, error) { return rewriteArchive(ctx, w, src, opts) })
	if err != nil {
		return nil, err
	}
	if err := readBack(ctx, t, res, opts, o, func(f *File, c *CopyOptions) error {
		c.SHA256 = true
		return f.Image().Copy(ctx, nil, c)
	}); err != nil {
		return nil, err
	}
	return res, nil
}

// rewriteBlocks appends all blocks, copied or encoded, and returns how many are copied.
func (d *draft) rewriteBlocks(ctx context.Context, w *archiveWriter, from *read.Reader) (copied int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := encode.StartPipeline(ctx, d.l, d.o.Workers, nil, w.block)
	done := int64(0)
	r := &encode.Rewriter{L: d.l, From: from, Sink: p, Read: func(n int64) {
		if done += n; d.o.Progress != nil {
			d.o.Progress(done)
		}
	}}
	if err := p.Finish(r.All(ctx)); err != nil {
		return 0, fmt.Errorf("archive: %w", err)
	}
	return r.Copied, nil
}

// keeper plans an archive whose options default to those of another one.
type keeper struct {
	o     WriteOptions
	src   *File
	from  *read.Reader
	zarr  bool             // the options choose the layout
	chain bool             // keep chains that Filters does not name
	shape bool             // keep block shapes that Shapes does not name
	vars  map[string][]int // numbers of variables by name, which need not be unique
	views map[viewKey]plan.NotViewed
}

// viewKey has the properties of blocks that decide whether a variable is in the Zarr view of
// the source.
type viewKey struct {
	chain int
	block int64 // bytes
}

func newKeeper(src *File, opts *WriteOptions) (*keeper, error) {
	k := &keeper{src: src, from: src.archive, vars: map[string][]int{}}
	for i := range src.header.Vars {
		name := src.header.Vars[i].Name
		k.vars[name] = append(k.vars[name], i)
	}
	var o WriteOptions
	if opts != nil {
		o = *opts
	}
	if len(o.Lossy) > 0 {
		return nil, fault.Optionsf("values of an archive cannot be rounded")
	}
	o.loss = k.from.Man.Loss
	k.zarr, k.chain, k.shape = o.Zarr != "", o.Preset == "", o.Block == 0
	if o.Block == 0 {
		o.Block = min(max(k.from.L.Block, MinBlock), MaxBlock)
	}
	if o.Name == "" {
		o.Name = k.from.Man.ImageName()
	}
	var err error
	if k.o, err = o.withDefaults(); err != nil {
		return nil, err
	}
	return k, k.o.checkNames(src.header)
}

// draft plans the archive, in the layout of the source unless the options choose one.
func (k *keeper) draft(ctx context.Context) (*draft, error) {
	h, size := k.src.header, k.src.image.Size()
	if k.zarr {
		for _, lay := range k.o.Zarr.layouts() {
			d, err := newDraft(ctx, h, size, &k.o, lay, k.options)
			switch {
			case err == nil && (k.o.Zarr.forced() || d.structural() <= viewWorth(lay, size)):
				return d, nil
			case err != nil && (k.o.Zarr.forced() || !errors.Is(err, plan.ErrMetadata)):
				return nil, err
			}
		}
		return newDraft(ctx, h, size, &k.o, plan.Pooled, k.options)
	}
	lay := k.from.L.Layout()
	if lay == plan.Single && len(k.o.Filters)+len(k.o.Shapes) > 0 {
		lay = plan.Pooled // variables get blocks that filters apply to
	}
	return newDraft(ctx, h, size, &k.o, lay, k.options, func(o *plan.PlanOptions) { o.Headers = math.MaxInt64 })
}

// options lets a plan keep the chains and pools of the source.
func (k *keeper) options(o *plan.PlanOptions) {
	l := k.from.L
	o.Kept = k.codecs
	if k.chain {
		o.Chain, o.Pool = k.chainFor, k.poolChain
		o.Rest = l.Filters[l.Rest.Chain]
		o.Head = l.Filters[l.HeadChain()].Given()
	}
	if given := o.Shape; k.shape {
		o.Shape = func(n int) ([]int64, error) {
			block, err := given(n)
			if v := k.src.vars[n]; block == nil && v >= 0 {
				block = l.Vars[v].Block
			}
			return block, err
		}
	}
	if l.Layout() != plan.Pooled {
		return
	}
	o.Pools = slices.Clone(l.Pools)
	if o.Pools == nil {
		o.Pools = []plan.PlanPool{}
	}
	if !k.shape {
		for i := range o.Pools {
			o.Pools[i].Block = nil
		}
	}
	o.Named = func(name string) (named, filtered bool) {
		if slices.ContainsFunc(k.vars[name], func(v int) bool { return k.src.vars[v] >= 0 }) {
			return true, true
		}
		return k.o.named(name)
	}
}

// chainFor returns the chain that the options name, else the one in the source.
func (k *keeper) chainFor(name string, t cdf3.Type, g *plan.Geometry) (filters.Chain, error) {
	if _, ok := k.o.given(name, g); ok {
		return k.o.chainFor(name, t, g)
	}
	for _, v := range k.vars[name] {
		h := &k.src.header.Vars[v]
		if h.Type != t || !slices.Equal(h.Shape, g.Shape) {
			continue
		}
		if i := k.src.vars[v]; i >= 0 {
			return keep(k.from.L, i, t, g)
		}
		if k.src.pooled != nil && k.src.pooled[v] >= 0 {
			return k.keepPool(v, t, g)
		}
	}
	return k.o.chainFor(name, t, g) // it had no blocks
}

// poolChain returns the chain that the options name for all variables, else that of the
// source's pool with the first of them.
func (k *keeper) poolChain(vars []int, t cdf3.Type, g *plan.Geometry) (filters.Chain, error) {
	if _, ok := k.o.given("*", g); !ok && k.src.pooled != nil && k.src.pooled[vars[0]] >= 0 {
		return k.keepPool(vars[0], t, g)
	}
	return k.o.poolChain(vars, t, g)
}

// keepPool returns the chain of the source's pool with variable v, for blocks of geometry g.
func (k *keeper) keepPool(v int, t cdf3.Type, g *plan.Geometry) (filters.Chain, error) {
	l := k.from.L
	return keep(l, len(l.Vars)+l.Member(int(k.src.pooled[v])).Pool, t, g)
}

// codecs returns the codecs of a chain as the source has them, if this program lacks one
// of its filters and so cannot make the codecs.
func (k *keeper) codecs(c filters.Chain, n int64) ([]plan.PlanFilter, plan.NotViewed, bool) {
	l := k.from.L
	known := !slices.ContainsFunc(c, func(f filters.Filter) bool { _, ok := filters.Lookup(f.ID); return !ok })
	if known || !l.Zarr.HasView() {
		return nil, "", false
	}
	number := slices.IndexFunc(l.Filters, func(x filters.Chain) bool { return slices.EqualFunc(x, c, sameFilter) })
	if number < 0 {
		return nil, "", false
	}
	if k.views == nil {
		k.views = map[viewKey]plan.NotViewed{}
		for i := range l.Vars {
			key := viewKey{l.Vars[i].Chain, l.Geoms[i].BlockLen}
			if old, ok := k.views[key]; !ok || old != "" {
				k.views[key] = l.Vars[i].View // of those with a path in .cdfz/v, only if there are no others
			}
		}
	}
	why, ok := k.views[viewKey{number, n}]
	if !ok {
		why = plan.ViewNoCodec
	}
	return l.Chains[number], why, true
}

func sameFilter(f, g filters.Filter) bool {
	return f.ID == g.ID && f.Optional == g.Optional && f.Name == g.Name && slices.Equal(f.Params, g.Params)
}

// keep returns the chain of array i for blocks of geometry g. Parameters that depend on
// the blocks are computed again for other blocks.
func keep(l *plan.Resolved, i int, t cdf3.Type, g *plan.Geometry) (filters.Chain, error) {
	n, _ := l.BlockInfo(i, 0)
	if old := l.Geoms[i]; slices.Equal(old.Block, g.Block) && slices.Equal(old.Shape, g.Shape) && old.Size == g.Size {
		return l.Filters[n], nil
	}
	c, err := complete(l.Filters[n].Given(), t, g)
	if err != nil {
		return nil, fmt.Errorf("archive: blocks of %s: %w", l.Path(i), err)
	}
	return c, nil
}
