// Package parts reads and writes the heads of lorenz blocks whose rows are blocks of their own
// (docs/LORENZ.md, section 13).
package parts

import (
	"sort"
	"unsafe"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// Most is the most parts of a block.
const Most = 1 << 16

const sampled = 128 // elements that Resembles looks at, about

// Part is consecutive rows of a block, from Row to End: a block of their own, or a copy.
type Part struct {
	Row, End int
	Block    []byte // nil for a copy
	Source   int    // of a copy: its first row
}

// Memory bounds the bytes that Read allocates for a block of some rows.
func Memory(rows int) int64 { return 2 * min(int64(rows), Most) * int64(unsafe.Sizeof(Part{})) }

// Append appends the heads and the blocks of parts.
func Append(dst []byte, list []Part) []byte {
	for _, p := range list {
		dst = entropy.AppendUvarint(dst, uint64(p.End-p.Row))
		dst = entropy.AppendUvarint(dst, uint64(len(p.Block)))
		if p.Block == nil {
			dst = entropy.AppendUvarint(dst, uint64(p.Source))
		}
	}
	for _, p := range list {
		dst = append(dst, p.Block...)
	}
	return dst
}

// Read reads the parts of a block of some rows, which keep a reference to src. It appends
// them to list[:0].
func Read(list []Part, src []byte, rows int) ([]Part, bool) {
	r := &entropy.Reader{Buf: src}
	list = list[:0]
	sum := 0
	for row := 0; row < rows; {
		if len(list) == Most {
			return list, false
		}
		p := Part{Row: row, End: row + r.Int(min(rows-1, rows-row))}
		length := r.Int(len(src) - sum)
		if r.Bad || p.End == row {
			return list, false
		}
		if length > 0 {
			p.Block = src[sum : sum+length] // moved below
		} else {
			p.Source = r.Int(row)
			i := Of(list, p.Source)
			if r.Bad || i == len(list) || list[i].Block == nil || p.Source+p.End-p.Row > list[i].End {
				return list, false
			}
		}
		sum += length
		row = p.End
		if len(list) == cap(list) {
			list = append(make([]Part, 0, min(2*len(list)+16, rows)), list...)
		}
		list = append(list, p)
	}
	if sum != len(r.Buf) {
		return list, false
	}
	rest := r.Buf
	for i := range list {
		if n := len(list[i].Block); n > 0 {
			list[i].Block, rest = rest[:n], rest[n:]
		}
	}
	return list, true
}

// Of returns the index of the part with a row, or len(list).
func Of(list []Part, row int) int {
	return sort.Search(len(list), func(i int) bool { return row < list[i].End })
}

// Resembles reports whether in a sample of a row more bytes equal those of another row than
// those of the element before. size is the length of an element.
func Resembles(row, other []byte, size int) bool {
	step := max(1, len(row)/size/sampled) * size
	across, along := 0, 0
	for at := size; at < len(row); at += step {
		for k := range size {
			a, b, c := row[at+k], other[at+k], row[at-size+k]
			if a != b {
				across++
			}
			if a != c {
				along++
			}
		}
	}
	return across < along
}
