package lorenz

import "github.com/cdfz-format/cdfz/lorenz/internal/parts"

const (
	mostJoined = 4  // rows that the encoder puts into one part
	worthJoin  = 16 // bytes of a part from which on it may be joined with another
	partLeast  = 32 // bytes of a row from which on each row is tried as a part
	partHead   = 2  // least bytes of the head of a part
)

// stack returns the number of rows along the first dimension longer than 1, and the
// dimensions of a row.
func (p Params) stack() (rows int, inner []int) {
	for i, d := range p.Dims {
		if d != 1 {
			return d, p.Dims[i+1:]
		}
	}
	return 1, nil
}

// rows returns the parameters of a part.
func (p Params) rows(n int, inner []int) Params {
	return Params{Type: p.Type, Order: p.Order, Dims: append([]int{n}, inner...)}
}

// parts replaces the block after start by one in modeParts if its price is lower. Rows are
// blocks of their own, joined with those before if that is cheaper, or copies.
func (e *Encoder) parts(dst, src []byte, start int) []byte {
	rows, inner := e.p.stack()
	size, whole := len(src)/rows, len(dst)-start
	price := &e.choices.price
	if !e.p.Stack || !e.choices.parts || rows < 2 || size < partLeast || whole <= rows*partHead || !price.pays(formParts, e.n, e.best) {
		return dst
	}
	encoded := func(from, to int) ([]byte, made) {
		b, time := e.part(e.p.rows(to-from, inner), src[from*size:to*size])
		return b, made{formParts, len(b) + partHead, time}
	}
	var list []parts.Part
	seen := map[string]int{} // row numbers by the bytes of the row
	all := made{form: formParts}
	last := made{} // the part before
	for r := range rows {
		row := src[r*size : (r+1)*size]
		if from, ok := seen[string(row)]; ok {
			list = append(list, parts.Part{Row: r, End: r + 1, Source: from})
			all.time += formRaw.time(size, 0)
			continue
		}
		seen[string(row)] = r
		block, m := encoded(r, r+1)
		if len(list) > 0 {
			before := &list[len(list)-1]
			if min(len(before.Block), len(block)) >= worthJoin && r-before.Row < mostJoined && parts.Resembles(row, src[(r-1)*size:r*size], e.size) {
				separate := made{formParts, last.len + m.len, last.time + m.time}
				if joined, both := encoded(before.Row, r+1); price.of(both) < price.of(separate) {
					all.len += both.len - last.len
					all.time += both.time - last.time
					last, before.Block, before.End = both, joined, r+1
					continue
				}
			}
		}
		all.len += m.len
		all.time += m.time
		last = m
		if price.of(all) >= price.of(e.best) || len(list) == parts.Most ||
			!e.choices.all && e.hopeless(price.of(all), r, rows) {
			return dst
		}
		list = append(list, parts.Part{Row: r, End: r + 1, Block: block})
	}
	if len(list) == 1 {
		return dst
	}
	end := len(dst)
	dst = parts.Append(append(dst, modeParts), list)
	return e.cheaper(dst, start, end, all)
}

// hopeless reports whether parts up to a row take so much more than their share of the best other form that the rest
// will hardly make up for it.
func (e *Encoder) hopeless(price int64, row, rows int) bool {
	share := int64(partsBetter)
	if 2*row >= rows {
		share = partsNearly
	} else if 4*row < rows {
		return false
	}
	return share*price/int64(row+1) > (share+1)*e.choices.price.of(e.best)/int64(rows)
}

// parts decodes the elements [i, j) of a block in modeParts. decode decodes those of a block
// with other parameters.
func (d *Decoder) parts(dst, body []byte, i, j int, decode func(p Params, dst, src []byte, i, j int) bool) bool {
	rows, inner := d.p.stack()
	if rows < 2 || d.n == 0 {
		return false
	}
	list, ok := parts.Read(d.list, body, rows)
	d.list = list
	if !ok {
		return false
	}
	row := d.n / rows
	// within decodes the elements [a, b) of the block, which are in one part.
	within := func(dst []byte, p *parts.Part, a, b int) bool {
		return p.Block[0] != modeParts && decode(d.p.rows(p.End-p.Row, inner), dst, p.Block, a-p.Row*row, b-p.Row*row)
	}
	first, last := parts.Of(list, i/row), parts.Of(list, (j-1)/row)
	sources := map[int][]byte{} // of copies, by the part
	for k := first; k <= last; k++ {
		p := &list[k]
		a, b := max(i, p.Row*row), min(j, p.End*row)
		out := dst[(a-i)*d.size : (b-i)*d.size]
		if p.Block != nil {
			if !within(out, p, a, b) {
				return false
			}
			continue
		}
		a, b = a-(p.Row-p.Source)*row, b-(p.Row-p.Source)*row
		if a >= i {
			copy(out, dst[(a-i)*d.size:])
			continue
		}
		q := parts.Of(list, p.Source)
		src := &list[q]
		if first == last {
			return within(out, src, a, b)
		}
		// The source may have many copies, so it is decoded once. From element i on it is in dst.
		if sources[q] == nil {
			end := min(src.End*row, i)
			sources[q] = make([]byte, (end-src.Row*row)*d.size)
			if !within(sources[q], src, src.Row*row, end) {
				return false
			}
		}
		n := copy(out, sources[q][(a-src.Row*row)*d.size:])
		copy(out[n:], dst)
	}
	return true
}
