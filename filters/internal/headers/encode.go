package headers

// encode appends the LZMA stream of src.
func (e *encoder) encode(dst, src []byte, m *model, number uint32, effort int) []byte {
	e.begin(src, number)
	e.coder.reset(dst)
	var p position
	for at := e.from; at < len(e.buf); {
		if effort == 0 {
			e.steps = append(e.steps[:0], e.quick(at, &p))
		} else {
			e.parse(m, at, p)
		}
		for _, s := range e.steps {
			e.coder.step(m, e.buf, at, p, s)
			p = p.after(s)
			at += int(s.n)
		}
	}
	for range 5 {
		e.coder.shift()
	}
	out := e.coder.out
	e.coder.out = nil
	return out
}
