package info

import (
	"context"
	"fmt"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/choices"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/remote"
)

// chosen describes the filters of a variable or a pool, and their savings.
func chosen(what, filters, preset string, m choices.Modes, decode float64, blocks, raw, stored int64) string {
	by := "asked for by -F"
	if preset != "" {
		by = "preset " + preset
	}
	text := fmt.Sprintf("%s: filters %s (%s), %s -> %s", what, filters, by, display.Size(raw), display.Size(stored))
	if raw > 0 {
		if stored <= raw {
			text += fmt.Sprintf(", %.1f %% saved", 100*float64(raw-stored)/float64(raw))
		} else {
			text += ", nothing saved"
		}
	}
	if decode > 0 {
		text += fmt.Sprintf(", decoded at %.0f MB/s by one core", decode)
	}
	text += "; " + display.Count(blocks, "block")
	if len(m) > 0 {
		text += " by mode of lorenz: " + m.String()
	}
	return text
}

// explain adds to a report what was chosen for each variable and pool, and what it takes to decode. The counts of
// modes and the speeds are left out for URLs, because they take a request per block.
func (rep *infoReport) explain(ctx context.Context, name string, in *fileio.Input, f *archive.File) error {
	var vars, pools []choices.Modes
	var speeds, shared []float64
	if !remote.IsURL(name) {
		var err error
		if vars, pools, err = choices.Count(ctx, in.R, f); err != nil {
			return err
		}
		if speeds, shared, err = choices.DecodeSpeeds(ctx, in.R, f); err != nil {
			return err
		}
	}
	each := rep.each
	var all []*archive.Var
	for _, v := range f.Vars() {
		all = append(all, v)
	}
	rep.each = func(yield func(*infoVar) bool) {
		for w := range each {
			if w.Blocked {
				if w.Preset = choices.Preset(all[w.Num].Info().Chain, all[w.Num].Type()); vars != nil {
					w.Modes, w.Decode = vars[w.Num], display.Round(speeds[w.Num], 1)
				}
			}
			if !yield(w) {
				return
			}
		}
	}
	info, _ := f.Info()
	for i := range rep.Pools {
		if rep.Pools[i].Preset = choices.Preset(info.Pools[i].Chain, info.Pools[i].Type); pools != nil {
			rep.Pools[i].Modes, rep.Pools[i].Decode = pools[i], display.Round(shared[i], 1)
		}
	}
	return nil
}

// printWhy explains the filters of variables and their savings, and lists the variables
// without blocks and the attributes that the Zarr view omits.
func (v *informer) printWhy(rep *infoReport) {
	v.run.Term.Print("")
	complete := rep.view
	for w := range rep.each {
		name := "variable " + display.Quoted(w.Name)
		switch {
		case w.Pool != nil:
			v.run.Term.Print("%s shares the blocks of pool %d, because it is small", name, *w.Pool)
		case !w.Blocked:
			v.run.Term.Print("%s has no blocks: %s", name, w.Why)
		default:
			v.run.Term.Print("%s", chosen(name, w.Filters, w.Preset, w.Modes, w.Decode, w.Blocks, w.Raw, w.Stored))
		}
		if w.WhyView != "" {
			v.run.Term.Print("%s is not in the Zarr view: %s", name, w.WhyView)
		}
		complete = complete && w.InView
	}
	for i := range rep.Pools {
		p := &rep.Pools[i]
		v.run.Term.Print("%s", chosen(fmt.Sprintf("pool %d", i), p.Filters, p.Preset, p.Modes, p.Decode, p.Blocks, p.Raw, p.Stored))
	}
	if !rep.view {
		v.run.Term.Print("there is no Zarr view in a %s archive; cdfz archive --zarr always makes one", rep.Layout)
	}
	for _, o := range rep.Omitted {
		v.run.Term.Print("attribute %s:%s is not in the Zarr view: %s", quotedVar(o.Var), display.Quoted(o.Attr), o.Why)
	}
	if complete && len(rep.Omitted) == 0 {
		v.run.Term.Print("every variable has blocks and is in the Zarr view, with all attributes")
	}
}
