package cataloguefile

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// checkFooter checks the end of a file before parquet-go reads it. A catalogue ends with its metadata, their
// length in 4 bytes, and PAR1.
//
// https://parquet.apache.org/docs/file-format/
func checkFooter(r io.ReaderAt, size int64) error {
	const magic = "PAR1"
	var head [4]byte
	var end [8]byte
	if size < int64(len(head)+len(end)) {
		return &notCatalogue{fmt.Sprintf("a file of %d bytes", size)}
	}
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return err
	}
	if string(head[:]) != magic {
		return &notCatalogue{fmt.Sprintf("a file that begins with % x", head)}
	}
	if err := readFull(r, end[:], size-int64(len(end))); err != nil {
		return err
	}
	if string(end[4:]) != magic {
		return damage("expected %s at the end, found % x: the file is cut off", magic, end[4:])
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	if most := min(size-12, maxFooter); n > most {
		return damage("expected at most %d bytes of metadata, found %d", most, n)
	}
	meta := make([]byte, n)
	if err := readFull(r, meta, size-int64(len(end))-n); err != nil {
		return err
	}
	const rowGroups = 4 // field of FileMetaData
	used, err := thriftLen(meta, map[int64]int64{rowGroups: maxGroups})
	if err != nil {
		return err
	}
	if used < len(meta) {
		return damage("expected the end of the metadata, found %d bytes", len(meta)-used)
	}
	return nil
}

// readFull reads all of p. The file is long enough.
func readFull(r io.ReaderAt, p []byte, off int64) error {
	if n, err := r.ReadAt(p, off); n < len(p) {
		return err
	}
	return nil
}

// checkMeta checks the claims of the metadata.
func checkMeta(m *format.FileMetaData, size int64) error {
	if len(m.RowGroups) > maxGroups {
		return damage("expected at most %d row groups, found %d", maxGroups, len(m.RowGroups))
	}
	rows := int64(0)
	for i := range m.RowGroups {
		g := &m.RowGroups[i]
		if g.NumRows < 0 || g.NumRows > maxValues {
			return damage("row group %d: expected at most %d rows, found %d", i, maxValues, g.NumRows)
		}
		rows += g.NumRows
		for k := range g.Columns {
			c := &g.Columns[k].MetaData
			if c.NumValues < 0 || c.NumValues > maxChunk {
				return damage("row group %d, column %d: expected at most %d values, found %d", i, k, maxChunk, c.NumValues)
			}
			start := chunkStart(c)
			if start < 4 || c.TotalCompressedSize < 0 || start > size-8 || c.TotalCompressedSize > size-8-start {
				return damage("row group %d, column %d: expected bytes of the file, found %d at byte %d", i, k, c.TotalCompressedSize, start)
			}
		}
	}
	if rows != m.NumRows {
		return damage("expected %d rows, found %d in the row groups", m.NumRows, rows)
	}
	return nil
}

// chunkStart returns where the pages of a column begin.
func chunkStart(c *format.ColumnMetaData) int64 {
	if c.DictionaryPageOffset > 0 {
		return min(c.DictionaryPageOffset, c.DataPageOffset)
	}
	return c.DataPageOffset
}

// pageChecker walks the pages of columns and checks what parquet-go takes for granted: that a page has the
// bytes that it claims, and few enough values.
type pageChecker struct {
	r   io.ReaderAt
	dec *zstd.Decoder
	buf []byte // a stored page
	out []byte // the same, decompressed
}

func newPageChecker(r io.ReaderAt) (*pageChecker, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxPage))
	if err != nil {
		return nil, err
	}
	return &pageChecker{r: r, dec: dec}, nil
}

// group checks the pages of a row group.
func (p *pageChecker) group(g *format.RowGroup) error {
	for k := range g.Columns {
		if err := p.chunk(&g.Columns[k].MetaData); err != nil {
			return fmt.Errorf("column %d: %w", k, err)
		}
	}
	return nil
}

// chunk checks the pages of a column. Its place has been checked.
func (p *pageChecker) chunk(c *format.ColumnMetaData) error {
	if c.Codec != format.Zstd && c.Codec != format.Uncompressed {
		return damage("expected pages compressed with zstd, found %s", c.Codec)
	}
	b := bufio.NewReaderSize(io.NewSectionReader(p.r, chunkStart(c), c.TotalCompressedSize), usualHead)
	values := int64(0)
	for n := 0; values < c.NumValues; n++ {
		h, err := readHead(&b)
		if err != nil {
			return fmt.Errorf("page %d: %w", n, err)
		}
		count, isDict, err := checkPage(h)
		if err != nil {
			return fmt.Errorf("page %d: %w", n, err)
		}
		if isDict && n > 0 {
			return damage("page %d: expected values, found another dictionary", n)
		}
		raw, err := p.read(b, h, c.Codec)
		if err != nil {
			return fmt.Errorf("page %d: %w", n, err)
		}
		if isDict {
			if err := checkDictionary(raw, count, c.Type); err != nil {
				return err
			}
			continue
		}
		values += count
	}
	if values != c.NumValues {
		return damage("expected %d values, found %d", c.NumValues, values)
	}
	return nil
}

// Bounds of the header of a page in bytes. A header has up to four texts, the least and the greatest of the
// page, each in an old and a new field. Most headers have less than 100 bytes.
const (
	usualHead = 1 << 16
	maxHead   = 4*maxText + usualHead
)

// readHead reads the header of a page from *b, which it replaces for a long one.
func readHead(b **bufio.Reader) (*format.PageHeader, error) {
	head, err := (*b).Peek(usualHead)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	n, err := thriftLen(head, nil)
	if err != nil && len(head) == usualHead {
		*b = bufio.NewReaderSize(*b, maxHead)
		if head, err = (*b).Peek(maxHead); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		n, err = thriftLen(head, nil)
	}
	if err != nil {
		return nil, err
	}
	h := new(format.PageHeader)
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), head[:n], h); err != nil {
		return nil, damage("%v", err)
	}
	_, err = (*b).Discard(n)
	return h, err
}

// checkPage checks the header of a page, and returns the number of its values.
func checkPage(h *format.PageHeader) (count int64, isDict bool, err error) {
	var enc format.Encoding
	switch {
	case h.Type == format.DataPage && h.DataPageHeader.Valid:
		d := &h.DataPageHeader.V
		count, enc = int64(d.NumValues), d.Encoding
		for _, level := range []format.Encoding{d.DefinitionLevelEncoding, d.RepetitionLevelEncoding} {
			if level != format.RLE && level != format.BitPacked {
				return 0, false, damage("expected levels in RLE, found %s", level)
			}
		}
		if enc != format.Plain && enc != format.RLE && enc != format.RLEDictionary {
			return 0, false, damage("expected plain values or indices of a dictionary, found %s", enc)
		}
	case h.Type == format.DictionaryPage && h.DictionaryPageHeader.Valid:
		count, enc, isDict = int64(h.DictionaryPageHeader.V.NumValues), h.DictionaryPageHeader.V.Encoding, true
		if enc != format.Plain {
			return 0, false, damage("expected a plain dictionary, found %s", enc)
		}
	default:
		return 0, false, damage("expected a page of version 1 or a dictionary, found %s", h.Type)
	}
	if count < 0 || count > maxValues || count == 0 && !isDict {
		return 0, false, damage("expected 1 to %d values, found %d", maxValues, count)
	}
	if h.CompressedPageSize < 0 || h.CompressedPageSize > maxPage || h.UncompressedPageSize < 0 || h.UncompressedPageSize > maxPage {
		return 0, false, damage("expected at most %d bytes, found %d, and %d decompressed", maxPage, h.CompressedPageSize, h.UncompressedPageSize)
	}
	return count, isDict, nil
}

// read returns the bytes of a page, valid until the next call.
func (p *pageChecker) read(b *bufio.Reader, h *format.PageHeader, codec format.CompressionCodec) ([]byte, error) {
	n := int(h.CompressedPageSize)
	if cap(p.buf) < n {
		// The bytes may be missing: they are read in pieces before as many are allocated.
		p.buf = make([]byte, 0, min(n, 1<<20))
	}
	p.buf = p.buf[:0]
	for len(p.buf) < n {
		at := len(p.buf)
		p.buf = append(p.buf, make([]byte, min(n-at, 1<<20))...)
		if _, err := io.ReadFull(b, p.buf[at:]); err != nil {
			return nil, damage("expected %d bytes: %v", n, err)
		}
	}
	// parquet-go does not look at the checksum of a dictionary.
	if found := crc32.ChecksumIEEE(p.buf); found != uint32(h.CRC) {
		return nil, damage("expected CRC-32 %08x, found %08x", uint32(h.CRC), found)
	}
	raw := p.buf
	if codec == format.Zstd {
		var err error
		if raw, err = p.dec.DecodeAll(p.buf, p.out[:0]); err != nil {
			return nil, damage("%v", err)
		}
		p.out = raw
	}
	if len(raw) != int(h.UncompressedPageSize) {
		return nil, damage("expected %d bytes, found %d", h.UncompressedPageSize, len(raw))
	}
	return raw, nil
}

// checkDictionary checks that a dictionary has as many values as it claims, none longer than maxText.
func checkDictionary(raw []byte, count int64, t format.Type) error {
	if t != format.ByteArray {
		return damage("expected a dictionary of texts, found one of %s", t)
	}
	for i := range count {
		if len(raw) < 4 {
			return damage("text %d of the dictionary is missing", i)
		}
		n := int64(binary.LittleEndian.Uint32(raw))
		if most := min(int64(len(raw)-4), maxText); n > most {
			return damage("text %d of the dictionary: expected at most %d bytes, found %d", i, most, n)
		}
		raw = raw[4+n:]
	}
	return nil
}
