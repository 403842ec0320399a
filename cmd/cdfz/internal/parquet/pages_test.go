package parquet

import (
	"bytes"
	"hash/crc32"
	"testing"

	"github.com/klauspost/compress/zstd"
	gothrift "github.com/parquet-go/parquet-go/encoding/thrift" // thrift is a type here
	"github.com/parquet-go/parquet-go/format"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// TestClaims checks pages that claim more than they have, or than a file may have. Little memory is
// needed to find that out.
func TestClaims(t *testing.T) {
	enc, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	zeros := func(n int) []byte { return enc.EncodeAll(make([]byte, n), nil) }
	bomb := enc.EncodeAll(make([]byte, maxPage), bytes.Clone(zeros(maxPage))) // two frames
	data := format.DataPageHeader{NumValues: 1, Encoding: format.Plain, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE}
	page := func(stored []byte, raw int, d format.DataPageHeader) (*format.PageHeader, []byte) {
		h := &format.PageHeader{Type: format.DataPage, UncompressedPageSize: int32(raw), CompressedPageSize: int32(len(stored)), CRC: int32(crc32.ChecksumIEEE(stored))}
		h.DataPageHeader.Valid, h.DataPageHeader.V = true, d
		return h, stored
	}
	dict := func(stored []byte, raw, n int) (*format.PageHeader, []byte) {
		h := &format.PageHeader{Type: format.DictionaryPage, UncompressedPageSize: int32(raw), CompressedPageSize: int32(len(stored)), CRC: int32(crc32.ChecksumIEEE(stored))}
		h.DictionaryPageHeader.Valid, h.DictionaryPageHeader.V = true, format.DictionaryPageHeader{NumValues: int32(n), Encoding: format.Plain}
		return h, stored
	}
	for name, c := range map[string]struct {
		make func() (*format.PageHeader, []byte)
		want string
	}{
		"intact":           {func() (*format.PageHeader, []byte) { return page(zeros(100), 100, data) }, ""},
		"too many values":  {func() (*format.PageHeader, []byte) { d := data; d.NumValues = 1 << 30; return page(zeros(9), 9, d) }, "expected 1 to 1048576 values, found 1073741824"},
		"fewer than none":  {func() (*format.PageHeader, []byte) { d := data; d.NumValues = -1; return page(zeros(9), 9, d) }, "found -1"},
		"a long page":      {func() (*format.PageHeader, []byte) { return page(zeros(9), 1<<30, data) }, "expected at most 33554432 bytes"},
		"a short page":     {func() (*format.PageHeader, []byte) { return page(zeros(100), 101, data) }, "expected 101 bytes, found 100"},
		"a bomb":           {func() (*format.PageHeader, []byte) { return page(bomb, 100, data) }, "decompressed size exceeds"},
		"a bomb of 32 MiB": {func() (*format.PageHeader, []byte) { return page(zeros(maxPage), 100, data) }, "decompressed size exceeds"},
		"other levels": {func() (*format.PageHeader, []byte) {
			d := data
			d.DefinitionLevelEncoding = format.Plain
			return page(zeros(9), 9, d)
		}, "expected levels in RLE"},
		"another encoding": {func() (*format.PageHeader, []byte) {
			d := data
			d.Encoding = format.DeltaBinaryPacked
			return page(zeros(9), 9, d)
		}, "expected plain values"},
		"missing bytes": {func() (*format.PageHeader, []byte) {
			h, b := page(zeros(9), 9, data)
			h.CompressedPageSize = maxPage
			return h, b
		}, "expected 33554432 bytes, found 2"},
		"a page of indexes": {func() (*format.PageHeader, []byte) { return &format.PageHeader{Type: format.IndexPage}, nil }, "expected a page of version 1"},
		"missing texts":     {func() (*format.PageHeader, []byte) { return dict(zeros(8), 8, 3) }, "expected at least 12 bytes for 3 texts, found 8"},
		"a long text": {func() (*format.PageHeader, []byte) {
			b := enc.EncodeAll([]byte{255, 255, 255, 255}, nil)
			return dict(b, 4, 1)
		}, "text 0 of the dictionary: expected a text of at most 0 bytes, found 4294967295"},
		"a long header": {func() (*format.PageHeader, []byte) {
			d := data
			d.Statistics = format.Statistics{Min: make([]byte, MaxText), Max: make([]byte, MaxText), MinValue: make([]byte, MaxText), MaxValue: make([]byte, MaxText)}
			return page(zeros(100), 100, d)
		}, ""},
		"a longer header": {func() (*format.PageHeader, []byte) {
			d := data
			d.Statistics.Min = make([]byte, maxHead)
			return page(zeros(100), 100, d)
		}, "expected a text of 4259840 bytes"},
		"many texts": {func() (*format.PageHeader, []byte) { return dict(zeros(8), 8, 1<<30) }, "found 1073741824"},
	} {
		t.Run(name, func(t *testing.T) {
			h, stored := c.make()
			protocol := new(gothrift.CompactProtocol)
			b, err := gothrift.Marshal(protocol, h)
			require.NoError(t, err)
			b = append(b, stored...)
			data := append([]byte(magic), b...)
			column := columnReader{Column: &Column{Name: "v", Kind: Bytes}, f: &File{w: ioat.Window{R: bytes.NewReader(data), Size: int64(len(data))}}}
			column.begin(&chunk{codec: codecZstd, values: 1, data: int64(len(magic)), stored: int64(len(b))})
			n := allocated(func() { err = column.page() })
			require.LessOrEqual(t, n, uint64(3*maxPage))
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrDamaged)
			require.ErrorContains(t, err, c.want)
		})
	}
}
