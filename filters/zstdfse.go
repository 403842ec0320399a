package filters

import (
	"math"
	"math/bits"
)

// Finite state entropy coding of the sequence codes of a zstd block: RFC 8878,
// section 4.1, and for the encoder's tables FSE_buildCTable of the reference
// (lib/compress/fse_compress.c).

const (
	fseMaxLog  = 9
	fseMaxSyms = 53
)

// fseTable encodes symbols with one distribution.
type fseTable struct {
	log   uint
	syms  int // symbols 0 to syms-1
	norm  [fseMaxSyms]int16
	next  [1 << fseMaxLog]uint16
	delta [fseMaxSyms]struct{ bits, state int32 }
}

// bitWriter collects bits, the first in the lowest place.
type bitWriter struct {
	out  []byte
	acc  uint64
	fill uint
}

// add appends the n lowest bits of v; n is at most 32.
func (w *bitWriter) add(v uint64, n uint) {
	w.acc |= v & (1<<n - 1) << w.fill
	w.fill += n
	if w.fill >= 32 {
		w.out = append(w.out, byte(w.acc), byte(w.acc>>8), byte(w.acc>>16), byte(w.acc>>24))
		w.acc >>= 32
		w.fill -= 32
	}
}

// flush fills the last byte with zeros.
func (w *bitWriter) flush() []byte {
	for w.fill > 0 {
		w.out = append(w.out, byte(w.acc))
		w.acc >>= 8
		w.fill -= min(w.fill, 8)
	}
	return w.out
}

// normalize spreads 1<<log slots over the symbols as their counts are, at least
// one slot for each that occurs. There are at least two of them.
func (t *fseTable) normalize(count []uint32, total int, maxLog uint) {
	distinct := 0
	t.syms = 0
	for s, c := range count {
		if c > 0 {
			distinct++
			t.syms = s + 1
		}
	}
	log := min(maxLog, uint(max(bits.Len(uint(total-1))-2, 5)))
	for distinct > 1<<log {
		log++
	}
	t.log = log
	size := 1 << log
	left := size
	for s := range t.syms {
		t.norm[s] = 0
		if c := int(count[s]); c > 0 {
			n := max(1, (c*size+total/2)/total)
			t.norm[s] = int16(n)
			left -= n
		}
	}
	for left != 0 {
		// The largest share bears the difference best.
		big := 0
		for s := range t.syms {
			if t.norm[s] > t.norm[big] {
				big = s
			}
		}
		step := left
		if left < 0 {
			step = max(left, -max(1, int(t.norm[big])/8))
		}
		t.norm[big] += int16(step)
		left -= step
	}
	t.build()
}

// set takes a given distribution; -1 is a probability below one slot.
func (t *fseTable) set(norm []int16, log uint) {
	t.log, t.syms = log, len(norm)
	copy(t.norm[:], norm)
	t.build()
}

func (t *fseTable) build() {
	size := 1 << t.log
	var symbol [1 << fseMaxLog]uint8
	var cumul [fseMaxSyms + 1]int
	high := size - 1
	for s := range t.syms {
		n := int(t.norm[s])
		if n == -1 {
			n = 1
			symbol[high] = uint8(s)
			high--
		}
		cumul[s+1] = cumul[s] + n
	}
	pos, step := 0, size>>1+size>>3+3
	for s := range t.syms {
		for range max(0, int(t.norm[s])) {
			symbol[pos] = uint8(s)
			pos = (pos + step) & (size - 1)
			for pos > high {
				pos = (pos + step) & (size - 1)
			}
		}
	}
	start := cumul
	for u := range size {
		s := symbol[u]
		t.next[cumul[s]] = uint16(size + u)
		cumul[s]++
	}
	for s := range t.syms {
		d := &t.delta[s]
		switch n := int(t.norm[s]); n {
		case 0:
			d.bits, d.state = int32(t.log+1)<<16-int32(size), 0
		case 1, -1:
			d.bits, d.state = int32(t.log)<<16-int32(size), int32(start[s]-1)
		default:
			out := int(t.log) - (bits.Len(uint(n-1)) - 1)
			d.bits, d.state = int32(out)<<16-int32(n<<out), int32(start[s]-n)
		}
	}
}

// first is the state that stands for symbol s with nothing before it.
func (t *fseTable) first(s uint8) uint32 {
	d := t.delta[s]
	n := uint32(d.bits+1<<15) >> 16
	v := int32(n<<16) - d.bits
	return uint32(t.next[v>>n+d.state])
}

// step writes the bits that lead from state to one for symbol s.
func (t *fseTable) step(w *bitWriter, state uint32, s uint8) uint32 {
	d := t.delta[s]
	n := uint(int32(state)+d.bits) >> 16
	w.add(uint64(state), n)
	return uint32(t.next[int32(state>>n)+d.state])
}

// writeNorm appends the description of the distribution (RFC 8878, 4.1.1).
func (t *fseTable) writeNorm(dst []byte) []byte {
	w := bitWriter{out: dst}
	w.add(uint64(t.log-5), 4)
	n := t.log + 1
	threshold := 1 << t.log
	remaining := threshold + 1
	for s, zero := 0, false; s < t.syms && remaining > 1; {
		if zero {
			start := s
			for s < t.syms && t.norm[s] == 0 {
				s++
			}
			for ; s >= start+3; start += 3 {
				w.add(3, 2)
			}
			w.add(uint64(s-start), 2)
		}
		c := int(t.norm[s])
		s++
		top := 2*threshold - 1 - remaining
		if c < 0 {
			remaining += c
		} else {
			remaining -= c
		}
		c++
		if c >= threshold {
			c += top
		}
		if c < top {
			w.add(uint64(c), n-1)
		} else {
			w.add(uint64(c), n)
		}
		zero = c == 1
		for remaining < threshold {
			n--
			threshold >>= 1
		}
	}
	return w.flush()
}

// cost is how many 1/256 bits the counted symbols take with the distribution, or
// a lot if it lacks one of them.
func (t *fseTable) cost(count []uint32) int {
	sum := 0
	for s, c := range count {
		if c == 0 {
			continue
		}
		if s >= t.syms || t.norm[s] == 0 {
			return math.MaxInt32
		}
		n := int(t.norm[s])
		if n < 0 {
			n = 1
		}
		sum += int(c) * (int(t.log)<<8 - log2(uint32(n)))
	}
	return sum
}

// log2 is 256 times the logarithm of v > 0, rounded down at the end of a table
// of linear pieces: the same on every machine, unlike package math's.
func log2(v uint32) int {
	n := bits.Len32(v) - 1
	f := (uint64(v)<<16)>>n - 1<<16 // fraction of 2^16
	// log2(1+x) ~ x + x(1-x)*0.343, good to 0.01.
	return n<<8 + int((f+(f*(1<<16-f)>>16)*343/1000)>>8)
}
