package filters

// session makes a [Session] of two functions. The packages of the wire formats know
// neither chains nor registries, so every filter is registered through it or through a
// type like it.
type session struct {
	encode func(dst, src []byte, params []uint32) ([]byte, error)
	decode func(dst, src []byte, params []uint32, max int) ([]byte, error)
}

func (s session) Encode(dst, src []byte, params []uint32, _ Block) ([]byte, error) {
	return s.encode(dst, src, params)
}

func (s session) Decode(dst, src []byte, params []uint32, max int) ([]byte, error) {
	return s.decode(dst, src, params, max)
}

// stateless returns the New of a filter whose sessions keep nothing between blocks.
func stateless(s Session) func() Session {
	return func() Session { return s }
}

// levelOr returns the level of a filter whose only parameter it is.
func levelOr(params []uint32, missing int) int {
	if len(params) == 0 {
		return missing
	}
	return int(int32(params[0]))
}
