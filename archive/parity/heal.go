package parity

import (
	"bytes"
	"context"
	"io"
	"slices"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Heal is Check that also writes the damaged pieces and records to w, as far as they can be
// healed; w may be the archive. It writes nothing else, except the local header of the
// entry. So it can be interrupted and repeated: what is intact stays, and damage becomes
// less. Bytes after the archive are left alone.
func (s *Set) Heal(ctx context.Context, w io.WriterAt) (*Report, error) { return s.run(ctx, w) }

func (s *Set) run(ctx context.Context, w io.WriterAt) (*Report, error) {
	c := newCodes(&s.Layout)
	x := &checker{Set: s, ctx: ctx, c: c, w: w, rep: &Report{Layout: s.Layout, Pieces: s.pieces(), Records: s.records()}}
	x.src = &source{&s.Layout, ioat.Bind(ctx, s.r), s.size}
	x.done.call = s.o.progress()
	if w == nil {
		x.known = s.passed
	}
	x.rep.missing, x.rep.after = max(0, s.Size-s.size), max(0, s.size-s.Size)
	_, intact, err := s.Entry(ctx)
	if err != nil {
		return nil, err
	}
	x.rep.Header = !intact
	perGroup := s.parts*s.partLen() + (s.Data+s.Parity)/8 + 200
	batch := max(1, s.o.memory()/2/perGroup)
	for from := int64(0); from < s.Groups; from += batch {
		if err := x.batch(from, min(s.Groups, from+batch)); err != nil {
			return nil, err
		}
	}
	if w != nil && !intact {
		if err := s.writeLocal(ctx, w); err != nil {
			return nil, err
		}
	}
	for _, list := range []*[]Range{&x.rep.Damaged, &x.rep.Lost, &x.rep.Unknown} {
		*list = merged(*list)
	}
	return x.rep, nil
}

// batch checks the groups from one to another.
func (x *checker) batch(from, to int64) error {
	groups := make([]group, to-from)
	for i := range groups {
		groups[i].bad = make(bitset, (x.Data+x.Parity+63)/64)
	}
	in := func(g int64) *group {
		if g < from || g >= to {
			return nil
		}
		return &groups[g-from]
	}
	if err := x.readRecords(in, to-from); err != nil {
		return err
	}
	if err := x.readPieces(in); err != nil {
		return err
	}
	var heal []int64
	for i := range groups {
		g := &groups[i]
		x.rep.BadPieces += g.pieces
		x.rep.BadRecords += g.recs
		switch {
		case g.table == nil:
			x.note(from+int64(i), g, &x.rep.Damaged, &x.rep.Lost)
			x.unknown(from + int64(i))
		case g.pieces+g.recs > x.Parity:
			x.note(from+int64(i), g, &x.rep.Damaged, &x.rep.Lost)
		case g.pieces+g.recs > 0:
			x.note(from+int64(i), g, &x.rep.Damaged)
			heal = append(heal, from+int64(i))
		}
	}
	if x.w == nil || len(heal) == 0 {
		return nil
	}
	return x.groupsIn(x.ctx, slices.Values(heal), x.healMemory(), func(n int64, b []byte) error { return x.heal(n, in(n), b) })
}

// heal restores the bad pieces of a group, then its bad records, and writes them. b has
// room for all pieces of the group.
func (x *checker) heal(n int64, g *group, b []byte) error {
	bad := g.bad.has
	if err := x.src.group(b, n, func(int64) {}); err != nil {
		return err
	}
	for i := range x.Data {
		if !bad(i) && pieceSum(&x.Layout, b, i) != sumIn(g.table, i) {
			return x.lost(n, g) // it changed meanwhile
		}
	}
	parity, err := x.readParity(n, g)
	if err != nil {
		return err
	}
	if g.pieces+g.recs > x.Parity {
		return x.lost(n, g)
	}
	if g.pieces > 0 {
		if err := x.c.restore(b, bad, parity); err != nil {
			return err
		}
		for i := range x.Data {
			if pieceSum(&x.Layout, b, i) != sumIn(g.table, i) {
				return x.lost(n, g)
			}
		}
	}
	if g.recs > 0 {
		if ok, err := x.healRecords(n, g, b, parity); err != nil || !ok {
			return err
		}
	}
	for i := range x.Data {
		if !bad(i) {
			continue
		}
		at := i * x.Piece
		err := x.spans(x.pieceOff(n, i), x.Piece, func(from, off, k int64) error {
			return write(x.w, b[at+from:at+from+k], off)
		})
		if err != nil {
			return err
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.rep.Healed += g.pieces + g.recs
	return nil
}

// readParity returns the parity pieces of a group, nil for bad ones.
func (x *checker) readParity(n int64, g *group) ([][]byte, error) {
	parity := make([][]byte, x.Parity)
	w := newWindow(x.ctx, x.src, x.end(), 0)
	for row := range x.Parity {
		if g.bad.has(x.Data + row) {
			continue
		}
		i := x.record(n, row)
		rec, ok, err := w.get(x.recordOff(i), x.recordLen())
		if err != nil {
			return nil, err
		}
		var piece []byte
		if ok {
			_, piece, ok = x.split(rec, i)
		}
		if !ok {
			g.bad.set(x.Data + row)
			g.recs++
			continue
		}
		parity[row] = bytes.Clone(piece)
	}
	return parity, nil
}

// healRecords writes the bad records of a group whose pieces are all intact in b. It
// returns false if the intact records are not those of the pieces.
func (x *checker) healRecords(n int64, g *group, b []byte, parity [][]byte) (bool, error) {
	want, err := x.c.encode(b)
	if err != nil {
		return false, err
	}
	for row, p := range parity {
		if p != nil && !bytes.Equal(p, want[row]) {
			return false, x.lost(n, g)
		}
	}
	return true, x.writeGroup(x.c, x.w, n, b, func(row int64) bool { return g.bad.has(x.Data + row) })
}

// lost reports that a group cannot be healed although it has enough records.
func (x *checker) lost(n int64, g *group) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.note(n, g, &x.rep.Lost)
	return nil
}
