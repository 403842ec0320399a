// Package lzma codes blocks in the formats of numcodecs' lzma: .xz files, .lzma files
// ("alone") and bare LZMA2 streams. LZMA itself comes from a library. The containers are
// read here, because a dictionary need not be larger than a block, whatever a header
// claims.
package lzma

import (
	"bytes"
	"encoding/binary"

	lib "github.com/ulikunitz/xz/lzma"

	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// Encode appends the encoded src to dst.
func Encode(dst, src []byte, p Params) ([]byte, error) {
	if p.Dict > 0 && p.Dict < MinDict {
		return nil, wire.Errorf(wire.ErrParam, "lzma: expected a dictionary of at least %d bytes, found %d", MinDict, p.Dict)
	}
	out := bytes.NewBuffer(dst)
	switch p.Format {
	case Alone:
		w, err := lib.WriterConfig{DictCap: p.dict(len(src)), SizeInHeader: true, Size: int64(len(src))}.NewWriter(out)
		if err == nil {
			_, err = w.Write(src)
		}
		if err == nil {
			err = w.Close()
		}
		return out.Bytes(), err
	case Raw:
		err := p.lzma2(out, src)
		return out.Bytes(), err
	}
	err := p.writeXZ(out, src)
	return out.Bytes(), err
}

// Decode appends the decoded src to dst, at most max bytes.
func Decode(dst, src []byte, p Params, max int) ([]byte, error) {
	switch p.Format {
	case Alone:
		return decodeAlone(dst, src, max)
	case Raw:
		at := len(dst)
		dst, rest, err := decode2(dst, src, max)
		if err != nil {
			return nil, err
		}
		if len(rest) > 0 {
			return nil, wire.Damaged("lzma: %d bytes after the stream", len(rest))
		}
		undelta(dst[at:], p.Deltas)
		return dst, nil
	}
	return readXZ(dst, src, max)
}

// Header of .lzma files: properties, size of the dictionary, length, little-endian.
const (
	aloneHeader = 13
	dictAt      = 1
	lenAt       = 5
	unknownLen  = 1<<64 - 1
	aloneEmpty  = aloneHeader + 11 // the most bytes of an empty file: the range coder's five, and an end marker
)

func decodeAlone(dst, src []byte, max int) ([]byte, error) {
	if len(src) < aloneHeader {
		return nil, wire.Damaged("lzma: expected a header of %d bytes, found %d", aloneHeader, len(src))
	}
	if err := checkProperties(src[0]); err != nil {
		return nil, err
	}
	if n := binary.LittleEndian.Uint64(src[lenAt:]); n != unknownLen && n > uint64(max) {
		return nil, wire.TooLong("lzma", max, n)
	}
	var head [aloneHeader]byte
	copy(head[:], src)
	limit := clampDict(max)
	binary.LittleEndian.PutUint32(head[dictAt:], min(binary.LittleEndian.Uint32(head[dictAt:]), uint32(limit)))
	in := &source{head: head[:], rest: bytes.NewReader(src[aloneHeader:])}
	r, err := lib.ReaderConfig{DictCap: limit}.NewReader(in)
	if err != nil {
		return nil, wire.Causef(wire.ErrDamaged, err, "lzma")
	}
	start := len(dst)
	if dst, err = readAll(dst, r, max, len(src)); err != nil {
		return nil, err
	}
	if in.ended && len(dst) > start || in.rest.Len() > 0 || len(dst) == start && len(src) > aloneEmpty {
		return nil, wire.Damaged("lzma: expected the end of the stream, found %d more bytes", in.rest.Len())
	}
	return dst, nil
}
