package all

import (
	"github.com/cdfz-format/cdfz/filters"
)

// session makes a [filters.Session] of two functions. The packages under internal know
// neither chains nor registries.
type session struct {
	encode func(dst, src []byte, params []uint32) ([]byte, error)
	decode func(dst, src []byte, params []uint32, max int) ([]byte, error)
}

func (s session) Encode(dst, src []byte, params []uint32, _ filters.Block) ([]byte, error) {
	return s.encode(dst, src, params)
}

func (s session) Decode(dst, src []byte, params []uint32, max int) ([]byte, error) {
	return s.decode(dst, src, params, max)
}

// stateless returns the New of a filter whose sessions keep nothing between blocks.
func stateless(s filters.Session) func() filters.Session {
	return func() filters.Session { return s }
}
