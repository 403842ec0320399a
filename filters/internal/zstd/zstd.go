// Package zstd codes blocks as single Zstandard frames (RFC 8878) with a content size and
// without a checksum or dictionary.
package zstd

import (
	"math/bits"

	"github.com/klauspost/compress/zstd"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

const (
	Default   = 3          // ZSTD_CLEVEL_DEFAULT of zstd.h, also the meaning of 0
	MaxLevel  = 22         // ZSTD_MAX_CLEVEL of zstd.h
	MinLevel  = -(1 << 17) // ZSTD_minCLevel of zstd.h
	minPlane  = 1 << 10    // for less, the tables of a block cost more than they save
	maxWindow = 8 << 20    // longest distance of a match
	// anyWindow is the longest possible window (RFC 8878 3.1.1.1.2). The decoded
	// bytes serve as the window, so it costs no memory.
	anyWindow = 1<<41 + 7<<38
)

// Slack is more than the library may write beyond a block. Decode is faster with this room
// after the result.
const Slack = 64

// State encodes and decodes blocks, for one goroutine at a time. The zero value is ready.
type State struct {
	enc [zstd.SpeedBestCompression + 1]encoder // by level of the library
	dec *zstd.Decoder
	out wire.Sink
}

// encoder is an encoder and its window.
type encoder struct {
	*zstd.Encoder
	window int
}

// encoder returns an encoder for blocks of n bytes. A window longer than the block has
// no advantage. So the output depends only on n, and the encoder's memory stays near
// the length of the block.
func (s *State) encoder(n, level int) (*zstd.Encoder, error) {
	if level == 0 {
		level = Default
	}
	speed := zstd.EncoderLevelFromZstd(level)
	window := 1 << bits.Len(uint(min(max(n, maxBlock), maxWindow-1)))
	e := &s.enc[speed]
	if e.Encoder != nil && e.window >= window {
		return e.Encoder, nil
	}
	// The level must come first: it sets the size of zstd blocks, which the window must
	// not override.
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(speed), zstd.WithWindowSize(window),
		zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithSingleSegment(true), zstd.WithZeroFrames(true))
	if err != nil {
		return nil, wire.Causef(wire.ErrParam, err, "zstd: level %s", speed)
	}
	*e = encoder{enc, window}
	return enc, nil
}

// Encode appends the frame of src to dst. The level is that of zstd. If row is not 0, src
// consists of rows of so many bytes with different statistics.
func (s *State) Encode(dst, src []byte, level, row int) ([]byte, error) {
	enc, err := s.encoder(len(src), level)
	if err != nil {
		return nil, err
	}
	if row >= minPlane && row < len(src) {
		return s.encodeRows(enc, dst, src, row)
	}
	return enc.EncodeAll(src, dst), nil
}

// encodeRows ends a zstd block after each row of n bytes. Rows are the byte planes made
// by shuffle, whose statistics differ. With separate tables, files get 1 to 11 %
// smaller.
func (s *State) encodeRows(enc *zstd.Encoder, dst, src []byte, n int) ([]byte, error) {
	at := len(dst)
	s.out.Buf = dst
	defer func() { s.out.Buf = nil }()
	enc.ResetContentSize(&s.out, int64(len(src)))
	for rest := src; len(rest) > 0; rest = rest[n:] {
		if _, err := enc.Write(rest[:n]); err != nil {
			return nil, wire.Causef(wire.ErrDamaged, err, "zstd")
		}
		if len(rest) == n {
			break
		}
		if err := enc.Flush(); err != nil {
			return nil, wire.Causef(wire.ErrDamaged, err, "zstd")
		}
	}
	if err := enc.Close(); err != nil {
		return nil, wire.Causef(wire.ErrDamaged, err, "zstd")
	}
	return singleSegment(s.out.Buf, at), nil
}

// Decode appends the decoded src to dst, at most max bytes.
func (s *State) Decode(dst, src []byte, max int) ([]byte, error) {
	size, err := frame(src)
	if err != nil {
		return nil, err
	}
	if size > uint64(max) {
		return nil, wire.TooLong("zstd", max, size)
	}
	if s.dec == nil {
		s.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true),
			zstd.WithDecoderMaxWindow(anyWindow), zstd.WithDecoderMaxMemory(1<<63))
		if err != nil {
			return nil, wire.Causef(wire.ErrDamaged, err, "zstd")
		}
	}
	at, n := len(dst), int(size)
	if cap(dst)-at < n {
		dst = wire.Grow(dst, n+Slack)
	}
	// The library copies faster if it may write beyond the end. The caller's memory for
	// a block has no room there, but scratch memory has.
	room := dst[at:at:min(cap(dst), at+n+Slack)]
	out, err := s.dec.DecodeAll(src, room)
	if err == zstd.ErrDecoderSizeExceeded || err == nil && len(out) > n {
		return nil, wire.Errorf(wire.ErrDecodedSize, "zstd: expected at most %d bytes, found more", n)
	}
	if err != nil {
		return nil, wire.Causef(wire.ErrDamaged, err, "zstd")
	}
	return dst[:at+len(out)], nil
}
