package bytecoder

import (
	"github.com/cdfz-format/cdfz/lorenz/internal/arith"
	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
)

// literalTime is about how many nanoseconds a literal takes.
const literalTime = 150

// Decode fills dst. It reports false if src is damaged, and after a stop.
func (m *Model) Decode(dst, src []byte, size, row int, stop *entropy.Stop) bool {
	m.reset(len(dst), size, row)
	c := arith.NewDecoder(src)
	last := m.recents()
	for at := 0; at < len(dst); {
		if c.Exhausted() || stop.After(literalTime) {
			return false
		}
		if m.repeat(&c, at) == 0 {
			m.contexts(dst, at, last[0])
			dst[at] = m.literal(&c, at)
			m.history = 0
			at++
			continue
		}
		n, dist, recent := m.token(&c)
		if recent > 0 {
			dist = last[recent-1]
			last.use(recent-1, dist)
		} else {
			last.use(nRecent-1, dist)
		}
		if dist > at || n > len(dst)-at {
			return false
		}
		for end := at + n; at < end; {
			k := min(end-at, copied)
			for range k {
				dst[at] = dst[at-dist]
				at++
			}
			if stop.After(k) {
				return false
			}
		}
	}
	return c.Ended()
}

// copied is how many bytes are copied between two checks of stop.
const copied = 1 << 20
