package lorenz

import (
	"encoding/binary"
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// maskReader is the mask of a block in the decoder.
type maskReader struct {
	mask            // runs only if they were needed to read it
	used   bool     // whether any element is masked
	n      int      // elements of the block
	masked []uint64 // one bit each
	before []int32  // unmasked elements before each word of masked, and all of them
}

// reset makes all of n elements unmasked.
func (m *maskReader) reset(n int) { m.used, m.n, m.runs = false, n, m.runs[:0] }

// set builds the mask from the stored numbers. It reports whether they cover exactly
// n elements.
func (m *maskReader) set(nums []uint64, specials, dist, n int) bool {
	if dist < 64 {
		if !m.setRuns(nums, specials, dist, n) {
			return false
		}
		m.setBits(n)
	} else {
		m.clearBits(n)
		if !m.setSteps(nums, specials, n) {
			return false
		}
		m.sumBits(specials, dist, n)
	}
	m.used, m.n = true, n
	words := len(m.bits[0])
	m.masked, m.before = entropy.Grow(m.masked, words), entropy.Grow(m.before, words+1)
	sum := 0
	for i, a := range m.bits[0] {
		m.masked[i], m.before[i] = a|m.bits[1][i], int32(sum)
		sum += 64 - bits.OnesCount64(m.masked[i])
	}
	m.before[words] = int32(sum - (64*words - n))
	return true
}

// nextStep decodes a stored number: the step of its run, given the one before, and the
// length of the run.
func nextStep(num uint64, step, specials int) (int, uint64) {
	if specials == 2 {
		return (step + 1 + int(num&1)) % 3, num >> 1
	}
	return step ^ 1, num
}

// setSteps sets the bits to the steps of the stored runs.
func (m *maskReader) setSteps(nums []uint64, specials, n int) bool {
	at, step := 0, specials
	for i, num := range nums {
		var v uint64
		step, v = nextStep(num, step, specials)
		if v > uint64(n-at) || v == 0 && i > 0 {
			return false
		}
		if step > 0 && v > 0 {
			setRange(m.bits[step-1], at, at+int(v))
		}
		at += int(v)
	}
	return at == n
}

// setRuns sets the runs from the stored numbers.
func (m *maskReader) setRuns(nums []uint64, specials, dist, n int) bool {
	m.runs = m.runs[:0]
	at, step, ref := 0, specials, 0
	for i, num := range nums {
		var v uint64
		step, v = nextStep(num, step, specials)
		if v > uint64(n-at) || v == 0 && i > 0 {
			return false
		}
		for last := at + int(v); at < last; {
			kind, end := 0, last
			if dist > 0 && at < dist {
				end = min(last, dist)
			} else if dist > 0 {
				kind, end = m.at(at-dist, at, &ref)
				end = min(end+dist, last)
			}
			if kind = (kind + step) % (specials + 1); kind > 0 {
				m.extend(at, end, uint8(kind-1))
			}
			at = end
		}
	}
	return at == n
}

// extend appends a run, or lengthens the last one.
func (m *maskReader) extend(start, end int, kind uint8) {
	if n := len(m.runs); n > 0 && m.runs[n-1].kind == kind && int(m.runs[n-1].end) == start {
		m.runs[n-1].end = int32(end)
		return
	}
	m.add(start, end, kind)
}

// sumBits turns steps into kinds: it adds to each element the kind of the one
// dist before it, modulo 2 or with two specials 3. dist is at least 64.
func (m *maskReader) sumBits(specials, dist, n int) {
	a, b := m.bits[0], m.bits[1]
	words, shift := dist>>6, uint(dist&63)
	for i := words; i < len(a); i++ {
		p, q := a[i-words]<<shift, b[i-words]<<shift
		if i > words {
			p |= a[i-words-1] >> (64 - shift)
			q |= b[i-words-1] >> (64 - shift)
		}
		s, t := a[i], b[i]
		a[i] = s&^(p|q) | p&^(s|t) | t&q
		b[i] = t&^(p|q) | q&^(s|t) | s&p
		if specials == 1 {
			b[i] = 0
		}
	}
	last := len(a) - 1
	a[last] &= ^uint64(0) >> (-n & 63)
	b[last] &= ^uint64(0) >> (-n & 63)
}

// runsOfBits sets the runs from the bits.
func (m *maskReader) runsOfBits() {
	runs := m.runs[:0]
	last := maskRun{start: -1, end: -1}
	for i, a := range m.bits[0] {
		b := m.bits[1][i]
		for at := int32(i * 64); a|b != 0; {
			k := bits.TrailingZeros64(a | b)
			at += int32(k)
			a, b = a>>k, b>>k
			kind := uint8(b & 1)
			if kind == 0 {
				k = bits.TrailingZeros64(^a)
			} else {
				k = bits.TrailingZeros64(^b)
			}
			if at != last.end || kind != last.kind {
				if last.end >= 0 {
					runs = append(runs, last)
				}
				last = maskRun{start: at, before: last.before + last.end - last.start, kind: kind}
			}
			at += int32(k)
			last.end = at
			a, b = a>>k, b>>k
		}
	}
	if last.end >= 0 {
		runs = append(runs, last)
	}
	m.runs = runs
}

// rank returns how many elements before e are not masked.
func (m *maskReader) rank(e int) int {
	if !m.used {
		return e
	}
	i := e >> 6
	if e == m.n {
		return int(m.before[len(m.before)-1])
	}
	return int(m.before[i]) + bits.OnesCount64(^m.masked[i]&(1<<(e&63)-1))
}

// eachWord calls f for the bits of the elements [at, at+n), the first one lowest, of up to
// 64 elements at once, or of more that are all 0 or all 1.
func eachWord(w []uint64, at, n int, f func(word uint64, n int)) {
	for n > 0 {
		shift := at & 63
		word, k := w[at>>6]>>shift, 64-shift
		if word == ^uint64(0)>>shift {
			word = ^uint64(0)
		}
		if word == 0 || word == ^uint64(0) {
			for k < n && w[(at+k)>>6] == word {
				k += 64
			}
		}
		k = min(k, n)
		f(word, k)
		at, n = at+k, n-k
	}
}

// expand writes residuals to y, which starts at element at, and 0 for masked
// elements.
func expand[T lane](m *maskReader, y, res []T, at int) {
	if !m.used {
		copy(y, res)
		return
	}
	eachWord(m.masked, at, len(y), func(word uint64, n int) {
		to := y[:n]
		y = y[n:]
		if n == 64 && word != 0 && word != ^uint64(0) {
			if narrow, ok := any(to).([]uint32); ok {
				res = res[kernels.Expand((*[64]uint32)(narrow), any(res).([]uint32), word):]
				return
			}
		}
		if word == ^uint64(0) {
			clear(to)
			return
		}
		for len(to) > 0 {
			k := len(to)
			if word != 0 {
				k = min(k, bits.TrailingZeros64(word))
			}
			res = res[copy(to[:k], res):]
			to, word = to[k:], word>>k
			k = min(len(to), bits.TrailingZeros64(^word))
			clear(to[:k])
			to, word = to[k:], word>>k
		}
	})
}

// stamp writes the patterns over masked elements. dst starts at element at.
func (m *maskReader) stamp(dst []byte, size, at int) {
	if !m.used {
		return
	}
	for kind, pattern := range m.patterns {
		rest := dst
		eachWord(m.bits[kind], at, len(dst)/size, func(word uint64, n int) {
			to := rest[:n*size]
			rest = rest[n*size:]
			if word == 0 {
				return
			}
			if n > 64 {
				fillElements(to, pattern)
				return
			}
			if size == 4 && n == 64 {
				kernels.Stamp((*[256]byte)(to), word, binary.LittleEndian.Uint32(pattern))
				return
			}
			for e := 0; word != 0 && e < n; {
				skip := bits.TrailingZeros64(word)
				e, word = e+skip, word>>skip
				k := bits.TrailingZeros64(^word)
				if e < n {
					fillElements(to[e*size:min(e+k, n)*size], pattern)
				}
				e, word = e+k, word>>k
			}
		})
	}
}
