package dap

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"math"

	"github.com/cdfz-format/cdfz/cdf3"
)

// dataMark is between the structure and the values.
const dataMark = "Data:\n"

// Size returns the number of bytes that Data writes. The error, *Error, is for arrays
// that are too long.
func (r *Request) Size() (int64, error) {
	n := int64(len(r.dds()) + len(dataMark))
	for i := range r.arrays {
		size, ok := r.size(&r.arrays[i])
		if n += size; !ok || n < 0 {
			return 0, errorf("variable %s is too long for one answer: ask for a part", r.d.vars[r.arrays[i].v].name)
		}
	}
	return n, nil
}

// size returns the length of an array in XDR. ok is false if it is too long for DAP2.
func (r *Request) size(a *array) (n int64, ok bool) {
	v := &r.d.vars[a.v]
	count := a.count()
	if count > maxCount {
		return 0, false
	}
	scalar := len(a.sel.Count) == 0
	switch {
	case v.v.Type == cdf3.Char:
		n = count * (4 + v.text + padding(v.text))
		if count > 0 && n/count != 4+v.text+padding(v.text) {
			return 0, false
		}
		if !scalar {
			n += 4
		}
	case v.v.Type.Size() == 1 && scalar:
		n = 4
	case v.v.Type.Size() == 1:
		n = 8 + count + padding(count)
	default:
		n = count * max(4, v.v.Type.Size())
		if !scalar {
			n += 8
		}
	}
	return n, true
}

// padding returns the bytes after n bytes up to a multiple of 4.
func padding(n int64) int64 { return -n & 3 }

// Data writes the structure and the values of the request, in XDR. Size must have
// succeeded. Errors are those of w, of ctx and of the source; w then has a part of the
// data.
func (r *Request) Data(ctx context.Context, w io.Writer) error {
	b := bufio.NewWriterSize(w, 32<<10)
	b.WriteString(r.dds())
	b.WriteString(dataMark)
	for i := range r.arrays {
		if err := r.encode(ctx, b, &r.arrays[i]); err != nil {
			return err
		}
	}
	return b.Flush()
}

// zeros are padding.
var zeros [4]byte

// encode writes an array in XDR (RFC 4506): numbers of at least 4 bytes, big-endian.
func (r *Request) encode(ctx context.Context, b *bufio.Writer, a *array) error {
	v := &r.d.vars[a.v]
	scalar := len(a.sel.Count) == 0
	var word [8]byte
	put := func(x uint32) { _, _ = b.Write(binary.BigEndian.AppendUint32(word[:0], x)) }
	n := a.count()
	if !scalar {
		put(uint32(n))
		if v.v.Type != cdf3.Char {
			put(uint32(n))
		}
	}
	values, sel := r.d.src.Array(v.num), a.sel
	switch v.v.Type {
	case cdf3.Char:
		return encodeText(ctx, b, r, a, n)
	case cdf3.Byte, cdf3.UByte:
		err := bytesOf(ctx, v.v.Type, values, sel, func(p []byte) error {
			if scalar {
				// The number ends with its byte. pydap takes the first of the four.
				p = []byte{p[0], 0, 0, p[0]}
			}
			_, err := b.Write(p)
			return err
		})
		if !scalar {
			_, _ = b.Write(zeros[:padding(n)])
		}
		return err
	case cdf3.Short:
		return each(ctx, values, sel, func(list []int16) error {
			for _, x := range list {
				put(uint32(int32(x)))
			}
			return ctx.Err()
		})
	case cdf3.UShort:
		return each(ctx, values, sel, func(list []uint16) error {
			for _, x := range list {
				put(uint32(x))
			}
			return ctx.Err()
		})
	case cdf3.Int:
		return each(ctx, values, sel, func(list []int32) error {
			for _, x := range list {
				put(uint32(x))
			}
			return ctx.Err()
		})
	case cdf3.UInt:
		return each(ctx, values, sel, func(list []uint32) error {
			for _, x := range list {
				put(x)
			}
			return ctx.Err()
		})
	case cdf3.Float:
		return each(ctx, values, sel, func(list []float32) error {
			for _, x := range list {
				put(math.Float32bits(x))
			}
			return ctx.Err()
		})
	}
	return each(ctx, values, sel, func(list []float64) error {
		for _, x := range list {
			_, _ = b.Write(binary.BigEndian.AppendUint64(word[:0], math.Float64bits(x)))
		}
		return ctx.Err()
	})
}

// encodeText writes n strings of the same length.
func encodeText(ctx context.Context, b *bufio.Writer, r *Request, a *array, n int64) error {
	v := &r.d.vars[a.v]
	var word [4]byte
	length := binary.BigEndian.AppendUint32(word[:0], uint32(v.text))
	if v.text == 0 {
		for range n {
			if _, err := b.Write(length); err != nil {
				return err
			}
		}
		return nil
	}
	at := int64(0) // in the string
	return bytesOf(ctx, cdf3.Char, r.d.src.Array(v.num), r.full(a), func(p []byte) error {
		for len(p) > 0 {
			if at == 0 {
				_, _ = b.Write(length)
			}
			k := min(int64(len(p)), v.text-at)
			if _, err := b.Write(p[:k]); err != nil {
				return err
			}
			if p, at = p[k:], at+k; at == v.text {
				_, _ = b.Write(zeros[:padding(at)])
				at = 0
			}
		}
		return ctx.Err()
	})
}
