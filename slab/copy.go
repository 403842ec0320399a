package slab

import (
	"slices"

	"github.com/cdfz-format/cdfz/cdf3"
)

// loop is one level of nested loops: n steps of src bytes in the source and dst
// elements in the destination.
type loop struct{ n, src, dst int64 }

// nest holds the loops that copy the part of a selection inside a box, innermost last,
// and their starting points.
type nest struct {
	loops    []loop
	src, dst int64
	empty    bool
}

// boxNest plans the copy of selected elements out of a box of the array whose bytes are
// contiguous in row-major order.
func boxNest(dims []dim, start, count []int64, size int64, buf []loop) nest {
	n := nest{loops: buf[:0]}
	src, dst := size, int64(1)
	for i := len(dims) - 1; i >= 0; i-- {
		d := &dims[i]
		lo, hi := d.within(start[i], start[i]+count[i])
		if lo == hi {
			return nest{empty: true}
		}
		n.src += (d.start + lo*d.stride - start[i]) * src
		n.dst += lo * dst
		n.add(loop{hi - lo, d.stride * src, dst}, size)
		src *= count[i]
		dst *= d.count
	}
	slices.Reverse(n.loops)
	return n
}

// add puts l around the loops so far, or merges it into the last one if both step
// evenly.
func (n *nest) add(l loop, size int64) {
	if l.n == 1 {
		return
	}
	if k := len(n.loops); k > 0 {
		in := &n.loops[k-1]
		if l.src == in.n*in.src && l.dst == in.n*in.dst {
			in.n *= l.n
			return
		}
	}
	n.loops = append(n.loops, l)
}

// copyNest runs the loops.
func copyNest[T cdf3.Number](dst []T, src []byte, n *nest, size int64) {
	loops := n.loops
	if len(loops) == 0 {
		load(dst[n.dst:n.dst+1], src[n.src:n.src+size])
		return
	}
	in := loops[len(loops)-1]
	outer := loops[:len(loops)-1]
	var buf [maxRank]int64
	at := buf[:min(len(outer), maxRank)]
	if len(outer) > maxRank {
		at = make([]int64, len(outer))
	}
	so, do := n.src, n.dst
	for {
		if in.src == size && in.dst == 1 {
			load(dst[do:do+in.n], src[so:so+in.n*size])
		} else {
			loadStrided(dst, src, in.n, do, in.dst, so, in.src)
		}
		i := len(outer) - 1
		for ; i >= 0; i-- {
			at[i]++
			so += outer[i].src
			do += outer[i].dst
			if at[i] < outer[i].n {
				break
			}
			so -= at[i] * outer[i].src
			do -= at[i] * outer[i].dst
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}
