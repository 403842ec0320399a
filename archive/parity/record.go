package parity

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
)

// recordMagic begins each record. It is part of the format and never changes.
const recordMagic = "cdfzpar\x01"

// appendHead appends the first bytes of record n.
func (l *Layout) appendHead(b []byte, n int64) []byte {
	le := binary.LittleEndian
	b = append(b, recordMagic...)
	b = le.AppendUint64(b, uint64(l.Size))
	b = le.AppendUint64(b, uint64(l.Off))
	b = le.AppendUint64(b, uint64(n))
	for _, v := range []int64{l.Piece, l.perStripe, l.Groups, l.Data, l.Parity, l.parts, l.Share.units()} {
		b = le.AppendUint32(b, uint32(v))
	}
	return b
}

// appendRecord appends record n with its part of the coded checksums and its piece.
func (l *Layout) appendRecord(b []byte, n int64, part, piece []byte) []byte {
	start := len(b)
	b = l.appendHead(b, n)
	b = append(b, part...)
	b = append(b, piece...)
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b[start:]))
}

// seal sets the checksum of a record.
func seal(b []byte) {
	n := len(b) - crcLen
	binary.LittleEndian.PutUint32(b[n:], crc32.ChecksumIEEE(b[:n]))
}

// parseHead parses the first bytes of a record and checks its numbers.
func parseHead(b []byte) (l Layout, n int64, err error) {
	le := binary.LittleEndian
	if len(b) < headLen || string(b[:len(recordMagic)]) != recordMagic {
		return l, 0, fault.Corruptf("parity: expected a record, found %q", b[:min(len(b), len(recordMagic))])
	}
	l.Size, l.Off, n = int64(le.Uint64(b[8:])), int64(le.Uint64(b[16:])), int64(le.Uint64(b[24:]))
	var share int64
	for i, p := range []*int64{&l.Piece, &l.perStripe, &l.Groups, &l.Data, &l.Parity, &l.parts, &share} {
		*p = int64(le.Uint32(b[32+4*i:]))
	}
	l.Share = shareOf(share)
	if err := l.check(); err != nil {
		return l, 0, err
	}
	if n < 0 || n >= l.records() {
		return l, 0, impossible("record number", n)
	}
	return l, n, nil
}

// split returns part and piece of record n, or false if the record is damaged.
func (l *Layout) split(b []byte, n int64) (part, piece []byte, ok bool) {
	end := len(b) - crcLen
	if !bytes.Equal(b[:headLen], l.appendHead(nil, n)) || crc32.ChecksumIEEE(b[:end]) != binary.LittleEndian.Uint32(b[end:]) {
		return nil, nil, false
	}
	at := headLen + l.partLen()
	return b[headLen:at], b[at:end], true
}

// sum is the checksum of the entry. A CRC-32 that follows the bytes it was computed from
// makes the checksum of both a constant, so the contents of records do not matter.
func (l *Layout) sum(ctx context.Context) (uint32, error) {
	b := make([]byte, l.recordLen())
	seal(b)
	crc := uint32(0)
	for range l.records() {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		crc = crc32.Update(crc, crc32.IEEETable, b)
	}
	return crc, nil
}
