package blosc

import (
	"github.com/golang/snappy"
	lz4lib "github.com/pierrec/lz4/v4"

	"github.com/cdfz-format/cdfz/filters/all/internal/lz4"
	"github.com/cdfz-format/cdfz/filters/internal/deflate"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
	"github.com/cdfz-format/cdfz/filters/internal/zstd"
)

// format returns the number of the compressor's format in the header (blosc.h). LZ4HC
// writes LZ4.
func (c Codec) format() int {
	return []int{BloscLZ: 0, LZ4: 1, LZ4HC: 1, Snappy: 2, Zlib: 3, Zstd: 4}[c]
}

// codecOf returns a compressor that reads a format.
func codecOf(format int) (Codec, bool) {
	all := []Codec{BloscLZ, LZ4, Snappy, Zlib, Zstd}
	if format >= len(all) {
		return 0, false
	}
	return all[format], true
}

// streams holds the compressors.
type streams struct {
	lz   lzTable
	lz4  lz4.Table
	hc   *lz4lib.CompressorHC
	zlib deflate.State
	zstd zstd.State
}

// compress appends the compressed src to dst.
func (s *streams) compress(dst, src []byte, p Params) ([]byte, error) {
	switch p.Codec {
	case LZ4: // the acceleration is c-blosc's
		return lz4.CompressFast(dst, src, &s.lz4, 10-p.Level), nil
	case LZ4HC:
		return s.compressHC(dst, src, p.Level)
	case Snappy:
		dst, out := wire.Extend(dst, snappy.MaxEncodedLen(len(src)))
		return dst[:len(dst)-len(out)+len(snappy.Encode(out, src))], nil
	case Zlib:
		return s.zlib.Encode(dst, src, p.Level)
	case Zstd: // the levels are c-blosc's
		level := 2*p.Level - 1
		switch p.Level {
		case 8:
			level = zstd.MaxLevel - 2
		case 9:
			level = zstd.MaxLevel
		}
		return s.zstd.Encode(dst, src, level, 0)
	}
	return encodeLZ(dst, src, &s.lz), nil
}

func (s *streams) compressHC(dst, src []byte, level int) ([]byte, error) {
	if s.hc == nil {
		s.hc = new(lz4lib.CompressorHC)
	}
	s.hc.Level = lz4lib.CompressionLevel(1 << (8 + level))
	dst, out := wire.Extend(dst, lz4lib.CompressBlockBound(len(src)))
	n, err := s.hc.CompressBlock(src, out)
	if err != nil {
		return nil, wire.Causef(wire.ErrDamaged, err, "blosc")
	}
	if n == 0 { // incompressible: the caller then stores src itself
		n = len(src)
	}
	return dst[:len(dst)-len(out)+n], nil
}

// expand fills dst with the decompressed src.
func (s *streams) expand(dst, src []byte, c Codec) error {
	var n int
	var out []byte
	var err error
	switch c {
	case BloscLZ:
		return decodeLZ(dst, src)
	case LZ4:
		if err := lz4.Expand(dst, src); err != nil {
			return wire.Causef(wire.ErrDamaged, err, "blosc")
		}
		return nil
	case Snappy:
		if n, err = snappy.DecodedLen(src); err == nil && n != len(dst) {
			return wire.Damaged("blosc: expected a stream that decodes to %d bytes, found %d", len(dst), n)
		}
		if err == nil {
			out, err = snappy.Decode(dst, src)
		}
	case Zlib:
		if out, err = s.zlib.Decode(dst[:0:len(dst)], src, len(dst)); err != nil {
			return err
		}
	case Zstd:
		if out, err = s.zstd.Decode(dst[:0:len(dst)], src, len(dst)); err != nil {
			return err
		}
	}
	if err != nil {
		return wire.Causef(wire.ErrDamaged, err, "blosc")
	}
	if len(out) != len(dst) {
		return wire.Damaged("blosc: expected a stream that decodes to %d bytes, found %d", len(dst), len(out))
	}
	if len(dst) > 0 && &out[0] != &dst[0] {
		copy(dst, out)
	}
	return nil
}
