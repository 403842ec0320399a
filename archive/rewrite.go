package archive

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/layout"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/archive/internal/write"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/unlimited"
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
	w := &write.Options{Name: k.o.Name, Loss: k.o.loss, Workers: k.o.Workers, Progress: k.o.Progress}
	written, copied, err := d.Again(ctx, dst, k.from, w)
	res, err := resultOf(written, d, w, err)
	if err != nil {
		return nil, err
	}
	res.Copied = copied
	return res, nil
}

// RewriteFile rewrites an archive into a file, which appears complete and on disk or not
// at all. Unless the options have NoCheck, the new archive is read back and the SHA-256 of its
// image compared. The target must not be the file of src.
func RewriteFile(ctx context.Context, name string, src *File, opts *WriteOptions, file *FileOptions) (*Result, error) {
	t, err := create(name, file, 0)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if src.archive == nil && opts == nil {
		opts = &WriteOptions{Name: imageName(name, src.Image())}
	}
	res, _, err := RewriteTarget(ctx, t, src, opts)
	if err != nil {
		return nil, err
	}
	if err := commit(ctx, t); err != nil {
		return nil, err
	}
	return res, nil
}

// RewriteTarget is RewriteFile as [WriteTarget] is WriteFile.
func RewriteTarget(ctx context.Context, t Target, src *File, opts *WriteOptions) (*Result, *File, error) {
	if src.archive == nil {
		return WriteTarget(ctx, t, src.Image(), src.Image().Size(), opts)
	}
	if err := checkShare(opts.share()); err != nil {
		return nil, nil, err
	}
	b := buffered(t)
	res, err := rewriteArchive(ctx, b, src, opts)
	if res, err = withParity(ctx, b, t, opts, res, err); err != nil {
		return nil, nil, err
	}
	f, err := readBack(ctx, t, res, opts, func(f *File, c *CopyOptions) error {
		c.SHA256 = true
		return f.Image().Copy(ctx, nil, c)
	})
	if err != nil {
		return nil, nil, err
	}
	return res, f, nil
}

// keeper plans an archive whose options default to those of another one.
type keeper struct {
	o     WriteOptions
	src   *File
	from  *read.Reader
	zarr  bool // the options choose the layout
	chain bool // keep chains that Filters does not name
	shape bool // keep block shapes that Shapes does not name
}

func newKeeper(src *File, opts *WriteOptions) (*keeper, error) {
	k := &keeper{src: src, from: src.archive}
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
func (k *keeper) draft(ctx context.Context) (*write.Draft, error) {
	o, size := k.o.layout(), k.src.image.Size()
	if k.zarr {
		for _, lay := range o.Views {
			d, err := k.draftIn(ctx, o, lay, false)
			switch {
			case err == nil && (o.Forced || d.Structural() <= layout.ViewWorth(lay, size)):
				return d, nil
			case err != nil && (o.Forced || !errors.Is(err, plan.ErrMetadata)):
				return nil, err
			}
		}
		return k.draftIn(ctx, o, plan.Pooled, false)
	}
	lay := k.from.L.Layout()
	if lay == plan.Single && len(k.o.Filters)+len(k.o.Shapes) > 0 {
		lay = plan.Pooled // variables get blocks that filters apply to
	}
	return k.draftIn(ctx, o, lay, true)
}

// draftIn plans the archive in a layout. same tells that it is that of the source, whatever its view costs.
func (k *keeper) draftIn(ctx context.Context, o *layout.Options, lay plan.Layout, same bool) (*write.Draft, error) {
	h, size, l := k.src.header, k.src.image.Size(), k.from.L
	s := o.Spec(h, size, lay)
	if same {
		s.Headers = math.MaxInt64
	}
	s.Kept = k.codecs()
	if k.chain {
		s.Rest = l.Filters[l.Rest.Chain]
		s.Head = l.Filters[l.HeadChain()].Given()
	}
	for n := range h.Vars {
		k.keepVar(n, o, &s.Vars[n])
	}
	if lay != plan.Pooled {
		return write.NewDraft(ctx, h, size, s, lay)
	}
	if l.Layout() == plan.Pooled {
		given := slices.Clone(l.Pools)
		for i := range given {
			if !k.shape {
				given[i].Block = nil
			}
		}
		s.Pools = plan.PoolsOf(h, s, 0, given)
	} else {
		_, blocked := unlimited.Plan(h, size)
		s.Pools = plan.Pools(ctx, h, blocked, s, 0)
	}
	for _, p := range s.Pools {
		p.Chain = o.PoolChain(p.Values)
		if v := p.Vars[0]; k.chain && o.All == nil && k.src.pooled != nil && k.src.pooled[v] >= 0 {
			p.Chain, p.Kept = k.arrayChain(k.pool(v))
		}
	}
	return write.NewDraft(ctx, h, size, s, lay)
}

// keepVar lets a variable keep the chain and the blocks that it has in the source.
func (k *keeper) keepVar(n int, o *layout.Options, c *plan.VarSpec) {
	l, v := k.from.L, k.src.vars[n] // its array, or negative
	if k.shape && c.Block == nil && v >= 0 {
		c.Block = l.Vars[v].Block
	}
	if v >= 0 && l.Layout() == plan.Pooled {
		c.Named, c.Filtered = true, true // it has blocks of its own again
	}
	h := &k.src.header.Vars[n]
	if _, ok := o.Given(h.Name, len(h.Shape)); ok || !k.chain {
		return
	}
	switch {
	case v >= 0:
		c.Chain, c.Kept = k.arrayChain(v)
	case k.src.pooled != nil && k.src.pooled[n] >= 0:
		c.Chain, c.Kept = k.arrayChain(k.pool(n))
	}
}

// pool returns the number of the array that is the pool of variable v.
func (k *keeper) pool(v int) int {
	l := k.from.L
	return len(l.Vars) + l.Member(int(k.src.pooled[v])).Pool
}

// arrayChain returns the chain of an array of the source, which blocks of the same geometry keep. For others,
// parameters that depend on the blocks are computed again.
func (k *keeper) arrayChain(i int) (filters.Chain, *plan.KeptBlocks) {
	l := k.from.L
	n, _ := l.BlockInfo(i, 0)
	return l.Filters[n].Given(), &plan.KeptBlocks{Geom: l.Geoms[i], Chain: l.Filters[n]}
}

// codecs returns the codecs of chains as the source has them, if this program lacks one of their filters and
// so cannot make the codecs.
func (k *keeper) codecs() []plan.KeptCodecs {
	l := k.from.L
	if !l.Zarr.HasView() {
		return nil
	}
	var kept []plan.KeptCodecs
	for n, c := range l.Filters {
		if !slices.ContainsFunc(c, func(f filters.Filter) bool { _, ok := filters.Lookup(f.ID); return !ok }) {
			continue
		}
		views := map[int64]plan.NotViewed{}
		for i := range l.Vars {
			if l.Vars[i].Chain != n {
				continue
			}
			if old, ok := views[l.Geoms[i].BlockLen]; !ok || old != "" {
				views[l.Geoms[i].BlockLen] = l.Vars[i].View // of those with a path in .cdfz/v, only if there are no others
			}
		}
		kept = append(kept, plan.KeptCodecs{Chain: c, Codecs: l.Chains[n], Views: views})
	}
	return kept
}
