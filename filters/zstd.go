package filters

import (
	"encoding/json"

	"github.com/cdfz-format/cdfz/filters/internal/codecjson"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
	"github.com/cdfz-format/cdfz/filters/internal/zstd"
)

// zstdMethod is the zstd filter of the HDF5 plugins (ZSTD/src/H5Zzstd.c): one zstd
// frame (RFC 8878). Its parameter is the level, a signed number, by default 3. HDF5 and
// Zarr both need the content size, so frames always contain it. They never have a
// checksum or dictionary. Frames written by this package are a single segment.
// Incompressible data goes into raw blocks, 3 bytes each.
var zstdMethod = Method{
	ID:         Zstd,
	Name:       "zstd",
	New:        func() Session { return new(zstdSession) },
	Check:      wire.LevelCheck("zstd", zstd.MinLevel, zstd.MaxLevel, true),
	Defaults:   []uint32{zstd.Default},
	Compresses: true,
	// ZSTD_COMPRESSBOUND of zstd.h with a margin for encoders that end blocks often.
	MaxEncodedLen: func(n int, _ []uint32) int { return wire.ClampLen(int64(n) + int64(n)>>7 + 1024) },
	Memory:        func(int, []uint32) int64 { return 1 << 20 },
	Codec: &Codec{
		ID:     "zstd",
		Params: zstdCodecParams,
		JSON: func(params []uint32, _ Block) (json.RawMessage, error) {
			return codecjson.LevelJSON("zstd", params, zstd.Default), nil
		},
	},
}

// zstdCodecParams parses a codec. The key "checksum" exists since numcodecs 0.13.
func zstdCodecParams(text json.RawMessage) ([]uint32, error) {
	var v struct {
		ID       string
		Level    codecjson.Integer
		Checksum bool
	}
	if err := codecjson.Decode(text, &v); err != nil {
		return nil, err
	}
	if v.Checksum {
		return nil, errorf(ErrNoCodec, `codec zstd: key "checksum": no filter writes one`)
	}
	return []uint32{v.Level.Or(0)}, nil
}

type zstdSession struct{ zstd.State }

func (s *zstdSession) Encode(dst, src []byte, params []uint32, in Block) ([]byte, error) {
	row := 0
	if in.Size == 1 && len(in.Shape) == 2 {
		row = in.Shape[1] // the planes of shuffle
	}
	return s.State.Encode(dst, src, wire.LevelOr(params, 0), row)
}

func (s *zstdSession) Decode(dst, src []byte, _ []uint32, max int) ([]byte, error) {
	return s.State.Decode(dst, src, max)
}
