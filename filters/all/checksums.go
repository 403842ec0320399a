package all

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/adler32"
	"hash/crc32"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/all/internal/fletcher"
	"github.com/cdfz-format/cdfz/filters/internal/codecjson"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// checksums are the filters that add a checksum.
var checksums = []filters.Method{fletcherMethod, crc32Method, adler32Method}

// fletcherMethod is HDF5's fletcher32 (H5Zfletcher32.c, H5checksum.c): the data, then a
// checksum of four bytes, little-endian. It has no parameters.
var fletcherMethod = filters.Method{
	ID:            filters.Fletcher32,
	Name:          "fletcher32",
	New:           stateless(session{encode: addFletcher, decode: checkFletcher}),
	MaxEncodedLen: func(n int, _ []uint32) int { return wire.ClampLen(int64(n) + fletcherLen) },
	Output: func(_ []uint32, in filters.Block) filters.Block {
		if in.Len <= 0 {
			return filters.Block{Len: -1}
		}
		return filters.Block{Len: in.Len + fletcherLen}
	},
	Codec: bareCodec("fletcher32"),
}

const fletcherLen = 4

func addFletcher(dst, src []byte, _ []uint32) ([]byte, error) {
	dst = append(dst, src...)
	return binary.LittleEndian.AppendUint32(dst, fletcher.Sum(src)), nil
}

func checkFletcher(dst, src []byte, _ []uint32, max int) ([]byte, error) {
	n := len(src) - fletcherLen
	if n < 0 {
		return nil, wire.Damaged("fletcher32: expected at least %d bytes, found %d", fletcherLen, len(src))
	}
	if n > max {
		return nil, wire.TooLong("fletcher32", max, n)
	}
	want := fletcher.Sum(src[:n])
	found := binary.LittleEndian.Uint32(src[n:])
	// Releases of HDF5 before 1.6.3 stored the bytes of each half of the sum in reverse
	// order. Like H5Z__filter_fletcher32, accept both.
	if found != want && found != (want&0x00ff00ff<<8|want>>8&0x00ff00ff) {
		return nil, wire.Errorf(filters.ErrChecksum, "fletcher32: expected checksum 0x%08x, found 0x%08x", want, found)
	}
	dst, out := wire.Extend(dst, n)
	copy(out, src)
	return dst, nil
}

// crc32Method and adler32Method are numcodecs.CRC32 and Adler32: a checksum of four
// bytes, little-endian, before the data, or after it if the only parameter is 1.
var (
	crc32Method   = prefixMethod(filters.CRC32, "crc32", crc32.ChecksumIEEE)
	adler32Method = prefixMethod(filters.Adler32, "adler32", adler32.Checksum)
)

func prefixMethod(id uint32, name string, sum func([]byte) uint32) filters.Method {
	return filters.Method{
		ID:   id,
		Name: name,
		New: stateless(session{
			encode: func(dst, src []byte, params []uint32) ([]byte, error) {
				if sumAtEnd(params) {
					return binary.LittleEndian.AppendUint32(append(dst, src...), sum(src)), nil
				}
				return append(binary.LittleEndian.AppendUint32(dst, sum(src)), src...), nil
			},
			decode: func(dst, src []byte, params []uint32, max int) ([]byte, error) {
				n := len(src) - sumLen
				if n < 0 {
					return nil, wire.Damaged("%s: expected at least %d bytes, found %d", name, sumLen, len(src))
				}
				if n > max {
					return nil, wire.TooLong(name, max, n)
				}
				stored, data := src[:sumLen], src[sumLen:]
				if sumAtEnd(params) {
					data, stored = src[:n], src[n:]
				}
				if want, found := sum(data), binary.LittleEndian.Uint32(stored); found != want {
					return nil, wire.Errorf(filters.ErrChecksum, "%s: expected checksum 0x%08x, found 0x%08x", name, want, found)
				}
				return append(dst, data...), nil
			},
		}),
		Check: func(params []uint32) error {
			if len(params) > 1 || len(params) == 1 && params[0] > 1 {
				return wire.Errorf(filters.ErrParam, "%s: expected 0 or 1 as the only parameter, found %d", name, params)
			}
			return nil
		},
		MaxEncodedLen: func(n int, _ []uint32) int { return wire.ClampLen(int64(n) + sumLen) },
		Codec: &filters.Codec{
			ID: name,
			Params: func(text json.RawMessage) ([]uint32, error) {
				var v struct{ ID, Location string }
				if err := codecjson.Decode(text, &v); err != nil {
					return nil, err
				}
				switch v.Location {
				case "", "start":
					return nil, nil
				case "end":
					return []uint32{1}, nil
				}
				return nil, wire.Errorf(filters.ErrCodec, `codec %s: key "location": expected "start" or "end", found %q`, name, v.Location)
			},
			JSON: func(params []uint32, _ filters.Block) (json.RawMessage, error) {
				if sumAtEnd(params) { // since numcodecs 0.13
					return fmt.Appendf(nil, `{"id":"%s","location":"end"}`, name), nil
				}
				return fmt.Appendf(nil, `{"id":"%s"}`, name), nil
			},
		},
	}
}

const sumLen = 4

func sumAtEnd(params []uint32) bool { return len(params) > 0 && params[0] == 1 }
