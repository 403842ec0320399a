package lorenz

import (
	"maps"
	"slices"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/matches"
	"github.com/cdfz-format/cdfz/lorenz/internal/text"
)

// asText replaces the block after start by one in modeText if that is shorter.
func (e *Encoder) asText(dst, src []byte, start int) []byte {
	if e.p.Type != Char && (e.size > 1 || !e.choices.text.bytes || !text.Promising(src)) {
		return dst
	}
	if !e.choices.price.pays(formText, e.n, e.best) {
		return dst
	}
	end := len(dst)
	encode := func(quick bool) []byte {
		return e.text.Encode(append(dst[:end], modeText), src, rowBytes(e.p.Dims, 1), quick)
	}
	if e.p.Type != Char && !e.choices.all { // few of these blocks are shorter, and careful trials take long
		if dst = encode(true); textFirst*(len(dst)-end) > (textFirst+1)*e.limit(formText) {
			return dst[:end]
		}
	}
	dst = encode(len(src) > e.choices.text.careful)
	return e.cheaper(dst, start, end, as(formText, e.n, len(dst)-end))
}

// isHeader reports whether a block begins like a classic netCDF file.
func (e *Encoder) isHeader(src []byte) bool {
	return e.p.Type == Char && len(src) > 4 && len(src) <= matches.MaxLen && string(src[:3]) == "CDF" && (src[3] == 1 || src[3] == 2 || src[3] == 5)
}

// asHeader appends a block with a netCDF header in modeMatches.
func (e *Encoder) asHeader(dst, src []byte) []byte {
	dst, _ = e.withMatches(dst, src, matches.Form{Header: true, Unit: 1, Size: 1}, 0)
	e.best = made{form: formMatches, len: 1} // whatever it takes: it is decoded when an archive is opened, with or without a mode
	return dst
}

// asMatches replaces the block after start by one in modeMatches if that is shorter.
func (e *Encoder) asMatches(dst, src []byte, start int) []byte {
	c := &e.choices
	if c.matches.longest == 0 || !c.price.pays(formMatches, e.n, e.best) {
		return dst
	}
	f := matches.Form{Unit: e.size, Size: e.size}
	if table, indices := e.valueTable(src); len(table) > 0 {
		src, f.Table, f.Unit = indices, table, 1
	} else if e.p.Type != Char && !text.Promising(src) {
		return dst
	}
	if len(src) > c.matches.longest {
		return dst
	}
	end, most := len(dst), 0
	if end > start {
		most = e.limit(formMatches)
	}
	dst, ok := e.withMatches(dst, src, f, most)
	if !ok {
		return dst[:end]
	}
	return e.cheaper(dst, start, end, as(formMatches, e.n, len(dst)-end))
}

// withMatches appends a block in modeMatches, or returns false if it gets as long as most, 0 for any length.
func (e *Encoder) withMatches(dst, src []byte, f matches.Form, most int) ([]byte, bool) {
	if e.matches == nil {
		e.matches = new(matches.Encoder)
	}
	c := &e.choices
	effort := matches.Effort{Tries: c.matches.tries, Quick: c.matches.quick, Most: max(most-1, 0)} // less the mode
	return e.matches.Encode(append(dst, modeMatches), src, f, effort)
}

// valueTable returns the values of a block in ascending order of their bytes, and the index of each element, or nothing if
// elements have one byte or there are too many values.
func (e *Encoder) valueTable(src []byte) (table, indices []byte) {
	if e.size == 1 {
		return nil, nil
	}
	known := map[uint64]byte{}
	value := func(at int) (v uint64) {
		for _, b := range src[at : at+e.size] {
			v = v<<8 | uint64(b)
		}
		return v
	}
	last := value(0) + 1
	for at := 0; at < len(src); at += e.size {
		v := value(at)
		if v == last {
			continue
		}
		last = v
		known[v] = 0
		if len(known) > e.choices.matches.table {
			return nil, nil
		}
	}
	for i, v := range slices.Sorted(maps.Keys(known)) {
		known[v] = byte(i)
		for k := e.size - 1; k >= 0; k-- {
			table = append(table, byte(v>>(8*k)))
		}
	}
	indices = make([]byte, e.n)
	for i := range indices {
		indices[i] = known[value(i*e.size)]
	}
	return table, indices
}

// bytes decodes elements of a block in modeMatches or modeText, of which src are the bytes after the mode.
func (d *Decoder) bytes(mode byte, dst, src []byte, i, j int) bool {
	out := dst
	if len(dst) < d.n*d.size {
		d.whole = entropy.Grow(d.whole, d.n*d.size)
		out = d.whole
	}
	ok := false
	if mode == modeMatches {
		if d.matches == nil {
			d.matches = new(matches.Decoder)
		}
		ok = d.matches.Decode(out, src, d.size, &d.stop)
	} else {
		if d.text == nil {
			d.text = new(text.Decoder)
		}
		ok = d.text.Decode(out, src, &d.stop)
	}
	if ok && len(dst) < len(out) {
		copy(dst, out[i*d.size:j*d.size])
	}
	return ok
}
