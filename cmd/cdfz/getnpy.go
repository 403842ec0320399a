package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
)

// dtypes are the types in numpy's words, without the order of bytes.
var dtypes = [...]string{
	cdf3.Byte: "i1", cdf3.Char: "S1", cdf3.Short: "i2", cdf3.Int: "i4", cdf3.Float: "f4", cdf3.Double: "f8",
	cdf3.UByte: "u1", cdf3.UShort: "u2", cdf3.UInt: "u4", cdf3.Int64: "i8", cdf3.UInt64: "u8",
}

// littleEndian says that numbers in memory have the other order than in files.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// npyHeader is the head of a .npy file, of version 1.0 if that can hold it, else 2.0:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
func npyHeader(t cdf3.Type, shape []int64, swapped bool) []byte {
	order := ">"
	switch {
	case t.Size() == 1:
		order = "|"
	case swapped:
		order = "<"
	}
	var dims strings.Builder
	for i, n := range shape {
		if i > 0 {
			dims.WriteByte(' ')
		}
		dims.WriteString(strconv.FormatInt(n, 10) + ",")
	}
	tuple := dims.String()
	if len(shape) > 1 {
		tuple = strings.TrimSuffix(tuple, ",")
	}
	dict := fmt.Sprintf("{'descr': '%s%s', 'fortran_order': False, 'shape': (%s), }", order, dtypes[t], tuple)
	head := []byte("\x93NUMPY\x01\x00")
	// The whole is a multiple of 64 long and ends in a newline.
	pad := func(fixed int) string {
		return dict + strings.Repeat(" ", -(fixed+len(dict)+1)&63) + "\n"
	}
	if s := pad(10); len(s) <= math.MaxUint16 {
		return append(binary.LittleEndian.AppendUint16(head, uint16(len(s))), s...)
	}
	s := pad(12)
	head[6] = 2
	return append(binary.LittleEndian.AppendUint32(head, uint32(len(s))), s...)
}

// writeNpy writes a selection as a .npy file, big-endian or in the order of this
// machine.
func writeNpy(ctx context.Context, w io.Writer, s *selected, native bool) error {
	swapped := native && littleEndian
	shape, _ := s.shape()
	if _, err := w.Write(npyHeader(s.outType(), shape, swapped)); err != nil {
		return err
	}
	return writeRaw(ctx, w, s, swapped)
}

// writeRaw writes the values and nothing else.
func writeRaw(ctx context.Context, w io.Writer, s *selected, swapped bool) error {
	var m scratchBytes
	return s.pieces(ctx, &m, func(b []byte) error {
		if swapped {
			swapBytes(b, int(s.outType().Size()))
		}
		_, err := w.Write(b)
		return err
	})
}

// swapBytes turns round the order of the bytes of each value.
func swapBytes(b []byte, size int) {
	switch size {
	case 2:
		for ; len(b) >= 2; b = b[2:] {
			binary.LittleEndian.PutUint16(b, binary.BigEndian.Uint16(b))
		}
	case 4:
		for ; len(b) >= 4; b = b[4:] {
			binary.LittleEndian.PutUint32(b, binary.BigEndian.Uint32(b))
		}
	case 8:
		for ; len(b) >= 8; b = b[8:] {
			binary.LittleEndian.PutUint64(b, binary.BigEndian.Uint64(b))
		}
	}
}

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }
