package main

import (
	"encoding/json"
	"math"

	"github.com/cdfz-format/cdfz/filters"
)

// testCase is a filter with the parameters that a user sets.
type testCase struct {
	name   string
	filter filters.Filter
	kinds  []filters.Kind         // nil: all
	least  int                    // bytes of an element
	change func(b *block) *block  // makes a block that the filter restores
	peers  map[string]peerConfigs // by the names in peers.py
}

// peerConfigs returns the configuration of a peer for a block and a filter with complete
// parameters.
type peerConfigs func(f filters.Filter, b *block) (any, error)

func p(params ...uint32) []uint32 { return params }

var (
	ints   = []filters.Kind{filters.Int, filters.Uint}
	floats = []filters.Kind{filters.Float}

	numcodecs = map[string]peerConfigs{"numcodecs": codec}
	hdf5      = map[string]peerConfigs{"hdf5": classOf}
	both      = map[string]peerConfigs{"numcodecs": codec, "hdf5": classOf}
)

// cases lists every built-in filter.
var cases = []testCase{
	{name: "shuffle", filter: filters.Filter{ID: filters.Shuffle}, least: 2,
		peers: map[string]peerConfigs{"numcodecs": codec, "hdf5": classOf, "blosc": kernel("shuffle")}},
	{name: "bitshuffle", filter: filters.Filter{ID: filters.Bitshuffle},
		peers: map[string]peerConfigs{"hdf5": classOf, "blosc": kernel("bitshuffle")}},
	{name: "fletcher32", filter: filters.Filter{ID: filters.Fletcher32}, peers: hdf5},
	{name: "bitshuffle lz4", filter: filters.Filter{ID: filters.Bitshuffle, Params: p(0, 2)}, peers: hdf5},
	{name: "bitshuffle zstd", filter: filters.Filter{ID: filters.Bitshuffle, Params: p(0, 3, 3)}},
	{name: "deflate 1", filter: filters.Filter{ID: filters.Deflate, Params: p(1)}, peers: both},
	{name: "deflate 6", filter: filters.Filter{ID: filters.Deflate, Params: p(6)}, peers: both},
	{name: "deflate 9", filter: filters.Filter{ID: filters.Deflate, Params: p(9)}, peers: both},
	{name: "gzip 6", filter: filters.Filter{ID: filters.Gzip, Params: p(6)}, peers: numcodecs},
	{name: "bzip2 9", filter: filters.Filter{ID: filters.Bzip2, Params: p(9)}, peers: both},
	{name: "lzma", filter: filters.Filter{ID: filters.LZMA}, peers: numcodecs},
	{name: "lzf", filter: filters.Filter{ID: filters.LZF}, peers: hdf5},
	{name: "lz4", filter: filters.Filter{ID: filters.LZ4, Params: p(0)}, peers: hdf5},
	{name: "zstd 1", filter: filters.Filter{ID: filters.Zstd, Params: p(1)}, peers: numcodecs},
	{name: "zstd 3", filter: filters.Filter{ID: filters.Zstd, Params: p(3)}, peers: numcodecs},
	{name: "zstd 19", filter: filters.Filter{ID: filters.Zstd, Params: p(19)}, peers: numcodecs},
	{name: "blosc blosclz", filter: filters.Filter{ID: filters.Blosc, Params: p(0, 0, 0, 0, 5, 1, 0)}, peers: both},
	{name: "blosc lz4", filter: filters.Filter{ID: filters.Blosc, Params: p(0, 0, 0, 0, 5, 1, 1)}, peers: both},
	{name: "blosc lz4, bits", filter: filters.Filter{ID: filters.Blosc, Params: p(0, 0, 0, 0, 5, 2, 1)}, peers: both},
	{name: "blosc lz4hc", filter: filters.Filter{ID: filters.Blosc, Params: p(0, 0, 0, 0, 5, 1, 2)}, peers: both},
	{name: "blosc snappy", filter: filters.Filter{ID: filters.Blosc, Params: p(0, 0, 0, 0, 5, 1, 3)}, peers: both},
	{name: "blosc zlib", filter: filters.Filter{ID: filters.Blosc, Params: p(0, 0, 0, 0, 5, 1, 4)}, peers: both},
	{name: "blosc zstd", filter: filters.Filter{ID: filters.Blosc, Params: p(0, 0, 0, 0, 5, 1, 5)}, peers: both},
	{name: "szip", filter: filters.Filter{ID: filters.Szip, Params: p(32, 8)}, peers: hdf5},
	{name: "nbit, 12 bits", filter: filters.Filter{ID: filters.NBit}, kinds: ints, least: 2, change: twelveBits, peers: hdf5},
	{name: "scaleoffset", filter: filters.Filter{ID: filters.ScaleOffset, Params: p(2, 0)}, kinds: ints, peers: hdf5},
	{name: "scaleoffset, 2 places", filter: filters.Filter{ID: filters.ScaleOffset, Params: p(0, 2)}, kinds: floats, change: quarters, peers: hdf5},
	{name: "delta", filter: filters.Filter{ID: filters.Delta}, kinds: ints, peers: numcodecs},
	{name: "fixedscaleoffset", filter: filters.Filter{ID: filters.FixedScaleOffset, Params: append(p(uint32(filters.Int), 4), scale(100, 0)...)},
		kinds: floats, change: quarters, peers: numcodecs},
	{name: "quantize", filter: filters.Filter{ID: filters.Quantize, Params: p(2)}, kinds: floats, change: quarters, peers: numcodecs},
	{name: "bitround", filter: filters.Filter{ID: filters.BitRound, Params: p(10)}, kinds: floats, change: tenBits, peers: numcodecs},
	{name: "packbits", filter: filters.Filter{ID: filters.PackBits}, change: bits, peers: numcodecs},
	{name: "crc32", filter: filters.Filter{ID: filters.CRC32}, peers: numcodecs},
	{name: "adler32", filter: filters.Filter{ID: filters.Adler32}, peers: numcodecs},
	{name: "lorenz", filter: filters.Filter{ID: filters.Lorenz}},
}

// codec configures numcodecs.
func codec(f filters.Filter, b *block) (any, error) {
	c, err := filters.Chain{f}.Codecs(b.Block)
	if err != nil {
		return nil, err
	}
	return c[0], nil
}

// classOf configures HDF5.
func classOf(f filters.Filter, _ *block) (any, error) {
	return []any{f.ID, append([]uint32{}, f.Params...)}, nil
}

// part is the length that Blosc shuffles at a time, so that it stays in cache.
const part = 8192

func kernel(name string) peerConfigs {
	return func(_ filters.Filter, b *block) (any, error) { return []any{name, b.Size, part}, nil }
}

func scale(factors ...float64) (out []uint32) {
	for _, f := range factors {
		b := math.Float64bits(f)
		out = append(out, uint32(b), uint32(b>>32))
	}
	return out
}

// exactJSON reports whether a peer restores what it encodes.
func exactJSON(config any) bool {
	text, ok := config.(json.RawMessage)
	if !ok {
		return true
	}
	var v struct{ ID string }
	return json.Unmarshal(text, &v) == nil && v.ID != "bitround" // whose blocks are in native order
}
