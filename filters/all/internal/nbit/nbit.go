// Package nbit codes blocks in the format of HDF5's nbit filter (H5Znbit.c) for atomic
// types: only the significant bits of each element, most significant first.
package nbit

import "github.com/cdfz-format/cdfz/filters/internal/wire"

// Params are the parameters of a block.
type Params struct {
	Elements  int
	Size      int  // of an element, 1, 2, 4 or 8 bytes
	BigEndian bool // order of the elements
	Precision int  // significant bits
	Offset    int  // bits below the significant ones
}

// Encode appends the encoded src to dst. It is an error if bits that are not significant
// are set, because they would be lost.
func Encode(dst, src []byte, p Params) ([]byte, error) {
	if len(src) != p.Elements*p.Size {
		return nil, wire.Errorf(wire.ErrParam, "nbit: expected blocks of %d bytes, found %d", p.Elements*p.Size, len(src))
	}
	e := wire.Elements{P: src, Size: p.Size, Big: p.BigEndian}
	w := wire.BitWriter{Buf: wire.Grow(dst, p.EncodedLen())}
	end := len(dst) + p.EncodedLen()
	significant := ^uint64(0) >> (64 - p.Precision) << p.Offset
	for i := range p.Elements {
		v := e.At(i)
		if v&^significant != 0 {
			return nil, wire.Errorf(wire.ErrParam, "nbit: expected %d significant bits above %d others, found 0x%x", p.Precision, p.Offset, v)
		}
		w.Put(v>>p.Offset, uint(p.Precision))
	}
	w.Align()
	for len(w.Buf) < end {
		w.Buf = append(w.Buf, 0)
	}
	return w.Buf, nil
}

// Decode appends the decoded src to dst, at most max bytes.
func Decode(dst, src []byte, p Params, max int) ([]byte, error) {
	if p.Elements > max/p.Size {
		return nil, wire.TooLong("nbit", max, uint64(p.Elements)*uint64(p.Size))
	}
	if len(src) != p.EncodedLen() {
		return nil, wire.Damaged("nbit: expected %d bytes, found %d", p.EncodedLen(), len(src))
	}
	dst, out := wire.Extend(dst, p.Elements*p.Size)
	e := wire.Elements{P: out, Size: p.Size, Big: p.BigEndian}
	r := wire.NewBitReader(src)
	for i := range p.Elements {
		e.Set(i, r.Get(uint(p.Precision))<<p.Offset)
	}
	return dst, nil
}

// EncodedLen returns the length of an encoded block. HDF5 starts another byte after a
// full one, even at the end.
func (p Params) EncodedLen() int {
	return wire.ClampLen(int64(p.Elements)*int64(p.Precision)/8 + 1)
}
