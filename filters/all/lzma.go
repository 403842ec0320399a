package all

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/all/internal/lzma"
	"github.com/cdfz-format/cdfz/filters/internal/codecjson"
	"github.com/cdfz-format/cdfz/filters/internal/wire"
)

// lzmaMethod is numcodecs.LZMA, which is Python's module lzma. Its parameters are the
// format (1 .xz, 2 .lzma, 3 a bare LZMA2 stream), the checksum of .xz files (0 none, 1
// CRC-32, 4 CRC-64, 10 SHA-256, -1 Python's default, CRC-64), the size of the dictionary, and
// up to three distances of delta filters. Users may leave all of them out: then they are 1, 4,
// 0. The size may be 0 for 8 MiB, or 1 plus a preset ([lzmaPreset]) for its size.
var lzmaMethod = filters.Method{
	ID:         filters.LZMA,
	Name:       "lzma",
	Defaults:   lzmaDefaults,
	Compresses: true,
	New: stateless(session{
		encode: func(dst, src []byte, params []uint32) ([]byte, error) {
			return lzma.Encode(dst, src, lzmaParams(params))
		},
		decode: func(dst, src []byte, params []uint32, max int) ([]byte, error) {
			return lzma.Decode(dst, src, lzmaParams(params), max)
		},
	}),
	Check: checkLZMA,
	// LZMA2 stores 64 KiB that it cannot shorten in 3 bytes more. LZMA has no such form, and
	// its range coder adds a few percent.
	MaxEncodedLen: func(n int, _ []uint32) int { return wire.ClampLen(int64(n) + int64(n)>>4 + 1024) },
	// The dictionary, which is no larger than the block, and 1 MiB for the tables.
	Memory: func(n int, _ []uint32) int64 { return 2*int64(n) + 2<<20 },
	Codec:  &filters.Codec{ID: "lzma", Params: lzmaCodecParams, JSON: lzmaCodecJSON},
}

var lzmaDefaults = []uint32{uint32(lzma.XZ), uint32(lzma.CRC64), 0}

func lzmaParams(params []uint32) lzma.Params {
	if len(params) == 0 {
		params = lzmaDefaults
	}
	p := lzma.Params{Format: lzma.Format(params[0]), Check: lzma.Check(params[1]), Dict: int(min(params[2], math.MaxInt32))}
	if params[1] == lzmaAnyCheck {
		p.Check = lzma.CRC64
	}
	if preset := lzmaPreset(params); preset != nil {
		p.Dict = int(lzmaPresets[*preset&^lzmaExtreme])
	}
	for _, d := range params[3:] {
		p.Deltas = append(p.Deltas, int(d))
	}
	return p
}

func checkLZMA(params []uint32) error {
	switch {
	case len(params) == 0:
		return nil
	case len(params) < 3 || len(params) > 3+lzma.MaxDeltas:
		return wire.Errorf(filters.ErrParam, "lzma: expected none or 3 to %d parameters, found %d", 3+lzma.MaxDeltas, len(params))
	}
	p := lzmaParams(params)
	switch p.Format {
	case lzma.XZ, lzma.Raw:
	case lzma.Alone:
		if len(p.Deltas) > 0 {
			return wire.Errorf(filters.ErrParam, "lzma: expected no delta filters in format 2, found %d", len(p.Deltas))
		}
	default:
		return wire.Errorf(filters.ErrParam, "lzma: expected format 1, 2 or 3, found %d", p.Format)
	}
	switch p.Check {
	case lzma.None, lzma.CRC32, lzma.CRC64, lzma.SHA256:
	default:
		return wire.Errorf(filters.ErrParam, "lzma: expected checksum 0, 1, 4 or 10, found %d", p.Check)
	}
	for _, d := range p.Deltas {
		if d < 1 || d > lzma.MaxDelta {
			return wire.Errorf(filters.ErrParam, "lzma: expected a distance from 1 to %d, found %d", lzma.MaxDelta, d)
		}
	}
	return nil
}

// Ids of filters and other numbers in Python's module lzma.
const (
	lzmaDelta    = 3
	lzma2        = 33
	lzma1        = 1<<62 + 1
	lzmaExtreme  = 1 << 31
	lzmaAnyCheck = 1<<32 - 1 // -1
)

// lzmaPreset returns the preset that the third parameter stands for, or nil.
func lzmaPreset(params []uint32) *uint32 {
	n := params[2] &^ lzmaExtreme
	if n < 1 || n > uint32(len(lzmaPresets)) {
		return nil
	}
	preset := params[2] - 1
	return &preset
}

// lzmaPresets are the dictionaries of the presets 0 to 9 (lzma_encoder_presets.c).
var lzmaPresets = [10]uint32{1 << 18, 1 << 20, 1 << 21, 1 << 22, 1 << 22, 1 << 23, 1 << 23, 1 << 24, 1 << 25, 1 << 26}

// lzmaFilter is an element of the key "filters".
type lzmaFilter struct {
	ID     uint64  `json:"id"`
	Dist   *uint32 `json:"dist,omitempty"`
	Preset *uint32 `json:"preset,omitempty"`
	Dict   *uint32 `json:"dict_size,omitempty"`
}

// lzmaCodecParams parses a codec.
func lzmaCodecParams(text json.RawMessage) ([]uint32, error) {
	var v struct {
		ID      string
		Format  codecjson.Integer
		Check   codecjson.Integer
		Preset  *uint32
		Filters []lzmaFilter
	}
	if err := codecjson.Decode(text, &v); err != nil {
		return nil, err
	}
	params := []uint32{v.Format.Or(int32(lzma.XZ)), v.Check.Or(-1), 0}
	preset := func(p *uint32) error {
		if p == nil {
			return nil
		}
		if n := *p &^ lzmaExtreme; n > 9 {
			return wire.Errorf(filters.ErrCodec, `codec lzma: key "preset": expected 0 to 9, found %d`, n)
		}
		params[2] = *p + 1
		return nil
	}
	if err := preset(v.Preset); err != nil {
		return nil, err
	}
	if v.Format.Or(1) == uint32(lzma.Raw) && len(v.Filters) == 0 {
		return nil, wire.Errorf(filters.ErrCodec, `codec lzma: format 3 needs the key "filters"`)
	}
	for i, f := range v.Filters {
		last := i == len(v.Filters)-1
		switch {
		case f.ID == lzmaDelta && !last:
			dist := uint32(1)
			if f.Dist != nil {
				dist = *f.Dist
			}
			params = append(params, dist)
		case f.ID == lzma2 && last:
			if err := preset(f.Preset); err != nil {
				return nil, err
			}
			if f.Dict != nil {
				if params[2] = *f.Dict; params[2] < lzma.MinDict {
					return nil, wire.Errorf(filters.ErrCodec, `codec lzma: key "dict_size": expected at least %d, found %d`, lzma.MinDict, params[2])
				}
			}
		case f.ID == lzma1:
			return nil, wire.Errorf(filters.ErrNoCodec, `codec lzma: key "filters": raw LZMA1 is not supported`)
		case f.ID > lzmaDelta && f.ID < lzma2:
			return nil, wire.Errorf(filters.ErrNoCodec, `codec lzma: key "filters": BCJ filter %d is not supported`, f.ID)
		default:
			return nil, wire.Errorf(filters.ErrNoCodec, `codec lzma: key "filters": expected delta filters (3) and then LZMA2 (33), found %d`, f.ID)
		}
	}
	return params, nil
}

// lzmaCodecJSON writes a codec. .xz files tell their filters, and numcodecs refuses to decode
// them with the key "filters".
func lzmaCodecJSON(params []uint32, _ filters.Block) (json.RawMessage, error) {
	if len(params) == 0 {
		params = lzmaDefaults
	}
	p := lzmaParams(params)
	v := struct {
		ID      string       `json:"id"`
		Format  lzma.Format  `json:"format"`
		Check   int32        `json:"check"`
		Preset  *uint32      `json:"preset"`
		Filters []lzmaFilter `json:"filters"`
	}{ID: "lzma", Format: p.Format, Check: int32(params[1])}
	if p.Format != lzma.XZ && p.Check != lzma.None {
		v.Check = -1 // which the others refuse
	}
	preset := lzmaPreset(params)
	if i := slices.Index(lzmaPresets[:], uint32(p.Dict)); preset == nil && i >= 0 && p.Format != lzma.Raw {
		n := uint32(i)
		preset = &n
	}
	for _, d := range p.Deltas {
		if p.Format != lzma.Raw {
			break
		}
		dist := uint32(d)
		v.Filters = append(v.Filters, lzmaFilter{ID: lzmaDelta, Dist: &dist})
	}
	switch {
	case p.Format != lzma.Raw:
		v.Preset = preset
	case preset != nil || params[2] == 0:
		v.Filters = append(v.Filters, lzmaFilter{ID: lzma2, Preset: preset})
	default:
		v.Filters = append(v.Filters, lzmaFilter{ID: lzma2, Dict: &params[2]})
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, wire.Causef(filters.ErrCodec, err, "codec lzma")
	}
	return bytes.TrimSpace(text), nil
}
