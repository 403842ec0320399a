package entropy

import (
	"encoding/binary"
	"math/bits"

	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// GroupWriter encodes residuals.
type GroupWriter[T Lane] struct {
	StreamWriter
	Quick        bool // classes follow from magnitudes alone
	class, zeros []byte
	coarse       []byte // classes that follow from magnitudes
	cost         classCosts
	u            []T
	vals         [nStreams][]byte  // the symbols of the streams, not packed
	large        [nStreams][]extra // their extra bits
	low          []byte
	head         []byte
	other        code          // of a packing that is tried
	packs        [pack4][]byte // packed symbols
}

// Write appends the residuals to w.Dst.
func (w *GroupWriter[T]) Write(r []T, unsigned bool) {
	if len(r) == 0 {
		return
	}
	flags := byte(0)
	if unsigned {
		flags |= groupsUnsigned
	}
	if w.trailing(r) {
		flags |= groupsTZ
	}
	w.classify(r, flags)
	if !w.Quick {
		w.refine()
	}
	flags |= w.merges() << groupsMerge
	streams := streamOf(flags)
	w.collect(&streams)

	w.Dst = append(w.Dst, flags)
	at := len(w.Dst)
	w.Dst = append(w.Dst, 0, 0)
	w.head = Grow(w.head, len(w.class))
	prev := byte(0)
	for i, c := range w.class {
		w.head[i] = c - prev
		prev = c
	}
	w.stream(w.head, nil)
	if flags&groupsTZ != 0 {
		w.stream(w.zeros, nil)
	}
	var packs uint16
	for s := range w.vals {
		if len(w.vals[s]) > 0 {
			packs |= uint16(w.packed(s)) << (2 * s)
		}
	}
	binary.LittleEndian.PutUint16(w.Dst[at:], packs)
	w.Dst = append(w.Dst, w.low...)
}

// trailing finds the trailing zeros of each group and reports whether cutting them off
// pays off.
func (w *GroupWriter[T]) trailing(r []T) bool {
	w.zeros = Grow(w.zeros, (len(r)+GroupLen-1)/GroupLen)
	done := 0
	if narrow, ok := any(r).([]uint32); ok {
		done = len(r) / GroupLen
		kernels.Zeros(w.zeros[:done], narrow)
	}
	for i := range w.zeros[done:] {
		var or T
		for _, v := range r[(done+i)*GroupLen : min((done+i+1)*GroupLen, len(r))] {
			or |= v
		}
		t := 0
		if or != 0 {
			t = bits.TrailingZeros64(uint64(or))
		}
		w.zeros[done+i] = byte(t)
	}
	sum := 0
	for _, t := range w.zeros {
		sum += int(t)
	}
	return 4*sum > len(w.zeros)
}

// classify sets w.u to the values to code, padded to whole groups, and w.class
// to the classes of the groups.
func (w *GroupWriter[T]) classify(r []T, flags byte) {
	n := (len(r) + GroupLen - 1) / GroupLen
	w.u = Grow(w.u, n*GroupLen)
	clear(w.u[len(r):])
	w.class = Grow(w.class, n)
	sign := LaneBits[T]() - 1
	narrow, _ := any(w.u).([]uint32)
	from, _ := any(r).([]uint32)
	for g := range n {
		lo, hi := g*GroupLen, min((g+1)*GroupLen, len(r))
		t := uint(0)
		if flags&groupsTZ != 0 {
			t = uint(w.zeros[g])
		}
		u := w.u[lo : lo+GroupLen]
		sum, or := uint64(0), T(0)
		if narrow != nil && hi-lo == GroupLen && flags&groupsUnsigned == 0 {
			x, y := kernels.Classify((*[GroupLen]uint32)(narrow[lo:]), (*[GroupLen]uint32)(from[lo:]), t)
			or, sum = T(x), uint64(y)-GroupLen*126<<LogFrac
		} else {
			for i, v := range r[lo:hi] {
				if flags&groupsUnsigned != 0 {
					v >>= t
				} else {
					// A shift that keeps the sign, and zigzag.
					neg := -(v >> sign)
					v = (v^neg)>>t<<1 | neg&1
				}
				u[i] = v
				or |= v
				sum += Log2(v)
			}
		}
		sum += uint64(lo+GroupLen-hi) << LogFrac
		switch {
		case or == 0:
			w.class[g] = 0
		default:
			// Log2 is 1 too large, which is the 1 of c = 1 + mean.
			w.class[g] = byte((sum/GroupLen + 1<<(LogFrac-1)) >> LogFrac)
		}
	}
}

// merges decides which streams are too short for a separate code.
func (w *GroupWriter[T]) merges() byte {
	var count [nStreams]int
	for _, c := range w.class {
		if c > 0 {
			count[min(int(c)-1, nStreams-1)]++
		}
	}
	var m byte
	cur := count[0]
	for i := 1; i < nStreams; i++ {
		if min(cur, count[i]) < 12 {
			m |= 1 << (i - 1)
			cur += count[i]
		} else {
			cur = count[i]
		}
	}
	return m
}

// collect distributes the values to the streams.
func (w *GroupWriter[T]) collect(streams *[nStreams + 1]uint8) {
	var count, at [nStreams]int // values of each stream
	low := 0
	for _, c := range w.class {
		if c > 0 {
			count[streams[min(c, nStreams)]] += GroupLen
			low += GroupLen / 8 * int(lowBits(c))
		}
	}
	for i, n := range count {
		w.vals[i], w.large[i] = Grow(w.vals[i], n), w.large[i][:0]
	}
	w.low = Grow(w.low, low+8)[:0] // kernels.Split writes up to 8 bytes more
	narrow, _ := any(w.u).([]uint32)
	for g, c := range w.class {
		if c == 0 {
			continue
		}
		s := streams[min(c, nStreams)]
		k := lowBits(c)
		u := (*[GroupLen]T)(w.u[g*GroupLen:])
		start := at[s]
		at[s] += GroupLen
		sym := (*[GroupLen]byte)(w.vals[s][start:])
		var or T
		if narrow != nil && k <= kernels.MaxSplit {
			var all uint32
			w.low, all = kernels.Split(sym, w.low, (*[GroupLen]uint32)(narrow[g*GroupLen:]), k)
			or = T(all)
		} else {
			for i, v := range u {
				y := v >> k
				or |= y
				sym[i] = byte(y)
			}
			w.low = appendLow(w.low, u, k)
		}
		if or < maxSym {
			continue
		}
		for i, v := range u {
			if v >>= k; v >= maxSym {
				y, n := symbolOf(uint64(v))
				sym[i] = y
				w.large[s] = append(w.large[s], extra{uint64(v) &^ (1 << n), int32(start + i), n})
			}
		}
	}
}

// appendLow appends the k low bits of each value.
func appendLow[T Lane](dst []byte, u *[GroupLen]T, k uint) []byte {
	if k > 32 {
		w := bitWriter{buf: dst}
		for _, v := range u {
			w.put64(uint64(v)&(1<<k-1), k)
		}
		return w.buf
	}
	mask := uint64(1)<<k - 1
	var acc uint64
	n := uint(0)
	for _, v := range u {
		acc |= uint64(v) & mask << (n & 63)
		n += k
		if n >= 32 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(acc))
			acc >>= 32
			n -= 32
		}
	}
	return dst
}

// packed appends a stream with the shortest packing, and returns the packing.
func (w *GroupWriter[T]) packed(s int) byte {
	v, large := w.vals[s], w.large[s]
	best, syms := byte(pack1), v
	w.code.set(v)
	var above [pack4 + 1]int // values that need extra bits
	for x, f := range w.code.freq {
		if x >= 15 {
			above[pack2] += int(f)
		}
		if x >= 3 {
			above[pack4] += int(f)
		}
	}
	if 2*above[pack4] < len(v) {
		least := w.code.cost()
		for _, e := range large {
			least += int(e.n)
		}
		for p := byte(pack2); p <= pack4; p++ {
			if len(v)>>p+4*above[p] >= least { // at least a bit for each symbol, four more for each large value
				continue
			}
			to := &w.packs[p-pack2]
			*to = pack(*to, v, p)
			w.other.set(*to)
			if c := w.other.cost() + 4*above[p]; c < least {
				best, least, syms = p, c, *to
				w.code, w.other = w.other, w.code
			}
		}
	}
	if best != pack1 {
		large = w.excess(v, large, best)
	}
	w.coded(syms, large, &w.code)
	return best
}

// pack sets dst to symbols of 2 or 4 values each.
func pack(dst, v []byte, p byte) []byte {
	dst = Grow(dst, len(v)>>p)
	if p == pack4 {
		kernels.Pack4(dst, v)
	} else {
		kernels.Pack2(dst, v)
	}
	return dst
}

// excess returns the extra bits of packed values. large are those of the values alone.
func (w *GroupWriter[T]) excess(v []byte, large []extra, p byte) []extra {
	least := byte(15)
	if p == pack4 {
		least = 3
	}
	w.extra = w.extra[:0]
	for i, y := range v {
		if y < least {
			continue
		}
		x := uint64(y)
		if len(large) > 0 && int(large[0].at) == i {
			x = 1<<large[0].n | large[0].v
			large = large[1:]
		}
		w.extra = append(w.extra, extra{x - uint64(least), int32(i >> p), 0})
	}
	return w.extra
}
