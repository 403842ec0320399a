package parity

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/klauspost/reedsolomon"
)

// codes are the two Reed-Solomon codes of a layout: of the pieces of a group, and of the
// checksums of these pieces. It is safe for concurrent use. The codes are made when they
// are needed first, since their tables take 75 MB and a quarter of a second.
type codes struct {
	l    *Layout
	data func() (reedsolomon.Encoder, error)
	sums func() (reedsolomon.Encoder, error)
}

func newCodes(l *Layout) *codes {
	code := func(data, parity int64) func() (reedsolomon.Encoder, error) {
		return sync.OnceValues(func() (reedsolomon.Encoder, error) {
			c, err := reedsolomon.New(int(data), int(parity), reedsolomon.WithLeopardGF16(true))
			if err != nil {
				return nil, fmt.Errorf("archive: parity: %w", err)
			}
			return c, nil
		})
	}
	return &codes{l, code(l.Data, l.Parity), code(l.parts, l.Parity-l.parts)}
}

// table returns the checksums of the pieces in the bytes of a group, padded with zeros to
// the parts.
func (c *codes) table(group []byte) []byte {
	t := make([]byte, c.l.parts*c.l.partLen())
	for i := range c.l.Data {
		binary.LittleEndian.PutUint32(t[4*i:], pieceSum(c.l, group, i))
	}
	return t
}

// pieceSum is the checksum of a piece of a group.
func pieceSum(l *Layout, group []byte, i int64) uint32 {
	return crc32.ChecksumIEEE(group[i*l.Piece : (i+1)*l.Piece])
}

// sumIn returns the checksum of a piece in a table.
func sumIn(table []byte, i int64) uint32 { return binary.LittleEndian.Uint32(table[4*i:]) }

// parts returns the parts of the coded checksums, one for each record of a group.
func (c *codes) parts(table []byte) ([][]byte, error) {
	n := c.l.partLen()
	shards := make([][]byte, c.l.Parity)
	for i := range shards {
		if at := int64(i) * n; int64(i) < c.l.parts {
			shards[i] = table[at : at+n]
		} else {
			shards[i] = make([]byte, n)
		}
	}
	code, err := c.sums()
	if err == nil {
		err = code.Encode(shards)
	}
	if err != nil {
		return nil, fmt.Errorf("archive: parity: %w", err)
	}
	return shards, nil
}

// restoreTable returns the checksums of a group from at least as many parts as the layout
// has. Lost parts are nil.
func (c *codes) restoreTable(parts [][]byte) ([]byte, error) {
	if slices.ContainsFunc(parts[:c.l.parts], func(p []byte) bool { return p == nil }) {
		code, err := c.sums()
		if err == nil {
			err = code.ReconstructData(parts)
		}
		if err != nil {
			return nil, fmt.Errorf("archive: parity: %w", err)
		}
	}
	table := make([]byte, 0, c.l.parts*c.l.partLen())
	for _, p := range parts[:c.l.parts] {
		table = append(table, p...)
	}
	return table, nil
}

// shards returns the pieces in the bytes of a group.
func (c *codes) shards(group []byte) [][]byte {
	shards := make([][]byte, c.l.Data+c.l.Parity)
	for i := range c.l.Data {
		shards[i] = group[i*c.l.Piece : (i+1)*c.l.Piece : (i+1)*c.l.Piece]
	}
	return shards
}

// encode returns the parity pieces of a group.
func (c *codes) encode(group []byte) ([][]byte, error) {
	shards := c.shards(group)
	own := make([]byte, c.l.Parity*c.l.Piece)
	for i := range c.l.Parity {
		shards[c.l.Data+i] = own[i*c.l.Piece : (i+1)*c.l.Piece : (i+1)*c.l.Piece]
	}
	code, err := c.data()
	if err == nil {
		err = code.Encode(shards)
	}
	if err != nil {
		return nil, fmt.Errorf("archive: parity: %w", err)
	}
	return shards[c.l.Data:], nil
}

// restore recomputes the bad pieces of a group from its parity pieces. A lost parity piece
// is nil.
func (c *codes) restore(group []byte, bad func(i int64) bool, parity [][]byte) error {
	shards := c.shards(group)
	for i := range c.l.Data {
		if bad(i) {
			shards[i] = nil
		}
	}
	copy(shards[c.l.Data:], parity)
	code, err := c.data()
	if err == nil {
		err = code.ReconstructData(shards)
	}
	if err != nil {
		return fmt.Errorf("archive: parity: %w", err)
	}
	for i := range c.l.Data {
		if bad(i) {
			copy(group[i*c.l.Piece:], shards[i])
		}
	}
	return nil
}

// groupMemory is about the number of bytes that encoding a group takes.
func (l *Layout) groupMemory() int64 {
	return (l.Data+2*l.Parity+2*ceilPow2(l.Parity))*l.Piece + l.Parity*l.partLen()
}

// healMemory is about the number of bytes that healing a group takes. Decoding copies all
// pieces.
func (l *Layout) healMemory() int64 {
	return l.groupMemory() + ceilPow2(l.Data+ceilPow2(l.Parity))*l.Piece
}
