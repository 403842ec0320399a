package page

import (
	"net/http"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/choices"
	"github.com/cdfz-format/cdfz/internal/latin"
)

// maxBlocks is the number of blocks that an answer lists.
const maxBlocks = 4096

type (
	// storage is the answer about the blocks of a variable.
	storage struct {
		Archive bool          `json:"archive"`       // false for a classic file, which has no blocks
		Why     string        `json:"why,omitempty"` // why the variable has none
		Pool    []string      `json:"pool"`          // variables that share the blocks
		Shape   []int64       `json:"shape"`         // of a block, in elements
		Filters []filter      `json:"filters"`
		Preset  string        `json:"preset,omitempty"` // presets with these filters
		Blocks  int64         `json:"blocks"`
		Raw     int64         `json:"raw"`    // bytes
		Stored  int64         `json:"stored"` // bytes
		Modes   choices.Modes `json:"modes"`  // listed blocks by mode of lorenz
		Listed  []block       `json:"listed"` // the first of them
	}
	filter struct {
		ID     uint32   `json:"id"`
		Name   string   `json:"name"`
		Params []uint32 `json:"params"`
	}
	block struct {
		Start  []int64 `json:"start"`
		Count  []int64 `json:"count"`
		Raw    int64   `json:"raw"`
		Stored int64   `json:"stored"`
		Mode   string  `json:"mode,omitempty"`
		Off    bool    `json:"off,omitempty"` // some filter was left out, since it did not help
	}
)

// blocks answers with the blocks of a variable. It reads the index, and the first byte of
// each listed block.
func (h *Handler) blocks(w http.ResponseWriter, r *http.Request, f *File) error {
	num, err := varOf(r, f)
	if err != nil {
		return err
	}
	out := &storage{Pool: []string{}, Shape: []int64{}, Filters: []filter{}, Modes: choices.Modes{}, Listed: []block{}}
	info, ok := f.Info()
	if !ok {
		return sendJSON(w, out)
	}
	out.Archive = true
	v := f.Array(num).(*archive.Var)
	how := v.Info()
	if !how.Blocked && !how.Pooled {
		out.Why = how.Why
		return sendJSON(w, out)
	}
	chain, pool := how.Chain, -1
	out.Shape = append(out.Shape, how.Block...)
	if how.Pooled {
		pool = how.Pool
		chain = info.Pools[pool].Chain
		out.Shape = append(out.Shape[:0], info.Pools[pool].Block...)
		out.Pool = poolNames(f, info.Pools[pool].Vars)
	}
	out.Preset = choices.Preset(chain, v.Type())
	for i := range chain {
		one, _ := chain.At(i) // with its name
		out.Filters = append(out.Filters, filter{one.ID, one.Name, append([]uint32{}, one.Params...)})
	}
	for b, err := range f.Blocks(r.Context()) {
		if err != nil {
			return err
		}
		if b.Var != num && (pool < 0 || b.Pool != pool) {
			continue
		}
		out.Blocks++
		out.Raw += b.Raw
		out.Stored += b.Len
		if len(out.Listed) == maxBlocks {
			continue
		}
		mode, err := choices.Mode(f.Stored, b, chain)
		if err != nil {
			return err
		}
		if mode != "" {
			out.Modes[mode]++
		}
		out.Listed = append(out.Listed, block{b.Start, b.Count, b.Raw, b.Len, mode, b.Mask != 0})
	}
	return sendJSON(w, out)
}

// maxPool is the number of variables of a pool that an answer names.
const maxPool = 256

func poolNames(f *File, vars []int) []string {
	out := []string{}
	for _, num := range vars[:min(len(vars), maxPool)] {
		out = append(out, latin.Text(f.Header().Vars[num].Name))
	}
	return out
}
