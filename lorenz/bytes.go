package lorenz

import (
	"github.com/cdfz-format/cdfz/lorenz/internal/bytecoder"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// rowBytes returns the row that modeBytes assumes for a shape, in bytes.
func rowBytes(dims []int, size int) int {
	for i := len(dims) - 1; i >= 0; i-- {
		if dims[i] > 1 {
			return dims[i] * size
		}
	}
	return size
}

// bytes decodes elements of a block in modeBytes.
func (d *Decoder) bytes(dst, src []byte, i, j int) bool {
	if d.model == nil {
		d.model = new(bytecoder.Model)
	}
	out := dst
	if len(dst) < d.n*d.size {
		d.whole = entropy.Grow(d.whole, d.n*d.size)
		out = d.whole
	}
	if !d.model.Decode(out, src, d.size, rowBytes(d.p.Dims, d.size)) {
		return false
	}
	if len(dst) < len(out) {
		copy(dst, out[i*d.size:j*d.size])
	}
	return true
}
