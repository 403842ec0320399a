package cdf3

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWriteFile writes a file with buffers of all sizes.
func TestWriteFile(t *testing.T) {
	h := &Header{
		Version: Classic, NumRecsField: 3,
		Dims: []Dim{{"t", 0}, {"x", 3}},
		Vars: []Var{
			{Name: "r1", Type: Byte, DimIDs: []int{0, 1}, Attrs: []Attr{{"_FillValue", Byte, 1, []byte{9}}}},
			{Name: "f1", Type: Short, DimIDs: []int{1}},
			{Name: "r2", Type: Double, DimIDs: []int{0}},
			{Name: "f2", Type: Char},
		},
	}
	require.NoError(t, h.Layout())
	data := []Data{
		{Values: bytes.NewReader([]byte{1, 2, 3, 4, 5}), Len: 5},
		{Values: bytes.NewReader([]byte{0, 1}), Len: 2},
		{NoFill: true},
		{Values: bytes.NewReader([]byte{'c'}), Len: 1, NoFill: true},
	}
	head, err := h.Append(nil)
	require.NoError(t, err)
	want := append(head, 0, 1, 0x80, 1, 0x80, 1, 0x80, 1, 'c', 0, 0, 0,
		1, 2, 3, 9, 0, 0, 0, 0, 0, 0, 0, 0,
		4, 5, 9, 9, 0, 0, 0, 0, 0, 0, 0, 0,
		9, 9, 9, 9, 0, 0, 0, 0, 0, 0, 0, 0)
	defer func(c, r int64) { copyLen, recordLen = c, r }(copyLen, recordLen)
	for _, recordLen = range []int64{1, 12, 24, 30, 1 << 20} {
		for _, copyLen = range []int64{4, 5, 8, 1 << 10} {
			var b bytes.Buffer
			require.NoError(t, WriteFile(context.Background(), &b, h, func(v int) Data { return data[v] }))
			require.Equal(t, want, b.Bytes())
		}
	}
	boom := errors.New("failed on purpose")
	require.ErrorIs(t, WriteFile(context.Background(), failing{boom}, h, func(v int) Data { return data[v] }), boom)
	require.ErrorIs(t, WriteFile(context.Background(), io.Discard, h, func(v int) Data { return Data{Values: failing{boom}, Len: data[v].Len} }), boom)
	require.ErrorIs(t, WriteFile(context.Background(), io.Discard, h, func(v int) Data { return Data{Values: bytes.NewReader(nil), Len: h.Vars[v].Len} }), io.ErrUnexpectedEOF)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, WriteFile(ctx, io.Discard, h, func(v int) Data { return data[v] }), context.Canceled)
	h.Vars[1].Begin += 4
	require.ErrorContains(t, WriteFile(context.Background(), io.Discard, h, func(v int) Data { return data[v] }), "as Layout sets them")
	h.Version = 7
	require.ErrorContains(t, WriteFile(context.Background(), io.Discard, h, nil), "CDF-7")

	// The only record variable is not padded.
	h = &Header{Version: Data64, NumRecsField: 2, Dims: []Dim{{"t", 0}}, Vars: []Var{{Name: "r", Type: Byte, DimIDs: []int{0}}}}
	require.NoError(t, h.Layout())
	var b bytes.Buffer
	require.NoError(t, WriteFile(context.Background(), &b, h, func(v int) Data { return Data{} }))
	require.Equal(t, []byte{0x81, 0x81}, b.Bytes()[h.Len:])
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error)         { return 0, f.err }
func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }
