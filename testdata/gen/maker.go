package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/cdfz-format/cdfz/cdf3"
)

// maker builds a file: a header laid out by cdf3, then values at the places in the
// header.
type maker struct {
	cdf3.Header
	rnd    random
	values map[int]func(i int64) int64 // by variable: element i, as an integer
	pad    func(v *cdf3.Var, n int) []byte
	gap    func(i int64) byte // bytes that belong to no value
}

func newMaker(v cdf3.Version, seed string) *maker {
	m := &maker{values: map[int]func(int64) int64{}}
	m.Version = v
	for _, c := range []byte(seed) {
		m.rnd = random(uint64(m.rnd)*1099511628211 + uint64(c))
	}
	m.gap = func(int64) byte { return 0 }
	return m
}

func (m *maker) dim(name string, n int64) int {
	m.Dims = append(m.Dims, cdf3.Dim{Name: name, Len: n})
	return len(m.Dims) - 1
}

func (m *maker) add(name string, t cdf3.Type, dims ...int) *cdf3.Var {
	m.Vars = append(m.Vars, cdf3.Var{Name: name, Type: t, DimIDs: dims})
	return &m.Vars[len(m.Vars)-1]
}

// text returns an attribute of type char.
func text(name, s string) cdf3.Attr {
	return cdf3.Attr{Name: name, Type: cdf3.Char, Len: int64(len(s)), Values: []byte(s)}
}

// number returns an attribute with values of a Go type of the size of t.
func number(name string, t cdf3.Type, values any) cdf3.Attr {
	b, err := binary.Append(nil, binary.BigEndian, values)
	if err != nil {
		panic(err)
	}
	return cdf3.Attr{Name: name, Type: t, Len: int64(len(b)) / t.Size(), Values: b}
}

// layout lays out the header for a number of records. The files have what real ones have, so
// there are no rules for names.
func (m *maker) layout(records uint64) {
	m.NumRecsField = records
	if err := m.LayoutRead(); err != nil {
		panic(err)
	}
}

// header returns the encoded header, which may be changed after layout.
func (m *maker) header() []byte {
	b, err := m.Append(nil)
	if err != nil {
		panic(err)
	}
	return b
}

// image returns the file. It ends after the padding of the last value.
func (m *maker) image() []byte {
	head := m.header()
	end := int64(len(head))
	m.extents(func(_ int, _, off, n int64) { end = max(end, off+n+m.padLen(n)) })
	b := make([]byte, end)
	for i := range b {
		b[i] = m.gap(int64(i))
	}
	if m.pad != nil {
		m.extents(func(v int, _, off, n int64) { copy(b[off+n:], m.pad(&m.Vars[v], int(m.padLen(n)))) })
	} else {
		m.extents(func(_ int, _, off, n int64) { clear(b[off+n : off+n+m.padLen(n)]) })
	}
	m.extents(func(v int, first, off, n int64) { m.put(b[off:off+n], v, first) })
	// The header comes last, for variables that begin inside it.
	copy(b, head)
	return b
}

// padLen returns the padding after n bytes. It is 0 if the only record variable has no
// padding, as RecSize shows.
func (m *maker) padLen(n int64) int64 {
	if m.RecSize == n {
		return 0
	}
	return -n & 3
}

// extents calls f with variable, first element, offset and length of every run of
// values.
func (m *maker) extents(f func(v int, first, off, n int64)) {
	for i := range m.Vars {
		v := &m.Vars[i]
		if !v.Record {
			f(i, 0, v.Begin, v.RecLen)
			continue
		}
		for r := range m.NumRecs {
			f(i, r*v.RecLen/v.Type.Size(), v.Begin+r*m.RecSize, v.RecLen)
		}
	}
}

func (m *maker) put(b []byte, i int, first int64) {
	t := m.Vars[i].Type
	value := m.values[i]
	if value == nil {
		value = func(int64) int64 { return int64(m.rnd.next() >> 40) }
	}
	for n := int64(0); len(b) > 0; n++ {
		x := value(first + n)
		switch t {
		case cdf3.Char:
			if m.values[i] == nil {
				x = 'a' + x%26
			}
			b[0] = byte(x)
		case cdf3.Byte, cdf3.UByte:
			b[0] = byte(x)
		case cdf3.Short, cdf3.UShort:
			binary.BigEndian.PutUint16(b, uint16(x))
		case cdf3.Int, cdf3.UInt:
			binary.BigEndian.PutUint32(b, uint32(x))
		case cdf3.Int64, cdf3.UInt64:
			binary.BigEndian.PutUint64(b, uint64(x))
		// Dividing by a power of two is exact, so that all machines agree.
		case cdf3.Float:
			binary.BigEndian.PutUint32(b, math.Float32bits(float32(int32(x))/64))
		case cdf3.Double:
			binary.BigEndian.PutUint64(b, math.Float64bits(float64(int32(x))/1024))
		}
		b = b[t.Size():]
	}
}

// random is splitmix64.
type random uint64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	x := uint64(*r)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// wide returns the width of counts.
func (m *maker) wide() int64 {
	if m.Version == cdf3.Data64 {
		return 8
	}
	return 4
}

// count encodes n in the width of counts.
func (m *maker) count(n uint64) []byte {
	if m.wide() == 8 {
		return binary.BigEndian.AppendUint64(nil, n)
	}
	return binary.BigEndian.AppendUint32(nil, uint32(n))
}

// streaming sets numrecs to all ones.
func (m *maker) streaming(b []byte) []byte {
	copy(b[4:], m.count(math.MaxUint64))
	return b
}

// Offsets of fields in the encoded header.

func (m *maker) listLen() int64 { return 4 + m.wide() }
func (m *maker) dimsAt() int64  { return 4 + m.wide() }

func (m *maker) attrsAt() int64 {
	h := m.Header
	h.Attrs, h.Vars = nil, nil
	b, _ := h.Append(nil)
	return int64(len(b)) - 2*m.listLen()
}

func (m *maker) varsAt() int64 {
	h := m.Header
	h.Vars = nil
	b, _ := h.Append(nil)
	return int64(len(b)) - m.listLen()
}

// varAt returns the offset of variable i, which begins with the length of its name.
func (m *maker) varAt(i int) int64 {
	h := m.Header
	h.Vars = h.Vars[:i]
	b, _ := h.Append(nil)
	return int64(len(b))
}

func (m *maker) ndimsAt(i int) int64 {
	n := int64(len(m.Vars[i].Name))
	return m.varAt(i) + m.wide() + n + -n&3
}

func (m *maker) varAttrsAt(i int) int64 {
	return m.ndimsAt(i) + m.wide()*int64(1+len(m.Vars[i].DimIDs))
}

func (m *maker) beginAt(i int) int64 {
	n := int64(8)
	if m.Version == cdf3.Classic {
		n = 4
	}
	return m.varAt(i+1) - n
}

func (m *maker) vsizeAt(i int) int64 { return m.beginAt(i) - m.wide() }
func (m *maker) typeAt(i int) int64  { return m.vsizeAt(i) - 4 }

// replace replaces bytes that occur once by bytes of the same length.
func replace(b []byte, old, new string) []byte {
	if len(old) != len(new) || bytes.Count(b, []byte(old)) != 1 {
		panic(fmt.Sprintf("replace %q by %q: found %d times", old, new, bytes.Count(b, []byte(old))))
	}
	return bytes.Replace(b, []byte(old), []byte(new), 1)
}
