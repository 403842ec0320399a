package blosc

import (
	"encoding/binary"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// BloscLZ (blosclz.c of c-blosc): a byte below 32 starts a run of that many literals plus
// one. Other bytes start a match. The upper three bits are its length less 2. 7 means that
// bytes follow which add to it, up to the first that is not 255. The lower five bits and
// the next byte are its distance less 1. If all of these are set, two more bytes add to
// the distance. The first byte always starts literals, whatever its upper bits are.

const (
	lzLiterals  = 32
	lzNear      = 1<<13 - 1 // the farthest distance without two more bytes
	lzFar       = 1<<16 + lzNear - 1
	lzMinMatch  = 4 // of this encoder, 3 in the format
	lzMinFar    = 7 // far matches take two more bytes
	lzHashBits  = 14
	lzLastBytes = 12 // literals at the end of every stream
)

type lzTable [1 << lzHashBits]uint32 // the position after that of the last four bytes with a hash

// encodeLZ appends the BloscLZ stream of src to dst, with literals at the end as decoders
// demand.
func encodeLZ(dst, src []byte, t *lzTable) []byte {
	clear(t[:])
	hash := func(i int) uint32 { return binary.LittleEndian.Uint32(src[i:]) * 2654435761 >> (32 - lzHashBits) }
	at, literals := 1, 0
	for end := len(src) - lzLastBytes; at < end; {
		h := hash(at)
		ref := int(t[h]) - 1
		t[h] = uint32(at + 1)
		n, dist := 0, at-ref
		if ref >= 0 && dist < lzFar {
			n = lzMatchLen(src[ref:], src[at:end])
		}
		if n < lzMinMatch || dist > lzNear && n < lzMinFar {
			at += 1 + (at-literals)>>6
			continue
		}
		dst = lzAppendLiterals(dst, src[literals:at])
		dst = lzAppendMatch(dst, n, dist)
		at += n
		literals = at
		t[hash(at-2)] = uint32(at - 1)
	}
	return lzAppendLiterals(dst, src[literals:])
}

func lzMatchLen(a, b []byte) int {
	n := 0
	for n+8 <= len(b) && binary.LittleEndian.Uint64(a[n:]) == binary.LittleEndian.Uint64(b[n:]) {
		n += 8
	}
	for n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func lzAppendLiterals(dst, p []byte) []byte {
	for len(p) > 0 {
		run := p[:min(len(p), lzLiterals)]
		p = p[len(run):]
		dst = append(append(dst, byte(len(run)-1)), run...)
	}
	return dst
}

func lzAppendMatch(dst []byte, n, dist int) []byte {
	n -= 2
	dist--
	far := dist >= lzNear
	low := min(dist, lzNear)
	if n < 7 {
		dst = append(dst, byte(n<<5|low>>8))
	} else {
		dst = append(dst, byte(7<<5|low>>8))
		for n -= 7; n >= 255; n -= 255 {
			dst = append(dst, 255)
		}
		dst = append(dst, byte(n))
	}
	dst = append(dst, byte(low))
	if far {
		dst = binary.BigEndian.AppendUint16(dst, uint16(dist-lzNear))
	}
	return dst
}

// decodeLZ fills dst with the decoded src.
func decodeLZ(dst, src []byte) error {
	out := dst[:0]
	for first := true; len(src) > 0; first = false {
		c := int(src[0])
		src = src[1:]
		if first {
			c &= lzLiterals - 1
		}
		if c < lzLiterals {
			n := c + 1
			if n > len(src) || n > len(dst)-len(out) {
				return wire.Damaged("blosclz: expected %d literals, found %d bytes and room for %d", n, len(src), len(dst)-len(out))
			}
			out = append(out, src[:n]...)
			src = src[n:]
			continue
		}
		n, dist, rest, ok := lzMatch(c, src)
		if !ok {
			return wire.Damaged("blosclz: expected a match, found %d bytes", len(src))
		}
		src = rest
		if dist > len(out) || n > len(dst)-len(out) {
			return wire.Damaged("blosclz: expected a match within %d bytes and room for %d, found distance %d, length %d", len(out), len(dst)-len(out), dist, n)
		}
		for n > 0 { // the match may overlap its copy
			from := out[len(out)-dist:]
			m := min(n, len(from))
			out = append(out, from[:m]...)
			n -= m
		}
	}
	if len(out) != len(dst) {
		return wire.Damaged("blosclz: expected %d bytes, found %d", len(dst), len(out))
	}
	return nil
}

// lzMatch parses the match that byte c starts.
func lzMatch(c int, src []byte) (n, dist int, rest []byte, ok bool) {
	n = c>>5 + 2
	for more := c>>5 == 7; more; src = src[1:] {
		if len(src) == 0 || n > 1<<30 {
			return 0, 0, nil, false
		}
		n += int(src[0])
		more = src[0] == 255
	}
	if len(src) == 0 {
		return 0, 0, nil, false
	}
	low := c&31<<8 | int(src[0])
	src = src[1:]
	if low == lzNear {
		if len(src) < 2 {
			return 0, 0, nil, false
		}
		low += int(binary.BigEndian.Uint16(src))
		src = src[2:]
	}
	return n, low + 1, src, true
}
