// Package dictionary finds the different values of a block, for the dictionaries of lorenz
// (docs/LORENZ.md, section 4).
package dictionary

import (
	"cmp"
	"slices"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// Number replaces values by their numbers in the order of first use, and returns the
// different values, or nil if there are more than most. table is a buffer.
func Number[T entropy.Lane](dst []uint32, v []T, most int, table *[]uint32) []T {
	size := 10
	for 1<<size < 2*min(most, len(v)) {
		size++
	}
	*table = entropy.Grow(*table, 1<<size)
	t := *table
	clear(t)
	var all []T
	for i, x := range v {
		h := uint64(x) * 0x9E3779B97F4A7C15 >> (64 - size)
		for t[h] != 0 && all[t[h]-1] != x {
			h = (h + 1) & (1<<size - 1)
		}
		if t[h] == 0 {
			if len(all) >= most {
				return nil
			}
			all = append(all, x)
			t[h] = uint32(len(all))
		}
		dst[i] = t[h] - 1
	}
	return all
}

// Sorted sorts lanes as signed or unsigned numbers and returns the new place of each.
func Sorted[T entropy.Lane](v []T, signed bool) ([]T, []uint32) {
	flip := T(0)
	if signed {
		flip = 1 << (entropy.LaneBits[T]() - 1)
	}
	rank, out := make([]uint32, len(v)), make([]T, len(v))
	if entropy.LaneBits[T]() == 32 {
		keys := make([]uint64, len(v))
		for i, x := range v {
			keys[i] = uint64(x^flip)<<32 | uint64(i)
		}
		slices.Sort(keys)
		for k, x := range keys {
			rank[uint32(x)] = uint32(k)
			out[k] = v[uint32(x)]
		}
		return out, rank
	}
	at := make([]uint32, len(v))
	for i := range at {
		at[i] = uint32(i)
	}
	slices.SortFunc(at, func(a, b uint32) int { return cmp.Compare(v[a]^flip, v[b]^flip) })
	for k, i := range at {
		rank[i] = uint32(k)
		out[k] = v[i]
	}
	return out, rank
}
