package encode

import "github.com/cdfz-format/cdfz/filters"

// hintEvery is how many blocks of a variable use one hint.
const hintEvery = 32

// hint is what the encoder chose for a block, for others of its variable.
type hint struct {
	done   chan struct{} // closed when chosen is set
	chosen filters.Hint
}

// hints gives blocks of variables hints, in the order in which they are submitted. One block in hintEvery gives a hint.
// The blocks after the next one of these use it, so that no worker has to wait for another one; only the first hint is
// used at once. This depends on the numbers of the blocks alone, so archives are the same with any number of workers.
type hints map[int]*[2]*hint // by variable: of the last two blocks that give one

// of sets the hint that a block gives or uses. blocks is how many its variable has.
func (h hints) of(j *BlockJob, blocks int64) {
	if j.Stored != nil || blocks < 3 {
		return
	}
	if j.B%hintEvery == 0 {
		j.gives = &hint{done: make(chan struct{})}
		last := h[j.V]
		if last == nil {
			last = &[2]*hint{j.gives, j.gives}
			h[j.V] = last
		}
		last[0], last[1] = last[1], j.gives
		return
	}
	if last := h[j.V]; last != nil {
		j.uses = last[0]
	}
}
