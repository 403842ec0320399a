package info

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/choices"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/report"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/filters"
)

// infoReport is the JSON of one archive.
type infoReport struct {
	File        string  `json:"file"`
	Image       string  `json:"image"`
	Size        int64   `json:"size"`
	Format      string  `json:"format"`
	Records     int64   `json:"records"`
	ArchiveSize int64   `json:"archive_size"`
	Ratio       float64 `json:"ratio"`
	Layout      string  `json:"layout"`
	Blocks      int64   `json:"blocks"`
	Structure   int64   `json:"structure"` // bytes that are not blocks
	Writer      string  `json:"writer"`
	SHA256      string  `json:"sha256"`
	// Loss lists values that were rounded before they were archived.
	Loss  *report.Loss `json:"loss,omitempty"`
	Vars  []infoVar    `json:"vars"` // filled in for JSON alone: files may have millions
	Pools []infoPool   `json:"pools"`
	Rest  infoRest     `json:"rest"`
	// Omitted are attributes that the Zarr view leaves out.
	Omitted []infoOmitted `json:"omitted"`
	// Parity is null without parity.
	Parity *report.ParityBrief `json:"parity"`
	stateReport
	// States are those of the file in volumes, the current one first.
	States []stateOf `json:"states,omitempty"`

	volumes [][]string // rows about volumes that have states of the file
	view    bool       // whether the archive is also a Zarr store
	used    usedFilters
	each    iter.Seq[*infoVar]
}

type infoVar struct {
	Num     int      `json:"num"`
	Name    string   `json:"name"`
	NameHex string   `json:"name_hex,omitempty"` // if the name is not UTF-8
	Path    string   `json:"path,omitempty"`
	Type    string   `json:"type"`
	Dims    []string `json:"dims"`
	Shape   []int64  `json:"shape"`
	Block   []int64  `json:"block"` // null if not blocked
	Chain   string   `json:"chain,omitempty"`
	Filters string   `json:"filters,omitempty"` // the chain as a user writes it
	// Comments are what plugins call their filters, by id.
	Comments map[uint32]string `json:"comments,omitempty"`
	Blocked  bool              `json:"blocked"`
	Pool     *int              `json:"pool,omitempty"` // the pool that it lies in
	Why      string            `json:"why,omitempty"`  // why it is not blocked
	InView   bool              `json:"in_view"`
	WhyView  string            `json:"why_not_in_view,omitempty"`
	Blocks   int64             `json:"blocks"`
	Raw      int64             `json:"raw"`
	Stored   int64             `json:"stored"`
	Ratio    float64           `json:"ratio"`
	Preset   string            `json:"preset,omitempty"`      // with --why: presets that have this chain
	Modes    choices.Modes     `json:"modes,omitempty"`       // with --why: blocks by mode of lorenz
	Decode   float64           `json:"decode_mb_s,omitempty"` // with --why: by one core

	chain filters.Chain
}

type infoPool struct {
	Vars    []int         `json:"vars"` // their numbers
	Path    string        `json:"path"`
	Type    string        `json:"type"`
	Shape   []int64       `json:"shape"`
	Block   []int64       `json:"block"`
	Chain   string        `json:"chain"`
	Filters string        `json:"filters"`
	Blocks  int64         `json:"blocks"`
	Raw     int64         `json:"raw"`
	Stored  int64         `json:"stored"`
	Ratio   float64       `json:"ratio"`
	Preset  string        `json:"preset,omitempty"`      // with --why
	Modes   choices.Modes `json:"modes,omitempty"`       // with --why
	Decode  float64       `json:"decode_mb_s,omitempty"` // with --why
}

type infoRest struct {
	Head   string `json:"head"` // the chain of the first block
	Chain  string `json:"chain"`
	Blocks int64  `json:"blocks"`
	Raw    int64  `json:"raw"`
	Stored int64  `json:"stored"`
}

type infoOmitted struct {
	Var  string `json:"var,omitempty"` // "" for attributes of the file
	Attr string `json:"attr"`
	Why  string `json:"why"`
}

type infoBlock struct {
	Num   int64   `json:"num"`
	Var   string  `json:"var,omitempty"` // "" for a pool or the rest
	Name  string  `json:"name"`
	Start []int64 `json:"start,omitempty"`
	Count []int64 `json:"count,omitempty"`
	Off   int64   `json:"off"`
	Len   int64   `json:"len"`
	Raw   int64   `json:"raw"`
	Mask  uint32  `json:"mask"`
	CRC   string  `json:"crc32"`
}

// makeInfo collects the report about an archive.
func makeInfo(ctx context.Context, name string, size int64, r *archive.File) (*infoReport, error) {
	i, _ := r.Info()
	h := r.Header()
	rep := &infoReport{
		File: name, Image: i.ImageName, Size: i.ImageSize, Format: fmt.Sprintf("CDF-%d", h.Version), Records: h.NumRecs,
		ArchiveSize: size, Ratio: display.Ratio(i.ImageSize, size), Layout: i.Layout, view: i.View, Blocks: i.Blocks,
		Structure: size - i.Stored, Writer: i.Writer, SHA256: i.SHA256, Loss: report.LossOf(r),
		Pools: []infoPool{}, Omitted: []infoOmitted{}, used: usedFilters{},
	}
	stored, err := r.Stored(ctx)
	if err != nil {
		return nil, err
	}
	rep.used.add(i.Rest.Head)
	rep.used.add(i.Rest.Chain)
	for n, p := range i.Pools {
		rep.used.add(p.Chain)
		rep.Pools = append(rep.Pools, infoPool{
			Vars: p.Vars, Path: p.Path, Type: p.Type.String(), Shape: p.Shape, Block: p.Block, Chain: chainText(p.Chain), Filters: chainText(p.Chain.Given()),
			Blocks: p.Blocks, Raw: p.Len, Stored: stored.Pools[n], Ratio: display.Ratio(p.Len, stored.Pools[n]),
		})
	}
	rep.each = func(yield func(*infoVar) bool) {
		for _, w := range r.Vars() {
			if ctx.Err() != nil || !yield(describeVar(h, w, stored.Vars)) {
				return
			}
		}
	}
	rep.Rest = infoRest{chainText(i.Rest.Head), chainText(i.Rest.Chain), i.Rest.Blocks, i.Rest.Len, stored.Rest}
	for _, o := range r.Omitted() {
		x := infoOmitted{Attr: o.Attr, Why: o.Why}
		if o.Var >= 0 {
			x.Var = h.Vars[o.Var].Name
		}
		rep.Omitted = append(rep.Omitted, x)
	}
	return rep, nil
}

// describeVar describes a variable. Stored has the stored bytes of each.
func describeVar(h *cdf3.Header, w *archive.Var, stored []int64) *infoVar {
	v, num := w.Info(), w.Num()
	o := &infoVar{
		Num: num, Name: w.Name(), Path: v.Path, Type: w.Type().String(), Dims: dimNames(h, num), Shape: slices.Concat([]int64{}, w.Shape()), Block: v.Block,
		Blocked: v.Blocked, Why: v.Why, InView: v.InView, WhyView: terminal.WithoutPackages(v.View),
		Blocks: v.Blocks, Raw: h.Vars[num].Len, Stored: stored[num], Ratio: display.Ratio(h.Vars[num].Len, stored[num]),
	}
	if v.Pooled {
		o.Pool = &v.Pool
	}
	if v.Blocked || v.Pooled {
		o.chain, o.Chain, o.Filters = v.Chain, chainText(v.Chain), chainText(v.Chain.Given())
		for _, f := range v.Chain {
			if f.Name != "" && o.Comments == nil {
				o.Comments = map[uint32]string{}
			}
			if f.Name != "" {
				o.Comments[f.ID] = f.Name
			}
		}
	}
	if !utf8.ValidString(o.Name) {
		o.NameHex = fmt.Sprintf("%x", o.Name)
	}
	return o
}

// dimNames returns the names of a variable's dimensions.
func dimNames(h *cdf3.Header, num int) []string {
	names := []string{}
	for _, d := range h.Vars[num].DimIDs {
		names = append(names, h.Dims[d].Name)
	}
	return names
}

// chainText formats a chain in the syntax of -F.
func chainText(c filters.Chain) string {
	if len(c) == 0 {
		return "none"
	}
	return c.String()
}

// printInfo prints an archive as a table.
func (v *informer) printInfo(rep *infoReport) {
	image := rep.Image
	if image == "" {
		image = "-"
	}
	head := [][]string{
		{"archive", display.Quoted(terminal.ShowName(rep.File))},
		{"image", display.Quoted(image)},
		{"format", fmt.Sprintf("%s, %s", rep.Format, display.Count(rep.Records, "record"))},
		{"image size", fmt.Sprintf("%d (%s)", rep.Size, display.Size(rep.Size))},
		{"archive size", fmt.Sprintf("%d (%s), %d of them structure", rep.ArchiveSize, display.Size(rep.ArchiveSize), rep.Structure)},
		{"ratio", fmt.Sprintf("%.3f", rep.Ratio)},
		{"layout", fmt.Sprintf("%s, %s, written by %s", rep.Layout, display.Count(rep.Blocks, "block"), rep.Writer)},
		{"sha256", rep.SHA256},
	}
	if p := rep.Parity; p != nil {
		head = append(head, []string{"parity", p.Text()})
	}
	head = append(head, rep.volumes...)
	if rep.Loss != nil {
		head = append(head, []string{"loss", rep.Loss.String()}, []string{"source sha256", rep.Loss.SourceSHA256})
	}
	display.WriteTable(v.run.Term.Out, head)
	v.run.Term.Print("")
	varRow := func(w *infoVar) []string {
		row := []string{display.Quoted(w.Name), w.Type, dimsOf(w), "-", "-", strconv.FormatInt(w.Raw, 10), "-", "-", w.viewText(rep.Layout)}
		if w.Blocked {
			row[3], row[4], row[6] = display.Shape(w.Block), w.Filters, strconv.FormatInt(w.Stored, 10)
			if w.Stored > 0 {
				row[7] = fmt.Sprintf("%.2f", w.Ratio)
			}
			rep.used.add(w.chain)
		} else if w.Pool != nil {
			row[3] = fmt.Sprintf("in pool %d", *w.Pool)
		}
		return row
	}
	var pools [][]string
	for n, p := range rep.Pools {
		pools = append(pools, []string{fmt.Sprintf("(pool %d)", n), p.Type, display.Shape(p.Shape), display.Shape(p.Block), p.Filters,
			strconv.FormatInt(p.Raw, 10), strconv.FormatInt(p.Stored, 10), fmt.Sprintf("%.2f", p.Ratio), ""})
	}
	restFilters := rep.Rest.Chain
	switch {
	case rep.Rest.Blocks == 1:
		restFilters = rep.Rest.Head
	case rep.Rest.Head != rep.Rest.Chain:
		restFilters += " (header: " + rep.Rest.Head + ")"
	}
	rest := []string{"(rest)", "", "", "", restFilters, strconv.FormatInt(rep.Rest.Raw, 10), strconv.FormatInt(rep.Rest.Stored, 10), "", ""}
	if rep.Rest.Stored > 0 {
		rest[7] = fmt.Sprintf("%.2f", display.Ratio(rep.Rest.Raw, rep.Rest.Stored))
	}
	display.WriteRows(v.run.Term.Out, func(yield func([]string) bool) {
		if !yield([]string{"variable", "type", "dimensions", "block", "filters", "raw", "stored", "ratio", "zarr"}) {
			return
		}
		for w := range rep.each {
			if !yield(varRow(w)) {
				return
			}
		}
		for _, row := range pools {
			if !yield(row) {
				return
			}
		}
		yield(rest)
	}, false, false, false, false, false, true, true, true)
	if names := rep.used.names(); len(names) > 0 {
		v.run.Term.Print("filters: %s", strings.Join(names, ", "))
	}
}

// usedFilters are the filters of an archive. Chains from several machines may have plugins with one id.
type usedFilters map[usedFilter]bool

type usedFilter struct {
	id   uint32
	name string
}

func (u usedFilters) add(c filters.Chain) {
	for i := range c {
		f, _ := c.At(i) // with its name
		u[usedFilter{f.ID, cmp.Or(f.Name, "unknown")}] = true
	}
}

// names lists ids with names, in increasing order.
func (u usedFilters) names() []string {
	list := slices.SortedFunc(maps.Keys(u), func(a, b usedFilter) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.name, b.name))
	})
	var out []string
	for _, f := range list {
		out = append(out, fmt.Sprintf("%d %s", f.id, f.name))
	}
	return out
}

// dimsOf is (time=24,lat=16,lon=30) for a variable.
func dimsOf(v *infoVar) string {
	words := make([]string, len(v.Shape))
	for i, n := range v.Shape {
		words[i] = display.Quoted(v.Dims[i]) + "=" + strconv.FormatInt(n, 10)
	}
	return "(" + strings.Join(words, ",") + ")"
}

// viewText reports whether a variable is in the Zarr view, and why not.
func (v *infoVar) viewText(layout string) string {
	switch {
	case v.InView:
		return "yes"
	case v.WhyView != "":
		return "no: " + v.WhyView
	case !v.Blocked && v.Pool == nil:
		return "no: " + v.Why
	}
	return "no: a " + layout + " archive"
}

// quotedVar returns the variable in VAR:ATTR, or "" for attributes of the file.
func quotedVar(name string) string {
	if name == "" {
		return ""
	}
	return display.Quoted(name)
}

// printBlocks lists all blocks.
func (v *informer) printBlocks(ctx context.Context, name string, r *archive.File) error {
	h := r.Header()
	if !v.run.Term.JSON {
		v.run.Term.Print("")
		v.run.Term.Print("%8s  %12s  %10s  %10s  %8s  %8s  %s", "block", "offset", "stored", "raw", "mask", "crc32", "entry and index range")
	}
	for b, err := range r.Blocks(ctx) {
		if err != nil {
			return err
		}
		if v.run.Term.Out.Err() != nil {
			return nil // reported at the end
		}
		o := infoBlock{Num: b.Num, Name: b.Name, Start: b.Start, Count: b.Count, Off: b.Off, Len: b.Len, Raw: b.Raw, Mask: b.Mask, CRC: fmt.Sprintf("%08x", b.CRC)}
		if b.Var >= 0 {
			o.Var = h.Vars[b.Var].Name
		}
		if v.run.Term.JSON {
			v.run.Term.Emit(struct {
				File  string    `json:"file"`
				Block infoBlock `json:"block"`
			}{name, o})
			continue
		}
		v.run.Term.Print("%8d  %12d  %10d  %10d  %8x  %s  %s%s", o.Num, o.Off, o.Len, o.Raw, o.Mask, o.CRC, display.Quoted(o.Name), rangeText(o.Start, o.Count))
	}
	return nil
}

// rangeText returns an index range as in [0:10, 5:6].
func rangeText(start, count []int64) string {
	if start == nil {
		return ""
	}
	words := make([]string, len(start))
	for i := range start {
		words[i] = fmt.Sprintf("%d:%d", start[i], start[i]+count[i])
	}
	return " [" + strings.Join(words, ", ") + "]"
}
