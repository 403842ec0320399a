package parquet

import "encoding/binary"

// The types of Thrift's compact protocol.
//
// https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// thrift writes Thrift's compact protocol. Fields of a struct must be written in the order of their ids.
type thrift struct {
	b     []byte
	last  int   // id of the last field of the struct
	outer []int // those of the structs around it
}

// push begins a struct that is not a field.
func (t *thrift) push() {
	t.outer = append(t.outer, t.last)
	t.last = 0
}

// begin begins a struct that is a field.
func (t *thrift) begin(id int) {
	t.field(id, thriftStruct)
	t.push()
}

// end ends a struct.
func (t *thrift) end() {
	t.b = append(t.b, 0)
	t.last = t.outer[len(t.outer)-1]
	t.outer = t.outer[:len(t.outer)-1]
}

// empty writes a struct without fields.
func (t *thrift) empty(id int) {
	t.begin(id)
	t.end()
}

// field writes the head of a field. Skipping 15 ids has a longer form, which no struct here needs.
func (t *thrift) field(id int, typ byte) {
	t.b = append(t.b, byte(id-t.last)<<4|typ)
	t.last = id
}

func (t *thrift) bool(id int, v bool) {
	if v {
		t.field(id, thriftTrue)
	} else {
		t.field(id, thriftFalse)
	}
}

func (t *thrift) i32(id int, v int64) {
	t.field(id, thriftI32)
	t.zigzag(v)
}

func (t *thrift) i64(id int, v int64) {
	t.field(id, thriftI64)
	t.zigzag(v)
}

func (t *thrift) text(id int, s string) {
	t.field(id, thriftBinary)
	t.bytes(s)
}

func (t *thrift) list(id int, typ byte, n int) {
	t.field(id, thriftList)
	if n < 15 {
		t.b = append(t.b, byte(n)<<4|typ)
		return
	}
	t.b = binary.AppendUvarint(append(t.b, 15<<4|typ), uint64(n))
}

func (t *thrift) bytes(s string) {
	t.b = append(binary.AppendUvarint(t.b, uint64(len(s))), s...)
}

func (t *thrift) zigzag(v int64) { t.b = binary.AppendVarint(t.b, v) }

// thriftReader reads Thrift's compact protocol.
type thriftReader struct {
	b     []byte
	depth int // of structures and lists around the place
}

var errCut = damage("the metadata are cut off")

// take removes n bytes.
func (r *thriftReader) take(n uint64) ([]byte, error) {
	if n > uint64(len(r.b)) {
		return nil, errCut
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b, nil
}

func (r *thriftReader) varint() (uint64, error) {
	x, n := binary.Uvarint(r.b)
	if n <= 0 {
		return 0, errCut
	}
	r.b = r.b[n:]
	return x, nil
}

// enter calls read within a structure or list.
func (r *thriftReader) enter(read func() error) error {
	if r.depth == maxNested {
		return damage("expected at most %d nested structures", maxNested)
	}
	r.depth++
	err := read()
	r.depth--
	return err
}

// structure reads a structure. read is called for each field and must read its value, which skip does for
// any.
func (r *thriftReader) structure(read func(id int64, kind byte) error) error {
	return r.enter(func() error {
		for id := int64(0); ; {
			b, err := r.take(1)
			if err != nil || b[0] == 0 {
				return err
			}
			kind := b[0] & 15
			if delta := b[0] >> 4; delta != 0 {
				id += int64(delta)
			} else {
				x, err := r.varint()
				if err != nil {
					return err
				}
				id = int64(x>>1) ^ -int64(x&1)
			}
			if err := read(id, kind); err != nil {
				return err
			}
		}
	})
}

// list reads a list of at most so many elements. read must read each.
func (r *thriftReader) list(kind byte, most int, read func(kind byte) error) error {
	if kind != thriftList && kind != thriftSet {
		return damage("expected a list in the metadata, found type %d", kind)
	}
	return r.enter(func() error {
		head, err := r.take(1)
		if err != nil {
			return err
		}
		n := uint64(head[0] >> 4)
		if n == 15 {
			if n, err = r.varint(); err != nil {
				return err
			}
		}
		if n > uint64(most) {
			return damage("expected at most %d elements of a list, found %d", most, n)
		}
		if n > uint64(len(r.b)) { // each takes a byte
			return damage("expected at least %d bytes for a list, found %d", n, len(r.b))
		}
		element := head[0] & 15
		for range n {
			if err := read(element); err != nil {
				return err
			}
		}
		return nil
	})
}

// structures reads a list of at most so many structures. each is called before a structure, and returns what
// structure takes.
func (r *thriftReader) structures(kind byte, most int, each func() func(id int64, kind byte) error) error {
	return r.list(kind, most, func(kind byte) error {
		if kind != thriftStruct {
			return damage("expected structures in a list of the metadata, found type %d", kind)
		}
		return r.structure(each())
	})
}

// int reads a number.
func (r *thriftReader) int(kind byte, to *int64) error {
	if kind != thriftI16 && kind != thriftI32 && kind != thriftI64 {
		return damage("expected a number in the metadata, found type %d", kind)
	}
	x, err := r.varint()
	*to = int64(x>>1) ^ -int64(x&1)
	return err
}

// text reads a text.
func (r *thriftReader) text(kind byte, to *string) error {
	if kind != thriftBinary {
		return damage("expected a text in the metadata, found type %d", kind)
	}
	n, err := r.varint()
	if err != nil {
		return err
	}
	if n > uint64(len(r.b)) {
		return damage("expected a text of %d bytes, found %d", n, len(r.b))
	}
	b, _ := r.take(n)
	if to != nil {
		*to = string(b)
	}
	return nil
}

// skip goes past the value of a field.
func (r *thriftReader) skip(kind byte) error {
	if kind == thriftTrue || kind == thriftFalse {
		return nil // the type is the value
	}
	return r.skipElement(kind)
}

// skipElement goes past an element of a list, or the value of a field that is no truth value.
func (r *thriftReader) skipElement(kind byte) error {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		_, err := r.take(1)
		return err
	case thriftI16, thriftI32, thriftI64:
		_, err := r.varint()
		return err
	case thriftDouble:
		_, err := r.take(8)
		return err
	case thriftBinary:
		return r.text(kind, nil)
	case thriftList, thriftSet:
		return r.list(kind, maxList, r.skipElement)
	case thriftStruct:
		return r.structure(func(_ int64, kind byte) error { return r.skip(kind) })
	case thriftMap:
		return damage("expected no map in the metadata")
	}
	return damage("expected a type of Thrift, found %d", kind)
}
