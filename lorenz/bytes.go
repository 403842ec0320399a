package lorenz

import (
	"github.com/cdfz-format/cdfz/lorenz/internal/bytecoder"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/text"
)

// Blocks for which modeText, whose encoder is slow, is not worth a trial.
const (
	// tinyText is the largest block of text that is coded in modeBytes without a comparison
	// with modeText, in bytes. Most such blocks take less there. Up to this size, repeats are
	// chosen with care at every level.
	tinyText = 2 << 10
	// tinyFlags is the largest block of other bytes that is not tried in modeText if it takes
	// less than a sixteenth already.
	tinyFlags = 8 << 10
)

// asText replaces the block after start by one in modeText if that is shorter.
func (e *Encoder) asText(dst, src []byte, start int) []byte {
	if e.p.Type != Char && (e.size > 1 || e.level == Fast || !text.Promising(src)) {
		return dst
	}
	if n := len(dst) - start; e.level == Default && n > 0 {
		if e.p.Type == Char && len(src) <= tinyText && dst[start] == modeBytes ||
			e.p.Type != Char && len(src) <= tinyFlags && n < len(src)/16 {
			return dst
		}
	}
	end := len(dst)
	dst = e.text.Encode(append(dst, modeText), src, rowBytes(e.p.Dims, 1), e.level == Fast && len(src) > tinyText)
	limit := end - start
	if e.p.Type != Char { // ranges can no longer be decoded
		limit -= limit / 16
	}
	if end > start && len(dst)-end >= limit {
		return dst[:end]
	}
	return append(dst[:start], dst[end:]...)
}

// asBytes replaces the block after start by one in modeBytes if that is worth the time.
func (e *Encoder) asBytes(dst, src []byte, start int) []byte {
	if e.size > 1 && (e.level != Max || len(dst) < start+2 || dst[start] != modeGroups || dst[start+1]&flagRepeats == 0) {
		return dst
	}
	limit, share := len(dst)-start, 0
	switch {
	case e.level == Fast:
		return dst
	case e.level == Default && e.p.Type == Char && len(src) <= smallBlock:
		limit -= limit / 32
	case e.level == Default && e.p.Type == Char:
		limit -= limit / 16
		if share = 4; len(src) > 4*smallBlock {
			share = 16
		}
	case e.level == Default:
		limit -= limit / 7
		if len(src) > smallBlock {
			share = 16
		}
	}
	if e.model == nil {
		e.model = new(bytecoder.Model)
	}
	end := len(dst)
	dst = append(dst, modeBytes)
	dst, ok := e.model.Encode(dst, src, e.size, rowBytes(e.p.Dims, e.size), 64, limit, share)
	if !ok || len(dst)-end >= limit {
		return dst[:end]
	}
	return append(dst[:start], dst[end:]...)
}

// bytes decodes elements of a block in modeBytes or modeText.
func (d *Decoder) bytes(dst, src []byte, i, j int) bool {
	out := dst
	if len(dst) < d.n*d.size {
		d.whole = entropy.Grow(d.whole, d.n*d.size)
		out = d.whole
	}
	switch src[0] {
	case modeText:
		if d.text == nil {
			d.text = new(text.Decoder)
		}
		if !d.text.Decode(out, src[1:], &d.stop) {
			return false
		}
	default:
		if d.model == nil {
			d.model = new(bytecoder.Model)
		}
		if !d.model.Decode(out, src[1:], d.size, rowBytes(d.p.Dims, d.size), &d.stop) {
			return false
		}
	}
	if len(dst) < len(out) {
		copy(dst, out[i*d.size:j*d.size])
	}
	return true
}
