package lorenz

import (
	"bytes"
	"fmt"

	"github.com/cdfz-format/cdfz/lorenz/internal/contexts"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/masks"
	"github.com/cdfz-format/cdfz/lorenz/internal/matches"
	"github.com/cdfz-format/cdfz/lorenz/internal/predict"
	"github.com/cdfz-format/cdfz/lorenz/internal/references"
	"github.com/cdfz-format/cdfz/lorenz/internal/repeats"
	"github.com/cdfz-format/cdfz/lorenz/internal/text"
)

// Encoder encodes blocks of one kind. It keeps buffers between calls and must not be
// used concurrently. The same block, with the same hint or none, is encoded to the same bytes on
// every machine, regardless of the blocks encoded before.
type Encoder struct {
	p       Params
	n       int
	size    int
	level   Level
	choices choices
	raw     []byte
	shape   shape
	c32     coder[uint32]
	c64     coder[uint64]
	matches *matches.Encoder
	text    text.Encoder
	sub     *Encoder // of parts
	best    made     // the block that was encoded last
	like    *Choice  // for a block of the same variable, or nil
	hints   bool     // the block is to give a hint for others
}

// NewEncoder returns an encoder of blocks with these parameters.
func NewEncoder(p Params, level Level) (*Encoder, error) {
	e := new(Encoder)
	if err := e.Reset(p, level); err != nil {
		return nil, err
	}
	return e, nil
}

// Reset makes e an encoder of other blocks. It keeps the buffers.
func (e *Encoder) Reset(p Params, level Level) error {
	n, err := p.check()
	if err != nil {
		return err
	}
	if level < Default || level > Max {
		return fmt.Errorf("lorenz: expected a level of %d to %d, found %d", Default, Max, level)
	}
	e.p, e.n, e.size, e.level = p, n, p.Type.Size(), level
	e.choices = choicesFor(level, p.Type, n*e.size)
	return nil
}

// Encode appends the encoded form of a block to dst. It is at most one byte
// longer than the block.
func (e *Encoder) Encode(dst, src []byte) ([]byte, error) {
	e.like, e.hints = nil, false
	return e.encode(dst, src)
}

// EncodeLike is Encode with a hint: what was chosen for another block of the same variable, or nil. It takes less time
// if the blocks resemble each other. The bytes depend on both blocks, and on nothing else. Without a hint, it returns
// one for other blocks, or nil if this one is of no use for them.
func (e *Encoder) EncodeLike(dst, src []byte, like *Choice) ([]byte, *Choice, error) {
	e.like, e.hints = nil, like == nil
	if like.fits(e) {
		e.like = like
	}
	dst, err := e.encode(dst, src)
	if err != nil || !e.hints {
		return dst, nil, err
	}
	return dst, e.hint(), nil
}

func (e *Encoder) encode(dst, src []byte) ([]byte, error) {
	if len(src) != e.n*e.size {
		return dst, fmt.Errorf("lorenz: expected a block of %d bytes, found %d", e.n*e.size, len(src))
	}
	start := len(dst)
	e.best = as(formRaw, e.n, len(src)+1)
	if e.n > 1 && isConst(src, e.size) {
		e.best.len = 1 + e.size
		return append(append(dst, modeConst), src[:e.size]...), nil
	}
	if e.n > 1 {
		big := src
		if e.p.Order == LittleEndian {
			e.raw = append(e.raw[:0], src...)
			swap(e.raw, e.size)
			big = e.raw
		}
		if e.isHeader(big) {
			dst = e.asHeader(dst, big)
		} else {
			dst = e.numbers(dst, big)
			if e.like != nil && len(dst) > start {
				return dst, nil
			}
			dst = e.asText(dst, big, start)
			dst = e.asMatches(dst, big, start)
			dst = e.parts(dst, src, start)
		}
	}
	if raw := as(formRaw, e.n, len(src)+1); len(dst) == start || len(dst)-start > len(src) || !e.choices.price.better(e.best, raw, len(src)) {
		e.best = raw
		return append(append(dst[:start], modeRaw), src...), nil
	}
	return dst, nil
}

// cheaper replaces the block after start by the one after mid if its price is lower, or removes that.
func (e *Encoder) cheaper(dst []byte, start, mid int, m made) []byte {
	if m.len = len(dst) - mid; mid > start && !e.choices.price.better(m, e.best, e.n*e.size) {
		return dst[:mid]
	}
	e.best = m
	return append(dst[:start], dst[mid:]...)
}

// limit returns the bytes below which a form is better than the best one so far.
func (e *Encoder) limit(f form) int { return e.choices.price.limit(f, e.n, e.n*e.size, e.best) }

// part encodes a part of a block, and returns how long its decoding takes. Errors cannot occur: p describes src.
func (e *Encoder) part(p Params, src []byte) ([]byte, int64) {
	if e.sub == nil {
		e.sub = new(Encoder)
	}
	_ = e.sub.Reset(p, e.level)
	b, _ := e.sub.Encode(nil, src)
	return b, e.sub.best.time
}

// isConst reports whether all elements are the same.
func isConst(b []byte, size int) bool {
	return bytes.Equal(b[size:], b[:len(b)-size])
}

// numbers appends the block in modeGroups, modeAdaptive, modeReferences or modeContexts.
func (e *Encoder) numbers(dst, src []byte) []byte {
	s := &e.shape
	*s = shape{typ: e.p.Type, size: e.size, dims: e.p.Dims, n: e.n, choices: e.choices, mask: s.mask, head: s.head, hints: e.hints} // keeps buffers
	if e.size == 8 {
		return numbersOf(e, dst, src, &e.c64, func(u []uint64) { loadBits64(u, src) })
	}
	return numbersOf(e, dst, src, &e.c32, func(u []uint32) { loadBits32(u, src, e.p.Type) })
}

// numbersOf appends the block. load sets the bits of all elements.
func numbersOf[T lane](e *Encoder, dst, src []byte, c *coder[T], load func(u []T)) []byte {
	s := &e.shape
	c.u = entropy.Grow(c.u, e.n)
	load(c.u)
	s.mask.Runs = s.mask.Runs[:0]
	findSpecials(s, c)
	c.y = lanesOf(c.y, c.u, s)
	start := len(dst)
	if e.like != nil {
		dst = encodeAlike(s, dst, src, c, &e.c32, e.like)
	}
	if len(dst) == start {
		if e.like != nil {
			e.like = nil
			load(c.u)
			fillBefore(c.y, &s.mask)
		}
		dst = encodeNumbers(s, dst, src, c, &e.c32)
	}
	e.best = s.best
	return dst
}

// shape describes a block to the encoder.
type shape struct {
	typ  Type
	size int
	dims []int
	n    int
	choices
	specials int
	mask     masks.Mask
	dist     int      // the distance of the mask (section 6)
	nums     []uint64 // the run lengths of the mask
	head     []byte   // the bytes of the mask in a block
	distinct float64  // share of different values in a sample
	best     made     // the best form so far
	groups   form     // formGroups or formCells, in which modeGroups would be
	divided  int      // into about how many parts its cells cut the block there, 0 without cells shorter than planes
	hints    bool     // the block is to give a hint for others
	written  Choice   // the form that was written last
	chosen   Choice   // that of best
}

// coder has the buffers for lanes of one width.
type coder[T lane] struct {
	u        []T // bits of the elements
	y        []T
	r        []T    // without masked elements
	diff     [2][]T // residuals
	w        entropy.GroupWriter[T]
	probe    prober[T]
	sample   []T
	vals     []float64
	table    []uint32
	ints     []T
	codes    entropy.GroupWriter[uint32]
	find     repeats.Finder
	refs     references.Finder[T]
	lits     []T
	adapt    adaptiveWriter[T]
	ctx      contexts.Encoder[T]
	masked   []contexts.Run
	form     form      // of the block that was written last
	promises []promise // buffer
	scratch  []byte
	counts   [2 * maxSample]uint16
	seen     []frequent[T]      // the values of the sample
	narrow   [mapKinds][]uint32 // lanes of transforms
}

// candidate is a transformed block with its predictor.
type candidate[T lane] struct {
	kind    byte
	params  []byte
	patches []int32 // elements that the transform cannot represent
	y       []T     // lanes, masked ones arbitrary
	u       []T     // bits of floats for float predictors, or nil
	pred    predict.Predictor
	cost    float64 // estimated bits

	mode byte // modeGroups, modeAdaptive, modeReferences or modeContexts
	most int  // for modeReferences bytes in the best other mode, for modeAdaptive those below which it is taken, 0 for any
}

// costWith returns the estimated bits of a candidate with a predictor.
func (c *coder[T]) costWith(s *shape, x *candidate[T], pred predict.Predictor) float64 {
	p := &c.probe
	p.l, p.y, p.bits = predict.Whole(s.n), x.y, x.u
	p.sample(p.step(s.search.last), &s.mask)
	return p.cost(pred, pred.Layout(s.n))
}

// search chooses the predictor of a candidate.
func (c *coder[T]) search(s *shape, x *candidate[T]) {
	p := &c.probe
	p.l, p.y, p.bits = predict.Whole(s.n), x.y, x.u
	pred, cost := p.best(s)
	x.pred = pred
	x.cost += cost
}
