package masks

import (
	"encoding/binary"
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// Reader is the mask of a block in the decoder.
type Reader struct {
	Patterns [MaxSpecials][]byte   // big-endian elements
	bits     [MaxSpecials][]uint64 // of each kind, which elements have it
	Used     bool                  // whether any element is masked
	n        int                   // elements of the block
	kinds    int                   // of special values
	masked   []uint64              // one bit each
	either   []uint64              // buffer of masked
	before   []int32               // unmasked elements before each word of masked, and all of them
}

// Reset makes all of n elements unmasked.
func (m *Reader) Reset(n int) { m.Used, m.n = false, n }

// Set builds the mask from the stored numbers. It reports whether they cover exactly
// n elements.
func (m *Reader) Set(nums *entropy.NumberReader, specials, dist, n int) bool {
	clearBits(&m.bits, n, specials)
	if !m.setSteps(nums, specials, n) {
		return false
	}
	if specials == 1 {
		sumChanges(m.bits[0], dist, n)
	} else if dist > 0 {
		m.sumSteps(dist, n)
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

// setSteps sets the bits from the stored numbers: with one special those at which the step changes, the
// first one of each run but the first run, and with two the steps.
func (m *Reader) setSteps(nums *entropy.NumberReader, specials, n int) bool {
	at, step := 0, specials
	for i := range nums.Pieces() {
		piece := nums.Piece(i)
		if piece == nil {
			return false
		}
		if specials == 1 {
			at = setChanges(m.bits[0], piece, at, n)
		} else {
			at, step = m.setKinds(piece, at, step, n)
		}
		if at < 0 {
			return false
		}
	}
	return at == n
}

// setChanges sets the bits at the ends of runs from element at on, except at the end n of the block, and
// returns where they end, or -1 if they cannot be there.
func setChanges(w []uint64, nums []uint32, at, n int) int {
	first := at == 0
	for i, v := range nums {
		if uint64(v) > uint64(n-at) || v == 0 && (i > 0 || !first) {
			return -1
		}
		if at += int(v); at == n {
			if i < len(nums)-1 {
				return -1
			}
			break
		}
		w[at>>6] ^= 1 << (at & 63)
	}
	return at
}

// setKinds sets the bits to the steps of runs from element at on. It returns where they end, or -1 if
// they cannot be there, and the last step.
func (m *Reader) setKinds(nums []uint32, at, step, n int) (end, last int) {
	first := at == 0
	for i, num := range nums {
		step = (step + 1 + int(num&1)) % 3
		v := int(num >> 1)
		if v > n-at || v == 0 && (i > 0 || !first) {
			return -1, step
		}
		if step > 0 && v > 0 {
			setRange(m.bits[step-1], at, at+v)
		}
		at += v
	}
	return at, step
}

// sumChanges turns changes of steps into steps, and with a distance steps into kinds: it adds to each
// element the kind of the one dist before it, modulo 2.
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
		switch {
		case dist == 0:
		case words == 0:
			x ^= low
			for s := shift; s < 64; s *= 2 {
				x ^= x << s
			}
			low = x >> (64 - shift)
		case i >= words:
			before := w[i-words]
			x ^= before<<shift | low
			low = before >> (64 - shift)
		}
		w[i] = x
	}
	w[len(w)-1] &= ^uint64(0) >> (-n & 63)
}

// sumSteps turns the steps of two specials into kinds: it adds to each element the kind of the one dist
// before it, modulo 3.
func (m *Reader) sumSteps(dist, n int) {
	a, b := m.bits[0], m.bits[1]
	words, shift := dist>>6, uint(dist&63)
	last := len(a) - 1
	if words == 0 {
		var p, q uint64 // what a shift moves to a word
		for i := range a {
			s, t := add3(a[i], b[i], p, q)
			for d := shift; d < 64; d *= 2 {
				s, t = add3(s, t, s<<d, t<<d)
			}
			p, q = s>>(64-shift), t>>(64-shift)
			a[i], b[i] = s, t
		}
	}
	for i := words; i < len(a) && words > 0; i++ {
		p, q := a[i-words]<<shift, b[i-words]<<shift
		if i > words {
			p |= a[i-words-1] >> (64 - shift)
			q |= b[i-words-1] >> (64 - shift)
		}
		a[i], b[i] = add3(a[i], b[i], p, q)
	}
	a[last] &= ^uint64(0) >> (-n & 63)
	b[last] &= ^uint64(0) >> (-n & 63)
}

// add3 adds 64 numbers modulo 3. Bits of the first word of a pair stand for 1, of the second for 2.
func add3(s, t, p, q uint64) (a, b uint64) {
	return s&^(p|q) | p&^(s|t) | t&q, t&^(p|q) | q&^(s|t) | s&p
}

// EachUnmasked visits the runs of unmasked elements.
func (m *Reader) EachUnmasked(visit func(start, end int) bool) {
	if !m.Used {
		visit(0, m.n)
		return
	}
	start := 0
	for at := 0; at < m.n; {
		w := m.masked[at>>6] >> (at & 63)
		if w == 0 {
			at = (at>>6 + 1) << 6
			continue
		}
		if at = min(at+bits.TrailingZeros64(w), m.n); at == m.n {
			break
		}
		if start < at && !visit(start, at) {
			return
		}
		// The end of the masked run.
		for at < m.n {
			w := ^m.masked[at>>6] >> (at & 63)
			if w != 0 {
				at += bits.TrailingZeros64(w)
				break
			}
			at = (at>>6 + 1) << 6
		}
		start = at
	}
	if start < m.n {
		visit(start, m.n)
	}
}

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

// Masked returns a bit for each element, set if it is masked, or nil if none is. It must not be changed.
func (m *Reader) Masked() []uint64 {
	if !m.Used {
		return nil
	}
	return m.masked
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
