package cataloguefile

import "encoding/binary"

// Bounds of the metadata of a file and of a page. parquet-go allocates what a list claims to have before it
// reads an element, and calls itself for each nested structure.
const (
	maxNested = 16 // structures and lists in each other; Parquet needs eight
	maxList   = 64 // elements of all lists except the row groups: a catalogue has fewer columns
)

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

// walker goes through a structure of Thrift's compact protocol without decoding it.
type walker struct {
	b []byte
	// outer is the number of elements that the lists of the outermost structure may have, by field. Others
	// have maxList.
	outer map[int64]int64
}

// thriftLen returns the length of the structure at the start of b in bytes, once all that it claims has been
// checked: the bytes are there, lists have at most maxList elements or those of outer, and there are no
// maps, which Parquet does not use.
func thriftLen(b []byte, outer map[int64]int64) (int, error) {
	w := &walker{b, outer}
	if err := w.structure(0); err != nil {
		return 0, err
	}
	return len(b) - len(w.b), nil
}

var errCut = damage("the metadata are cut off")

// take removes n bytes.
func (w *walker) take(n uint64) error {
	if n > uint64(len(w.b)) {
		return errCut
	}
	w.b = w.b[n:]
	return nil
}

func (w *walker) byte() (byte, error) {
	if len(w.b) == 0 {
		return 0, errCut
	}
	c := w.b[0]
	w.b = w.b[1:]
	return c, nil
}

func (w *walker) varint() (uint64, error) {
	x, n := binary.Uvarint(w.b)
	if n <= 0 {
		return 0, errCut
	}
	w.b = w.b[n:]
	return x, nil
}

func (w *walker) structure(depth int) error {
	if depth > maxNested {
		return damage("expected at most %d nested structures", maxNested)
	}
	for field := int64(0); ; {
		head, err := w.byte()
		if err != nil || head == 0 {
			return err
		}
		if delta := head >> 4; delta != 0 {
			field += int64(delta)
		} else {
			x, err := w.varint()
			if err != nil {
				return err
			}
			field = int64(x>>1) ^ -int64(x&1)
		}
		switch kind := head & 15; kind {
		case thriftTrue, thriftFalse: // the type is the value
		case thriftList, thriftSet:
			most, ok := w.outer[field]
			if !ok || depth > 0 {
				most = maxList
			}
			err = w.list(depth+1, most)
		default:
			err = w.value(kind, depth+1)
		}
		if err != nil {
			return err
		}
	}
}

func (w *walker) list(depth int, most int64) error {
	head, err := w.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = w.varint(); err != nil {
			return err
		}
	}
	if n > uint64(most) {
		return damage("expected at most %d elements of a list, found %d", most, n)
	}
	if n > uint64(len(w.b)) { // each takes a byte
		return damage("expected at least %d bytes for a list, found %d", n, len(w.b))
	}
	for range n {
		if err := w.value(head&15, depth); err != nil {
			return err
		}
	}
	return nil
}

// value goes past an element of a list, or the value of a field that is no truth value.
func (w *walker) value(kind byte, depth int) error {
	switch kind {
	case thriftTrue, thriftFalse, thriftByte:
		return w.take(1)
	case thriftI16, thriftI32, thriftI64:
		_, err := w.varint()
		return err
	case thriftDouble:
		return w.take(8)
	case thriftBinary:
		n, err := w.varint()
		if err == nil && n > uint64(len(w.b)) {
			return damage("expected a text of %d bytes, found %d", n, len(w.b))
		}
		if err != nil {
			return err
		}
		return w.take(n)
	case thriftList, thriftSet:
		if depth > maxNested {
			return damage("expected at most %d nested structures", maxNested)
		}
		return w.list(depth+1, maxList)
	case thriftStruct:
		return w.structure(depth)
	case thriftMap:
		return damage("expected no map in the metadata")
	}
	return damage("expected a type of Thrift, found %d", kind)
}
