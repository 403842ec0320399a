package numeric

import "github.com/cdfz-format/cdfz/filters/internal/wire"

// AppendDelta appends the first integer of src and the difference of each other one to
// the one before, modulo the size of the type.
func AppendDelta(dst, src []byte, t Type) ([]byte, error) {
	if err := t.whole("delta", len(src)); err != nil {
		return nil, err
	}
	dst, out := wire.Extend(dst, len(src))
	switch t.Size {
	case 1:
		differences[uint8](out, src, 1, false)
	case 2:
		differences[uint16](out, src, 2, t.BigEndian)
	case 4:
		differences[uint32](out, src, 4, t.BigEndian)
	default:
		differences[uint64](out, src, 8, t.BigEndian)
	}
	return dst, nil
}

// AppendSums undoes [AppendDelta]. It appends at most max bytes.
func AppendSums(dst, src []byte, t Type, max int) ([]byte, error) {
	if len(src) > max {
		return nil, wire.TooLong("delta", max, len(src))
	}
	if len(src)%t.Size != 0 {
		return nil, wire.Damaged("delta: expected elements of %d bytes, found %d bytes", t.Size, len(src))
	}
	dst, out := wire.Extend(dst, len(src))
	switch t.Size {
	case 1:
		sums[uint8](out, src, 1, false)
	case 2:
		sums[uint16](out, src, 2, t.BigEndian)
	case 4:
		sums[uint32](out, src, 4, t.BigEndian)
	default:
		sums[uint64](out, src, 8, t.BigEndian)
	}
	return dst, nil
}

// differences and sums take the size of T.
func differences[T unsigned](out, src []byte, size int, big bool) {
	var last T
	for i := 0; i <= len(src)-size; i += size {
		v := load[T](src[i:], big)
		store(out[i:], v-last, big)
		last = v
	}
}

func sums[T unsigned](out, src []byte, size int, big bool) {
	var sum T
	for i := 0; i <= len(src)-size; i += size {
		sum += load[T](src[i:], big)
		store(out[i:], sum, big)
	}
}
