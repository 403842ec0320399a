package hostproto

import (
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/seeds"
)

var requests = map[string]*Request{
	"load":   {Op: Load, Text: "/usr/lib/libx.so"},
	"filter": {Op: Filter, Lib: 3, Decode: true, Check: true, Params: []uint32{1, 2, 1 << 31}, Len: 1 << 40, MaxLen: 7},
	"local":  {Op: SetLocal, Params: []uint32{5}, Block: Block{Kind: 3, Size: 8, LittleEndian: true, Shape: []uint32{4, 4}}},
	"codec":  {Op: ToHDF5, Codec: 2, Text: `{"id":"x"}`},
}

var replies = map[string]*Reply{
	"hello":  {Len: Version},
	"failed": {Status: Failed, Text: "returned 0", Worn: true},
	"library": {Library: Library{Filter: &FilterClass{ID: 32013, Name: "H5Z-ZFP", Encodes: true, Decodes: true, SetLocal: true},
		Codecs: []CodecClass{{ID: "zfpy", Filter: 32013, Modify: true}, {Default: true}}, Note: "half"}},
	"ignored": {Library: Library{Ignored: "no H5PLget_plugin_type"}},
	"params":  {Params: []uint32{2, 2, 4, 4096}, Text: "{}"},
}

func TestMessages(t *testing.T) {
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close() })
	host, ours := NewConn(a), NewConn(b)
	for name, r := range requests {
		go func() { _ = ours.Send(r) }()
		got, err := host.ReceiveRequest()
		require.NoError(t, err)
		require.Equal(t, r, got, name)
	}
	for name, r := range replies {
		go func() { _ = host.Send(r) }()
		got, err := ours.ReceiveReply()
		require.NoError(t, err)
		require.Equal(t, r, got, name)
	}
	require.ErrorIs(t, ours.Send(&Request{Op: Load, Text: string(make([]byte, MaxMessage))}), ErrMessage)
	b.Close()
	_, err := host.ReceiveRequest()
	require.ErrorIs(t, err, io.EOF)
	_, err = NewConn(bytes.NewBuffer([]byte{0, 0, 0, 64})).ReceiveReply()
	require.ErrorIs(t, err, ErrMessage)
	_, err = NewConn(bytes.NewBuffer([]byte{8, 0, 0, 0, 1})).ReceiveReply()
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// FuzzMessages checks that what is accepted is written in the same way.
func FuzzMessages(f *testing.F) {
	s := seeds.Of(f)
	for name, r := range requests {
		s.AddDamaged("request-"+name, r.Append(nil))
	}
	for name, r := range replies {
		s.AddDamaged("reply-"+name, r.Append(nil))
	}
	s.Add("count", []byte("\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := ParseRequest(b); err == nil {
			require.Equal(t, b, r.Append(nil))
		} else {
			require.ErrorIs(t, err, ErrMessage)
		}
		if r, err := ParseReply(b); err == nil {
			require.Equal(t, b, r.Append(nil))
		} else {
			require.ErrorIs(t, err, ErrMessage)
		}
	})
}
