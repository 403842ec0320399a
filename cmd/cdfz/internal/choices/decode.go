package choices

import (
	"context"
	"io"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/filters"
)

// mostTimed is how many blocks of an array are decoded to measure the speed.
const mostTimed = 16

// timed is an array whose blocks are decoded.
type timed struct {
	coder   *filters.Coder
	raw     []byte
	every   int64 // block that is decoded
	seen    int64
	decoded int64 // bytes
	took    time.Duration
}

func newTimed(chain filters.Chain, block []int64, size int, blocks int64) *timed {
	coder, err := filters.NewCoder(chain)
	if err != nil || blocks == 0 {
		return nil // a filter that is missing here
	}
	n := int64(size)
	for _, d := range block {
		n *= d
	}
	return &timed{coder: coder, raw: make([]byte, n), every: (blocks + mostTimed - 1) / mostTimed}
}

// speed returns 10^6 bytes a second, or 0 if nothing was decoded.
func (t *timed) speed() float64 {
	if t == nil || t.took == 0 {
		return 0
	}
	return float64(t.decoded) / 1e6 / t.took.Seconds()
}

// DecodeSpeeds decodes some blocks of each variable and each pool on one core, and returns how many 10^6 bytes that
// makes in a second, by the number of the variable and in the order of archive.Info, or 0 for those that have no blocks
// or cannot be decoded. r is the archive as it is stored. Errors are those of r, of ctx and of a damaged index.
func DecodeSpeeds(ctx context.Context, r io.ReaderAt, f *archive.File) (vars, pools []float64, err error) {
	info, _ := f.Info()
	arrays := make([]*timed, len(f.Header().Vars))
	for i, v := range f.Vars() {
		if vi := v.Info(); vi.Blocked {
			arrays[i] = newTimed(vi.Chain, vi.Block, int(v.Type().Size()), vi.Blocks)
		}
	}
	shared := make([]*timed, len(info.Pools))
	for i, p := range info.Pools {
		shared[i] = newTimed(p.Chain, p.Block, int(p.Type.Size()), p.Blocks)
	}
	var stored []byte
	for block, err := range f.Blocks(ctx) {
		if err != nil {
			return nil, nil, err
		}
		var t *timed
		switch {
		case block.Var >= 0:
			t = arrays[block.Var]
		case block.Pool >= 0:
			t = shared[block.Pool]
		}
		if t == nil {
			continue
		}
		t.seen++
		if (t.seen-1)%t.every != 0 {
			continue
		}
		if int64(cap(stored)) < block.Len {
			stored = make([]byte, block.Len)
		}
		stored = stored[:block.Len]
		if n, err := r.ReadAt(stored, block.Off); n < len(stored) {
			return nil, nil, err
		}
		best := time.Duration(0)
		for range 2 { // the first one fills the caches
			start := time.Now()
			if t.coder.Decode(t.raw, stored, block.Mask) != nil {
				break // verify tells more
			}
			if d := max(time.Since(start), 1); best == 0 || d < best {
				best = d
			}
		}
		if best > 0 {
			t.decoded, t.took = t.decoded+block.Raw, t.took+best
		}
	}
	for _, t := range arrays {
		vars = append(vars, t.speed())
	}
	for _, t := range shared {
		pools = append(pools, t.speed())
	}
	return vars, pools, nil
}
