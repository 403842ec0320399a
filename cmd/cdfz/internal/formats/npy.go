package formats

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

// npyHeader returns the header of a .npy file, in version 1.0 if it fits, else 2.0:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
func npyHeader(t cdf3.Type, shape []int64) []byte {
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
	dict := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", t.DType(), tuple)
	head := []byte("\x93NUMPY\x01\x00")
	// The length is a multiple of 64, and the last byte is a newline.
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

// writeNpy writes a selection as a .npy file, big-endian as netCDF files are.
func writeNpy(ctx context.Context, w io.Writer, x *Values) error {
	if _, err := w.Write(npyHeader(x.Type(), x.Shape())); err != nil {
		return err
	}
	return writeRaw(ctx, w, x)
}

// writeRaw writes just the values.
func writeRaw(ctx context.Context, w io.Writer, x *Values) error {
	return x.pieces(ctx, x.column(nil, 1), func(b []byte) error {
		_, err := w.Write(b)
		return err
	})
}
