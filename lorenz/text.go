package lorenz

import (
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/text"
)

// asText replaces the block after start by one in modeText if that is shorter.
func (e *Encoder) asText(dst, src []byte, start int) []byte {
	if e.p.Type != Char && (e.size > 1 || !e.choices.flags || !text.Promising(src)) {
		return dst
	}
	if n := len(dst) - start; n > 0 && e.p.Type != Char && len(src) <= e.choices.shortText && n < len(src)/goodRatio {
		return dst
	}
	end := len(dst)
	dst = e.text.Encode(append(dst, modeText), src, rowBytes(e.p.Dims, 1), len(src) > e.choices.quickText)
	limit := end - start
	if e.p.Type != Char {
		limit -= limit / textSaving
	}
	if end > start && len(dst)-end >= limit {
		return dst[:end]
	}
	return append(dst[:start], dst[end:]...)
}

// words decodes elements of a block in modeText, of which src are the bytes after the mode.
func (d *Decoder) words(dst, src []byte, i, j int) bool {
	out := dst
	if len(dst) < d.n*d.size {
		d.whole = entropy.Grow(d.whole, d.n*d.size)
		out = d.whole
	}
	if d.text == nil {
		d.text = new(text.Decoder)
	}
	if !d.text.Decode(out, src, &d.stop) {
		return false
	}
	if len(dst) < len(out) {
		copy(dst, out[i*d.size:j*d.size])
	}
	return true
}
