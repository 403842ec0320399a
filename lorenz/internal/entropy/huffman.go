package entropy

import (
	"math/bits"
	"slices"

	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// Huffman codes of byte symbols. Part of the format: a code word has at most
// maxCode bits, codes are canonical and complete, and words are stored starting
// with their most significant bit.
const (
	maxCode   = 11
	tableSize = 1 << maxCode
)

// codeLengths sets lens to the lengths of an optimal code for the frequencies,
// limited to maxCode bits, and returns the payload in bits. At least two
// frequencies must not be 0.
func codeLengths(lens *[256]uint8, freq *[256]uint32) int {
	type node struct {
		w    uint64
		a, b int16 // children, or -1 and the symbol
	}
	var nodes [511]node
	var keys, other [256]uint64
	n := 0
	for s, f := range freq {
		lens[s] = 0
		if f > 0 {
			keys[n] = uint64(f)<<8 | uint64(s)
			n++
		}
	}
	for i, k := range sorted(keys[:n], &other) {
		nodes[i] = node{k >> 8, -1, int16(k & 255)}
	}
	// Two queues: leaves in order, and inner nodes in order of creation.
	leaf, inner, end := 0, n, n
	take := func() int16 {
		if inner == end || leaf < n && nodes[leaf].w <= nodes[inner].w {
			leaf++
			return int16(leaf - 1)
		}
		inner++
		return int16(inner - 1)
	}
	for end < 2*n-1 {
		a := take()
		b := take()
		nodes[end] = node{nodes[a].w + nodes[b].w, a, b}
		end++
	}
	var depth [511]uint8
	var count [256]int // leaves of a depth
	for i := end - 1; i >= 0; i-- {
		d := depth[i]
		if i < n {
			count[min(d, maxCode)]++
			continue
		}
		depth[nodes[i].a], depth[nodes[i].b] = d+1, d+1
	}
	limitLengths(&count)
	// The rarest symbols get the longest words.
	total, i := 0, 0
	for d := maxCode; d > 0; d-- {
		for range count[d] {
			lens[nodes[i].b] = uint8(d)
			total += d * int(nodes[i].w)
			i++
		}
	}
	return total
}

// sorted sorts symbols by their frequencies, which are above the lowest byte. They are in the order
// of the symbols. The result is in keys or in other.
func sorted(keys []uint64, other *[256]uint64) []uint64 {
	if len(keys) < 32 {
		slices.Sort(keys)
		return keys
	}
	from, to := keys, other[:len(keys)]
	top := slices.Max(keys)
	for shift := 8; top>>shift > 0; shift += 8 {
		var at [256]int
		for _, k := range from {
			at[byte(k>>shift)]++
		}
		sum := 0
		for i, n := range at {
			at[i] = sum
			sum += n
		}
		for _, k := range from {
			b := byte(k >> shift)
			to[at[b]] = k
			at[b]++
		}
		from, to = to, from
	}
	return from
}

// limitLengths completes a code again after its longest words were cut to maxCode bits.
func limitLengths(count *[256]int) {
	sum := 0 // in units of the shortest possible share
	for d := 1; d <= maxCode; d++ {
		sum += count[d] << (maxCode - d)
	}
	for sum > tableSize {
		// Remove one word of the longest length and split a shorter one into two.
		count[maxCode]--
		for d := maxCode - 1; d > 0; d-- {
			if count[d] > 0 {
				count[d]--
				count[d+1] += 2
				break
			}
		}
		sum--
	}
}

// canonical assigns the code words, reversed for a stream whose first bit is
// the lowest one.
func canonical(words *[256]kernels.Word, lens *[256]uint8) {
	var next [maxCode + 2]uint16
	for _, l := range lens {
		if l > 0 {
			next[l+1]++
		}
	}
	for l := 1; l <= maxCode; l++ {
		next[l+1] = (next[l] + next[l+1]) << 1
	}
	// next[l] is now twice the words before length l, which is its first word.
	for s, l := range lens {
		if l > 0 {
			words[s] = kernels.Word(bits.Reverse16(next[l])>>(16-l))<<8 | kernels.Word(l)
			next[l]++
		}
	}
}

// writeLengths stores code lengths: the last symbol, runs of present and absent
// symbols in turn, and the changes of length from one present symbol to the
// next.
func writeLengths(w *bitWriter, lens *[256]uint8) {
	last := 255
	for lens[last] == 0 {
		last--
	}
	w.put(uint64(last), 8)
	present := true
	for s := 0; s <= last; {
		e := s
		for e <= last && (lens[e] > 0) == present {
			e++
		}
		if s == 0 {
			w.gamma(uint64(e) + 1) // symbol 0 may be absent
		} else {
			w.gamma(uint64(e - s))
		}
		s, present = e, !present
		if e == 0 {
			for e <= last && lens[e] == 0 {
				e++
			}
			w.gamma(uint64(e))
			s, present = e, true
		}
	}
	prev := 5
	for _, l := range lens[:last+1] {
		if l > 0 {
			d := int(l) - prev
			w.gamma(uint64(uint(d<<1^d>>31)) + 1)
			prev = int(l)
		}
	}
}
