package masks

import (
	"encoding/binary"
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// Reader is the mask of a block in the decoder.
type Reader struct {
	Mask            // runs only if they were needed to read it
	Used   bool     // whether any element is masked
	n      int      // elements of the block
	kinds  int      // of special values
	masked []uint64 // one bit each
	either []uint64 // buffer of masked
	before []int32  // unmasked elements before each word of masked, and all of them
}

// Reset makes all of n elements unmasked.
func (m *Reader) Reset(n int) { m.Used, m.n, m.Runs = false, n, m.Runs[:0] }

// Set builds the mask from the stored numbers. It reports whether they cover exactly
// n elements.
func (m *Reader) Set(nums []uint64, specials, dist, n int) bool {
	if dist > 0 && dist < 64 {
		if !m.setRuns(nums, specials, dist, n) {
			return false
		}
		m.setBits(n, specials)
	} else {
		m.clearBits(n, specials)
		if specials == 1 {
			if !setChanges(m.bits[0], nums, n) {
				return false
			}
			sumChanges(m.bits[0], dist, n)
		} else {
			if !m.setSteps(nums, specials, n) {
				return false
			}
			if dist > 0 {
				m.sumBits(dist, n)
			}
		}
	}
	m.Used, m.n, m.kinds = true, n, specials
	m.masked = m.bits[0]
	if specials > 1 {
		m.either = entropy.Grow(m.either, len(m.masked))
		for i, a := range m.bits[0] {
			m.either[i] = a | m.bits[1][i]
		}
		m.masked = m.either
	}
	words := len(m.masked)
	m.before = entropy.Grow(m.before, words+1)
	before, sum := m.before[:words], 0
	for i, w := range m.masked {
		before[i] = int32(sum)
		sum += 64 - bits.OnesCount64(w)
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

// setChanges sets the bits at which the step of a mask of one special changes: the first one of each
// run but the first run.
func setChanges(w, nums []uint64, n int) bool {
	at := 0
	for i, v := range nums {
		if v > uint64(n-at) || v == 0 && i > 0 {
			return false
		}
		if at += int(v); at == n {
			return i == len(nums)-1
		}
		w[at>>6] ^= 1 << (at & 63)
	}
	return false
}

// sumChanges turns changes of steps into steps, and with a distance steps into kinds: it adds to each
// element the kind of the one dist before it, modulo 2. dist is 0 or at least 64.
func sumChanges(w []uint64, dist, n int) {
	words, shift := dist>>6, uint(dist&63)
	last, low := uint64(0), uint64(0) // the step before a word in all bits; what a shift moves to it
	for i, x := range w {
		x ^= x << 1
		x ^= x << 2
		x ^= x << 4
		x ^= x << 8
		x ^= x << 16
		x ^= x<<32 ^ last
		last = -(x >> 63)
		if dist > 0 && i >= words {
			before := w[i-words]
			x ^= before<<shift | low
			low = before >> (64 - shift)
		}
		w[i] = x
	}
	w[len(w)-1] &= ^uint64(0) >> (-n & 63)
}

// setSteps sets the bits to the steps of the stored runs.
func (m *Reader) setSteps(nums []uint64, specials, n int) bool {
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
func (m *Reader) setRuns(nums []uint64, specials, dist, n int) bool {
	m.Runs = m.Runs[:0]
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
func (m *Reader) extend(start, end int, kind uint8) {
	if n := len(m.Runs); n > 0 && m.Runs[n-1].kind == kind && int(m.Runs[n-1].End) == start {
		m.Runs[n-1].End = int32(end)
		return
	}
	m.add(start, end, kind)
}

// sumBits is the second part of sumChanges for two specials, modulo 3. dist is at least 64.
func (m *Reader) sumBits(dist, n int) {
	a, b := m.bits[0], m.bits[1]
	words, shift := dist>>6, uint(dist&63)
	last := len(a) - 1
	for i := words; i < len(a); i++ {
		p, q := a[i-words]<<shift, b[i-words]<<shift
		if i > words {
			p |= a[i-words-1] >> (64 - shift)
			q |= b[i-words-1] >> (64 - shift)
		}
		s, t := a[i], b[i]
		a[i] = s&^(p|q) | p&^(s|t) | t&q
		b[i] = t&^(p|q) | q&^(s|t) | s&p
	}
	a[last] &= ^uint64(0) >> (-n & 63)
	b[last] &= ^uint64(0) >> (-n & 63)
}

// FindRuns sets the runs from the bits.
func (m *Reader) FindRuns() { m.findRuns(m.kinds) }

// Rank returns how many elements before e are not masked.
func (m *Reader) Rank(e int) int {
	if !m.Used {
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

// EachUseful visits the elements [at, at+n) in runs, but leaves out longer runs of masked elements.
func (m *Reader) EachUseful(at, n int, visit func(at, n int)) {
	if !m.Used {
		visit(at, n)
		return
	}
	const worth = 2 // words of masked elements to be left out
	end, from := at+n, at
	for i := (at + 63) >> 6; 64*(i+worth) <= end; i++ {
		if m.masked[i] != ^uint64(0) || m.masked[i+1] != ^uint64(0) {
			continue
		}
		if from < 64*i {
			visit(from, 64*i-from)
		}
		for i += worth; 64*(i+1) <= end && m.masked[i] == ^uint64(0); {
			i++
		}
		from = 64 * i
	}
	if from < end {
		visit(from, end-from)
	}
}

// Slack is how many elements after the last one Expand may write.
const Slack = 64 + 8

// Expand writes the residuals of n elements from element at on to y, and 0 for masked ones. It may
// change up to Slack elements after them.
func Expand[T entropy.Lane](m *Reader, y []T, n int, res []T, at int) {
	if !m.Used {
		copy(y[:n], res)
		return
	}
	if narrow, ok := any(y).([]uint32); ok {
		done, used := m.expandFast(narrow, n, any(res).([]uint32), at)
		if done >= n {
			return
		}
		y, n, res, at = y[done:], n-done, res[used:], at+done
	}
	eachWord(m.masked, at, n, func(word uint64, n int) {
		to := y[:n]
		y = y[n:]
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

// expandFast does as many of n elements as the kernel can. It returns how many elements and
// residuals, the former rounded up to whole words.
func (m *Reader) expandFast(y []uint32, n int, res []uint32, at int) (done, used int) {
	if at&63 == 0 {
		d, u := kernels.Expand(y[:n], res, m.masked[at>>6:])
		done, used = 64*d, u
	}
	var words [8]uint64
	for done < n {
		k := 0
		for ; k < len(words) && done+64*k < n && done+64*k+64 <= len(y); k++ {
			words[k] = m.wordAt(at + done + 64*k)
			if rest := n - done - 64*k; rest < 64 {
				words[k] |= ^uint64(0) << rest // no residuals for what follows
			}
		}
		d, u := kernels.Expand(y[done:], res[used:], words[:k])
		done, used = done+64*d, used+u
		if d < len(words) {
			return done, used
		}
	}
	return done, used
}

// wordAt returns the masks of up to 64 elements from one on.
func (m *Reader) wordAt(at int) uint64 {
	i, shift := at>>6, at&63
	word := m.masked[i] >> shift
	if shift > 0 && i+1 < len(m.masked) {
		word |= m.masked[i+1] << (64 - shift)
	}
	return word
}

// Stamp writes the patterns over masked elements. dst starts at element at.
func (m *Reader) Stamp(dst []byte, size, at int) {
	if !m.Used {
		return
	}
	for kind, pattern := range m.Patterns[:m.kinds] {
		rest, at := dst, at
		if size == 4 && at&63 == 0 && len(pattern) == 4 {
			done := kernels.Stamp(rest, m.bits[kind][at>>6:], binary.LittleEndian.Uint32(pattern))
			rest, at = rest[256*done:], at+64*done
		}
		eachWord(m.bits[kind], at, len(rest)/size, func(word uint64, n int) {
			to := rest[:n*size]
			rest = rest[n*size:]
			if word == 0 {
				return
			}
			if n > 64 {
				kernels.Fill(to, pattern)
				return
			}
			for e := 0; word != 0 && e < n; {
				skip := bits.TrailingZeros64(word)
				e, word = e+skip, word>>skip
				k := bits.TrailingZeros64(^word)
				if e < n {
					kernels.Fill(to[e*size:min(e+k, n)*size], pattern)
				}
				e, word = e+k, word>>k
			}
		})
	}
}
