// Package lzf codes blocks in the format of liblzf, which has no header: a byte below 32
// starts a run of that many literals plus one. Other bytes start a match. Their upper three
// bits are its length less 2, or 7 if the next byte adds to it. The lower five bits and
// another byte are its distance less 1.
package lzf

import (
	"encoding/binary"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

const (
	maxLiterals = 1 << 5
	maxDist     = 1 << 13
	minMatch    = 3
	maxMatch    = 1<<8 + 1<<3
	hashBits    = 14
)

// State encodes blocks, for one goroutine at a time. The zero value is ready.
type State struct {
	last [1 << hashBits]uint32 // the position after that of the last three bytes with a hash
}

// MaxLen bounds the length of n encoded bytes.
func MaxLen(n int) int { return wire.ClampLen(int64(n) + int64(n)/maxLiterals + 1) }

// Encode appends the encoded src to dst.
func (s *State) Encode(dst, src []byte) []byte {
	clear(s.last[:])
	at, literals := 0, 0 // src[literals:at] is not yet encoded
	for at+minMatch < len(src) {
		h := hash(src, at)
		ref := int(s.last[h]) - 1
		s.last[h] = uint32(at + 1)
		// Like liblzf, never refer to the first byte and end two bytes early.
		n := 0
		if ref > 0 && at-ref <= maxDist {
			n = matchLen(src[ref:], src[at:], min(len(src)-at-2, maxMatch))
		}
		if n < minMatch {
			at++
			continue
		}
		dst = appendLiterals(dst, src[literals:at])
		dst = appendMatch(dst, n, at-ref)
		end := at + n
		for at++; at < end && at+minMatch <= len(src); at++ {
			s.last[hash(src, at)] = uint32(at + 1)
		}
		at, literals = end, end
	}
	return appendLiterals(dst, src[literals:])
}

// hash returns a hash of three bytes.
func hash(src []byte, at int) uint32 {
	v := uint32(src[at])<<16 | uint32(src[at+1])<<8 | uint32(src[at+2])
	return v * 2654435761 >> (32 - hashBits)
}

func matchLen(a, b []byte, most int) int {
	n := 0
	for n+8 <= most && binary.LittleEndian.Uint64(a[n:]) == binary.LittleEndian.Uint64(b[n:]) {
		n += 8
	}
	for n < most && a[n] == b[n] {
		n++
	}
	return n
}

func appendLiterals(dst, p []byte) []byte {
	for len(p) > 0 {
		run := p[:min(len(p), maxLiterals)]
		p = p[len(run):]
		dst = append(append(dst, byte(len(run)-1)), run...)
	}
	return dst
}

func appendMatch(dst []byte, n, dist int) []byte {
	n -= 2
	dist--
	if n < 7 {
		return append(dst, byte(n<<5|dist>>8), byte(dist))
	}
	return append(dst, byte(7<<5|dist>>8), byte(n-7), byte(dist))
}

// Decode appends the decoded src to dst, at most max bytes.
func Decode(dst, src []byte, max int) ([]byte, error) {
	start := len(dst)
	// A match of three bytes expands to at most maxMatch.
	dst = wire.Grow(dst, min(max, len(src)*(maxMatch/minMatch)))
	for len(src) > 0 {
		c := int(src[0])
		if c < maxLiterals {
			n := c + 1
			if len(src) < 1+n {
				return nil, wire.Damaged("lzf: expected %d literals, found %d bytes", n, len(src)-1)
			}
			if len(dst)-start+n > max {
				return nil, wire.TooLong("lzf", max, len(dst)-start+n)
			}
			dst = append(dst, src[1:1+n]...)
			src = src[1+n:]
			continue
		}
		n, head := c>>5+2, 2
		if c>>5 == 7 {
			head = 3
		}
		if len(src) < head {
			return nil, wire.Damaged("lzf: expected a match of %d bytes, found %d", head, len(src))
		}
		if head == 3 {
			n += int(src[1])
		}
		dist := c&31<<8 + int(src[head-1]) + 1
		src = src[head:]
		if dist > len(dst)-start {
			return nil, wire.Damaged("lzf: expected a distance of at most %d, found %d", len(dst)-start, dist)
		}
		if len(dst)-start+n > max {
			return nil, wire.TooLong("lzf", max, len(dst)-start+n)
		}
		for n > 0 { // the match may overlap its copy
			from := dst[len(dst)-dist:]
			m := min(n, len(from))
			dst = append(dst, from[:m]...)
			n -= m
		}
	}
	return dst, nil
}
