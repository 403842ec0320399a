package hdf5

import "math"

// maxMessage is the longest message of a header. Its length has two bytes.
const maxMessage = math.MaxUint16

// header builds an object header ("Version 2 Data Object Header Prefix").
type header struct {
	messages []byte
}

// add appends a message. index is the order of creation of an attribute.
func (h *header) add(kind, flags byte, index int, body []byte) {
	h.messages = append(le.AppendUint16(append(h.messages, kind), uint16(len(body))), flags)
	h.messages = append(le.AppendUint16(h.messages, uint16(index)), body...)
}

// encode returns the whole header.
func (h *header) encode() []byte {
	// The order of creation of attributes is tracked and indexed.
	p, n := append([]byte("OHDR"), 2, 0x0C), len(h.messages)
	switch {
	case n <= math.MaxUint8:
		p = append(p, byte(n))
	case n <= math.MaxUint16:
		p[5] |= 1
		p = le.AppendUint16(p, uint16(n))
	default:
		p[5] |= 2
		p = le.AppendUint32(p, uint32(n))
	}
	p = append(p, h.messages...)
	return le.AppendUint32(p, checksum(p))
}

// attr is an encoded attribute.
type attr struct {
	name string
	body []byte
}

// addAttrs adds the attributes of an object, whose dense storage, if it has any, is at d.
func (h *header) addAttrs(attrs []attr, d densePlaces) {
	info := le.AppendUint16([]byte{0, 3}, uint16(len(attrs)))
	h.add(msgAttrInfo, msgUnshared, 0, le.AppendUint64(le.AppendUint64(le.AppendUint64(info, d.heap), d.names), d.order))
	if d.heap != undef {
		return
	}
	for i, a := range attrs {
		h.add(msgAttribute, 0, i, a.body)
	}
}
