// Package blockidx maps the number of a block to the place of its bytes in an archive. [NewTable] makes
// an index, and [NewReader] reads one: [Reader.Row] returns a place. The index is a paged binary table,
// described in docs/FORMAT.md, "The index". Pages have a fixed size, computed places and a checksum each.
// A reader loads only the pages it needs, and a table of 10^7 rows opens as fast as one of 10.
//
// Table builds and writes an index, Reader looks up rows. The package knows nothing
// about netCDF, filters or the container.
package blockidx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// The durable numbers of the format. They are part of version 1 and never change.
const (
	HeaderLen   = 32
	rowsPerPage = 256
	rowLen      = 20
	pageHead    = 8
	pageLen     = pageHead + rowsPerPage*rowLen
	magic       = "cdfzidx\x01"
)

// ErrCorrupt is wrapped by all errors that report damaged bytes.
var ErrCorrupt = errors.New("damaged index")

// Row is the place of one block's stored bytes.
type Row struct {
	Off  int64  // stored offset in bytes
	Len  int64  // stored length in bytes, below 2^32
	Mask uint32 // exclusion mask of the filter chain
	CRC  uint32 // CRC-32 (IEEE) of the stored bytes
}

// Size returns the length in bytes of an index with the given number of rows. It fails
// if no file can have that many.
func Size(rows int64) (int64, error) {
	if rows < 0 || rows > (math.MaxInt64-HeaderLen-pageLen)/(rowLen+1) {
		return 0, fmt.Errorf("blockidx: %d rows", rows)
	}
	pages := (rows + rowsPerPage - 1) / rowsPerPage
	return HeaderLen + pages*pageHead + rows*rowLen, nil
}

// pageRows returns the number of rows in page p of an index.
func pageRows(rows, p int64) int64 { return min(rowsPerPage, rows-p*rowsPerPage) }

// Header returns the encoded header, HeaderLen bytes, of an index with the given
// number of rows.
func Header(rows int64) []byte { return appendHeader(nil, rows) }

func appendHeader(dst []byte, rows int64) []byte {
	at := len(dst)
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(rows))
	dst = binary.LittleEndian.AppendUint32(dst, rowsPerPage)
	dst = binary.LittleEndian.AppendUint32(dst, rowLen)
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	return binary.LittleEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[at:]))
}

// parseHeader returns the number of rows.
func parseHeader(b []byte) (int64, error) {
	if len(b) < HeaderLen {
		return 0, fmt.Errorf("blockidx: expected a header of %d bytes, found %d: %w", HeaderLen, len(b), ErrCorrupt)
	}
	rows := binary.LittleEndian.Uint64(b[8:])
	if rows > math.MaxInt64 || string(appendHeader(nil, int64(rows))) != string(b[:HeaderLen]) {
		return 0, fmt.Errorf("blockidx: header %x: %w", b[:HeaderLen], ErrCorrupt)
	}
	return int64(rows), nil
}

func putRow(b []byte, r Row) {
	binary.LittleEndian.PutUint64(b, uint64(r.Off))
	binary.LittleEndian.PutUint32(b[8:], uint32(r.Len))
	binary.LittleEndian.PutUint32(b[12:], r.Mask)
	binary.LittleEndian.PutUint32(b[16:], r.CRC)
}

func getRow(b []byte) Row {
	return Row{
		Off:  int64(binary.LittleEndian.Uint64(b)),
		Len:  int64(binary.LittleEndian.Uint32(b[8:])),
		Mask: binary.LittleEndian.Uint32(b[12:]),
		CRC:  binary.LittleEndian.Uint32(b[16:]),
	}
}

// sealPage fills in the head of page p, whose rows are in place.
func sealPage(page []byte, p int64) {
	binary.LittleEndian.PutUint32(page[4:], uint32(p))
	binary.LittleEndian.PutUint32(page, crc32.ChecksumIEEE(page[4:]))
}

// checkPage verifies the head of page p.
func checkPage(page []byte, p int64) error {
	if got := binary.LittleEndian.Uint32(page[4:]); got != uint32(p) {
		return fmt.Errorf("blockidx: page %d has number %d: %w", p, got, ErrCorrupt)
	}
	want, got := binary.LittleEndian.Uint32(page), crc32.ChecksumIEEE(page[4:])
	if want != got {
		return fmt.Errorf("blockidx: page %d: expected checksum %08x, found %08x: %w", p, want, got, ErrCorrupt)
	}
	return nil
}
