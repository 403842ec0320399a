package hdf5

import (
	"encoding/binary"
	"math"
	"strings"
)

// le appends little-endian numbers.
var le = binary.LittleEndian

// undef is the address of nothing.
const undef = math.MaxUint64

// Types of header messages: "Data Object Header Messages".
const (
	msgDataspace = 0x01
	msgLinkInfo  = 0x02
	msgDatatype  = 0x03
	msgFill      = 0x05
	msgLink      = 0x06
	msgLayout    = 0x08
	msgGroupInfo = 0x0A
	msgFilters   = 0x0B
	msgAttribute = 0x0C
	msgAttrInfo  = 0x15
)

// Flags of messages.
const (
	msgConstant = 0x01
	msgUnshared = 0x04
)

// Datatypes that the conventions of dimension scales use.
var (
	// typeReference is an object reference.
	typeReference = []byte{0x17, 0, 0, 0, 8, 0, 0, 0}
	// typeReferences is a list of object references of varying length.
	typeReferences = append([]byte{0x19, 0, 0, 0, 16, 0, 0, 0}, typeReference...)
	// typeUse is a compound of "dataset", an object reference at byte 0, and "dimension",
	// a signed integer of 32 bits at byte 8. It has 16 bytes.
	typeUse = appendType(append(append(append([]byte{0x36, 2, 0, 0, 16, 0, 0, 0}, "dataset\x00\x00"...), typeReference...), "dimension\x00\x08"...),
		Type{Signed, 4, false})
)

// appendType appends a datatype ("The Datatype Message").
func appendType(p []byte, t Type) []byte {
	var order byte
	if t.BigEndian {
		order = 1
	}
	size := func(class, b0, b1 byte) []byte { return le.AppendUint32(append(p, class, b0, b1, 0), uint32(t.Size)) }
	bits := uint16(8 * t.Size)
	switch t.Class {
	case Text:
		return size(0x13, 0, 0)
	case Float:
		// Bit 5: the highest bit of the mantissa is 1 and not stored.
		p = size(0x11, 0x20|order, byte(bits-1))
		p = le.AppendUint16(le.AppendUint16(p, 0), bits)
		if t.Size == 4 {
			return le.AppendUint32(append(p, 23, 8, 0, 23), 127)
		}
		return le.AppendUint32(append(p, 52, 11, 0, 52), 1023)
	case Signed:
		order |= 8
	}
	return le.AppendUint16(le.AppendUint16(size(0x10, order, 0), 0), bits)
}

// appendSpace appends a dataspace ("The Dataspace Message"): a single value if shape is
// empty.
func appendSpace(p []byte, shape []int64, most []uint64) []byte {
	if len(shape) == 0 {
		return append(p, 2, 0, 0, 0)
	}
	p = append(p, 2, byte(len(shape)), 1, 1)
	for _, n := range shape {
		p = le.AppendUint64(p, uint64(n))
	}
	for i, n := range shape {
		m := uint64(n)
		if most != nil {
			m = most[i]
		}
		p = le.AppendUint64(p, m)
	}
	return p
}

// appendLenSpace appends the dataspace of an attribute.
func appendLenSpace(p []byte, n int64) []byte {
	switch n {
	case Single:
		return append(p, 2, 0, 0, 0)
	case Null:
		return append(p, 2, 0, 0, 2)
	}
	return appendSpace(p, []int64{n}, nil)
}

// encodeAttr encodes "The Attribute Message" for an attribute of n elements, as in Attr.
func encodeAttr(name string, datatype []byte, n int64, values []byte) []byte {
	space := appendLenSpace(nil, n)
	p := make([]byte, 0, 9+len(name)+1+len(datatype)+len(space)+len(values))
	p = le.AppendUint16(append(p, 3, 0), uint16(len(name)+1))
	p = le.AppendUint16(p, uint16(len(datatype)))
	p = le.AppendUint16(p, uint16(len(space)))
	p = append(append(append(p, charset(name)), name...), 0)
	return append(append(append(p, datatype...), space...), values...)
}

// fillMessage encodes "The Fill Value Message".
func fillMessage(d *Dataset) []byte {
	// Space for contiguous data is allocated late, for chunks incrementally. Fill values
	// are written if they are set.
	flags := byte(2 | 2<<2)
	if d.Chunk != nil {
		flags = 3 | 2<<2
	}
	if d.Fill == nil {
		return []byte{3, flags}
	}
	return append(le.AppendUint32([]byte{3, flags | 0x20}, uint32(len(d.Fill))), d.Fill...)
}

// layoutMessage encodes "The Data Layout Message". at is the address of the data, or of
// the chunks' index.
func layoutMessage(d *Dataset, at uint64) []byte {
	if d.Chunk == nil {
		return le.AppendUint64(le.AppendUint64([]byte{3, 1}, at), uint64(d.bytes()))
	}
	p := le.AppendUint64([]byte{3, 2, byte(len(d.Chunk) + 1)}, at)
	for _, n := range d.Chunk {
		p = le.AppendUint32(p, uint32(n))
	}
	return le.AppendUint32(p, uint32(d.Type.Size))
}

// filterMessage encodes "The Data Storage - Filter Pipeline Message".
func filterMessage(list []Filter) []byte {
	p := []byte{2, byte(len(list))}
	for _, f := range list {
		p = le.AppendUint16(p, f.ID)
		if f.ID >= 256 {
			p = le.AppendUint16(p, uint16(len(filterName(f))))
		}
		var flags uint16
		if f.Optional {
			flags = 1
		}
		p = le.AppendUint16(le.AppendUint16(p, flags), uint16(len(f.Params)))
		if f.ID >= 256 {
			p = append(p, filterName(f)...)
		}
		for _, v := range f.Params {
			p = le.AppendUint32(p, v)
		}
	}
	return p
}

// filterName returns the name of a filter with a zero byte at its end, or "" if it has none.
func filterName(f Filter) string {
	const most = 255
	name, _, _ := strings.Cut(f.Name, "\x00")
	if name == "" {
		return ""
	}
	return name[:min(len(name), most)] + "\x00"
}

// linkMessage encodes "The Link Message" of link number i.
func linkMessage(name string, i int, at uint64) []byte {
	flags, cset := byte(0x04), charset(name) // with the order of creation
	if cset != 0 {
		flags |= 0x10
	}
	var n []byte
	if len(name) < 256 {
		n = []byte{byte(len(name))}
	} else {
		flags |= 1
		n = le.AppendUint16(n, uint16(len(name)))
	}
	p := le.AppendUint64([]byte{1, flags}, uint64(i))
	if cset != 0 {
		p = append(p, cset)
	}
	return le.AppendUint64(append(append(p, n...), name...), at)
}
