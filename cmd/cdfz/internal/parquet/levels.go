package parquet

import (
	"encoding/binary"
	"math/bits"
)

// appendRuns appends numbers of some bits in the hybrid of run lengths and packed bits that levels and indices of
// dictionaries have.
//
// https://parquet.apache.org/docs/file-format/data-pages/encodings/#RLE
func appendRuns(b []byte, values []uint32, width int) []byte {
	for i := 0; i < len(values); {
		if n := runLen(values[i:]); n >= 8 || i+n == len(values) {
			b = binary.AppendUvarint(b, uint64(n)<<1)
			for at := 0; at < width; at += 8 {
				b = append(b, byte(values[i]>>at))
			}
			i += n
			continue
		}
		// Packed are whole groups of eight, up to one that begins with a run.
		end := min(i+8, len(values))
		for end < len(values) && runLen(values[end:min(end+8, len(values))]) < 8 {
			end = min(end+8, len(values))
		}
		groups := (end - i + 7) / 8
		b = binary.AppendUvarint(b, uint64(groups)<<1|1)
		at := len(b)
		b = append(b, make([]byte, groups*width)...)
		for k, v := range values[i:end] {
			for bit := range width {
				pos := k*width + bit
				b[at+pos/8] |= byte(v>>bit&1) << (pos % 8)
			}
		}
		i = end
	}
	return b
}

// runLen returns the number of equal values at the start.
func runLen(values []uint32) int {
	n := 1
	for n < len(values) && values[n] == values[0] {
		n++
	}
	return n
}

// indexWidth returns the bits of the indices of a dictionary. Some readers know no width of 0.
func indexWidth(entries int) int { return max(1, bits.Len(uint(max(entries, 1)-1))) }

// runs reads what appendRuns writes.
type runs struct {
	b      []byte
	width  int
	left   int    // values of the current run
	packed []byte // of the current run, nil for one value
	bit    int    // in packed
	value  uint32
}

var errLevels = damage("expected more levels or indices")

// next returns the next value.
func (r *runs) next() (uint32, error) {
	if r.left == 0 {
		if err := r.begin(); err != nil {
			return 0, err
		}
	}
	r.left--
	if r.packed == nil {
		return r.value, nil
	}
	v, at := uint64(0), r.bit/8
	for k, c := range r.packed[at:min(at+5, len(r.packed))] {
		v |= uint64(c) << (8 * k)
	}
	v >>= r.bit % 8
	r.bit += r.width
	return uint32(v & (1<<r.width - 1)), nil
}

// begin begins the next run.
func (r *runs) begin() error {
	head, n := binary.Uvarint(r.b)
	if n <= 0 || head>>1 == 0 || head>>1 > maxChunk {
		return errLevels
	}
	r.b = r.b[n:]
	r.left, r.packed, r.bit = int(head>>1), nil, 0
	need := (r.width + 7) / 8
	if head&1 != 0 {
		need = r.left * r.width
		r.left *= 8
	}
	if need > len(r.b) {
		return errLevels
	}
	if head&1 != 0 && need > 0 {
		r.packed = r.b[:need]
	} else {
		r.value = 0
		for k, c := range r.b[:need] {
			r.value |= uint32(c) << (8 * k)
		}
	}
	r.b = r.b[need:]
	return nil
}
