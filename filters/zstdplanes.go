package filters

import (
	"encoding/binary"
	"math/bits"

	"github.com/klauspost/compress/huff0"
)

// planeWriter compresses byte planes into the blocks of a zstd frame (RFC 8878,
// 3.1.1.2), each plane on its own: planes differ so much in their statistics
// that tables shared by two of them suit neither, and a match from one into
// another is chance.
type planeWriter struct {
	find  planeFinder
	huff  huff0.Scratch
	ll    fseTable
	of    fseTable
	ml    fseTable
	codes []zcodes
}

type zcodes struct{ ll, of, ml uint8 }

// effort is what levels differ in: how many candidates are tried at a position, how
// many later starts, and how slowly a search without success is given up.
type effort struct{ depth, lazy, patience int }

// frame appends the frame of src. Where partLen > 0, planes are cut into parts of
// that many bytes, at most [zstdMaxBlock], each a block that needs no other.
func (p *planeWriter) frame(dst, src []byte, planeLen, partLen int, e effort) []byte {
	dst = zstdHeader(dst, len(src))
	for len(src) > 0 {
		n := min(planeLen, len(src))
		if len(src)-n < zstdMinPlane {
			n = len(src) // with the incomplete element at the end
		}
		plane := src[:n]
		src = src[n:]
		for len(plane) > 0 {
			part := plane
			if partLen > 0 {
				part = plane[:min(partLen, len(plane))]
			}
			plane = plane[len(part):]
			p.find.start(len(part))
			for from := 0; from < len(part); from += zstdMaxBlock {
				to := min(from+zstdMaxBlock, len(part))
				last := len(src) == 0 && len(plane) == 0 && to == len(part)
				dst = p.block(dst, part, from, to, last, e)
			}
		}
	}
	return dst
}

// zstdHeader appends the header of a frame of one segment and n bytes.
func zstdHeader(dst []byte, n int) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, zstdMagic)
	const single = 1 << 5
	switch {
	case n < 256:
		return append(dst, single, byte(n))
	case n < 1<<16+256:
		return binary.LittleEndian.AppendUint16(append(dst, 1<<6|single), uint16(n-256))
	}
	if uint64(n) < 1<<32 {
		return binary.LittleEndian.AppendUint32(append(dst, 2<<6|single), uint32(n))
	}
	return binary.LittleEndian.AppendUint64(append(dst, 3<<6|single), uint64(n))
}

const (
	zRaw = iota
	zRLE
	zCompressed
)

// blockHeader writes the three bytes in front of a block.
func blockHeader(b []byte, last bool, typ, size int) {
	v := typ<<1 | size<<3
	if last {
		v |= 1
	}
	b[0], b[1], b[2] = byte(v), byte(v>>8), byte(v>>16)
}

// block appends the block of plane[from:to].
func (p *planeWriter) block(dst, plane []byte, from, to int, last bool, e effort) []byte {
	src := plane[from:to]
	at := len(dst)
	dst = append(dst, 0, 0, 0)
	if allSame(src) {
		blockHeader(dst[at:], last, zRLE, len(src))
		return append(dst, src[0])
	}
	rep := p.find.rep
	p.find.find(plane, from, to, e)
	dst = p.literals(dst)
	dst = p.sequences(dst)
	size := len(dst) - at - 3
	if size >= len(src) {
		p.find.rep = rep // as the decoder has them
		blockHeader(dst[at:], last, zRaw, len(src))
		return append(dst[:at+3], src...)
	}
	blockHeader(dst[at:], last, zCompressed, size)
	return dst
}

func allSame(p []byte) bool {
	return lz4Count(p, 1, 0, len(p)) == len(p)-1
}

// literals appends the literals section (RFC 8878, 3.1.1.3.1).
func (p *planeWriter) literals(dst []byte) []byte {
	lits := p.find.lits
	n := len(lits)
	raw := func(typ int) []byte {
		switch {
		case n < 1<<5:
			return append(dst, byte(typ|n<<3))
		case n < 1<<12:
			return append(dst, byte(typ|1<<2|n<<4), byte(n>>4))
		}
		return append(dst, byte(typ|3<<2|n<<4), byte(n>>4), byte(n>>12))
	}
	if n < 32 {
		return append(raw(zRaw), lits...)
	}
	p.huff.Reuse = huff0.ReusePolicyNone
	var out []byte
	var err error
	if n < 256 {
		out, _, err = huff0.Compress1X(lits, &p.huff)
	} else {
		out, _, err = huff0.Compress4X(lits, &p.huff)
	}
	switch {
	case err == huff0.ErrUseRLE:
		return append(raw(zRLE), lits[0])
	case err != nil || len(out)+5 >= n:
		return append(raw(zRaw), lits...)
	}
	c := uint64(len(out))
	v := uint64(n)
	switch {
	case n < 256:
		v = 2 | v<<4 | c<<14
		dst = append(dst, byte(v), byte(v>>8), byte(v>>16))
	case n < 1<<10:
		v = 2 | 1<<2 | v<<4 | c<<14
		dst = append(dst, byte(v), byte(v>>8), byte(v>>16))
	case n < 1<<14:
		v = 2 | 2<<2 | v<<4 | c<<18
		dst = append(dst, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	default:
		v = 2 | 3<<2 | v<<4 | c<<22
		dst = append(dst, byte(v), byte(v>>8), byte(v>>16), byte(v>>24), byte(v>>32))
	}
	return append(dst, out...)
}

// sequences appends the sequences section (RFC 8878, 3.1.1.3.2).
func (p *planeWriter) sequences(dst []byte) []byte {
	seqs := p.find.seqs
	n := len(seqs)
	switch {
	case n < 128:
		dst = append(dst, byte(n))
	case n < 0x7f00:
		dst = append(dst, byte(128+n>>8), byte(n))
	default:
		dst = append(dst, 255, byte(n-0x7f00), byte((n-0x7f00)>>8))
	}
	if n == 0 {
		return dst
	}
	var llCount [36]uint32
	var ofCount [32]uint32
	var mlCount [53]uint32
	p.codes = p.codes[:0]
	for _, s := range seqs {
		c := zcodes{llCode(s.lits), uint8(bits.Len32(s.off) - 1), mlCode(s.match)}
		llCount[c.ll]++
		ofCount[c.of]++
		mlCount[c.ml]++
		p.codes = append(p.codes, c)
	}
	modes := len(dst)
	dst = append(dst, 0)
	var llMode, ofMode, mlMode byte
	dst, llMode = p.ll.choose(dst, llCount[:], n, llNorm[:], 6, 9)
	dst, ofMode = p.of.choose(dst, ofCount[:], n, ofNorm[:], 5, 8)
	dst, mlMode = p.ml.choose(dst, mlCount[:], n, mlNorm[:], 6, 9)
	dst[modes] = llMode<<6 | ofMode<<4 | mlMode<<2

	// Sequences are written last to first, because decoders read bits backwards.
	w := bitWriter{out: dst}
	extra := func(i int) {
		s, c := seqs[i], p.codes[i]
		w.add(uint64(s.lits-llBase[c.ll]), uint(llBits[c.ll]))
		w.add(uint64(s.match-mlBase[c.ml]), uint(mlBits[c.ml]))
		w.add(uint64(s.off), uint(c.of))
	}
	c := p.codes[n-1]
	ll, of, ml := p.ll.first(c.ll), p.of.first(c.of), p.ml.first(c.ml)
	extra(n - 1)
	for i := n - 2; i >= 0; i-- {
		c := p.codes[i]
		of = p.of.step(&w, of, c.of)
		ml = p.ml.step(&w, ml, c.ml)
		ll = p.ll.step(&w, ll, c.ll)
		extra(i)
	}
	w.add(uint64(ml), p.ml.log)
	w.add(uint64(of), p.of.log)
	w.add(uint64(ll), p.ll.log)
	w.add(1, 1)
	return w.flush()
}

// The predefined distributions (RFC 8878, 3.1.1.3.2.2).
var (
	llNorm = [...]int16{4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1}
	ofNorm = [...]int16{1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1}
	mlNorm = [...]int16{1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1}
)

// choose sets t for the counted symbols, appends its description and returns
// its mode (RFC 8878, 3.1.1.3.2.1).
func (t *fseTable) choose(dst []byte, count []uint32, n int, norm []int16, log, maxLog uint) ([]byte, byte) {
	const predefined, rle, described = 0, 1, 2
	for s, c := range count {
		if int(c) == n {
			t.constant()
			return append(dst, byte(s)), rle
		}
	}
	t.set(norm, log)
	fixed := t.cost(count)
	t.normalize(count, n, maxLog)
	at := len(dst)
	dst = t.writeNorm(dst)
	if t.cost(count)+(len(dst)-at)<<11 < fixed {
		return dst, described
	}
	t.set(norm, log)
	return dst[:at], predefined
}

// constant makes every symbol take no bits.
func (t *fseTable) constant() {
	t.log = 0
	clear(t.delta[:])
	t.next[0] = 0
}
