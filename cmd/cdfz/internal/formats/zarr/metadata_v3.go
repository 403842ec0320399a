package zarr

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
)

// Zarr v3 metadata (https://zarr-specs.readthedocs.io/en/latest/v3/core/), made from those
// of v2.

// newNames are the names in Zarr v3 of codecs that work on bytes. "blosc" and "zstd" are codecs of
// v3 itself, "cdfz.lorenz" is that of the Python package cdfz, the others are numcodecs' (module
// numcodecs.zarr3).
var newNames = map[string]string{
	"blosc": "blosc", "zstd": "zstd", "zlib": "numcodecs.zlib", "shuffle": "numcodecs.shuffle", "bz2": "numcodecs.bz2", "gzip": "numcodecs.gzip",
	"lzma": "numcodecs.lzma", "fletcher32": "numcodecs.fletcher32", "crc32": "numcodecs.crc32", "adler32": "numcodecs.adler32",
	"lorenz": "cdfz.lorenz",
}

// newTypes are the types of Zarr v3 by numpy's names. That of characters is zarr-python's.
var newTypes = map[string]any{
	"|i1": "int8", "|u1": "uint8", ">i2": "int16", ">u2": "uint16", ">i4": "int32", ">u4": "uint32", ">i8": "int64", ">u8": "uint64",
	">f4": "float32", ">f8": "float64",
	"|S1": extension{"null_terminated_bytes", map[string]any{"length_bytes": 1}},
}

// extension is a codec, a data type, a grid or a coding of keys.
type extension struct {
	Name   string         `json:"name"`
	Config map[string]any `json:"configuration,omitempty"`
}

// oldArray is .zarray.
type oldArray struct {
	Chunks     []int64           `json:"chunks"`
	Compressor json.RawMessage   `json:"compressor"`
	Dtype      string            `json:"dtype"`
	Fill       json.RawMessage   `json:"fill_value"`
	Filters    []json.RawMessage `json:"filters"`
	Shape      []int64           `json:"shape"`
}

// node is zarr.json of an array or a group.
type node struct {
	Attributes   map[string]any `json:"attributes"`
	Codecs       []extension    `json:"codecs,omitempty"`
	Consolidated *consolidated  `json:"consolidated_metadata,omitempty"`
	Keys         *extension     `json:"chunk_key_encoding,omitempty"`
	Grid         *extension     `json:"chunk_grid,omitempty"`
	Type         any            `json:"data_type,omitempty"`
	Dims         *[]string      `json:"dimension_names,omitempty"`
	Fill         any            `json:"fill_value,omitempty"`
	NodeType     string         `json:"node_type"`
	Shape        *[]int64       `json:"shape,omitempty"`
	Format       int            `json:"zarr_format"`
}

// consolidated are the metadata of all arrays, as zarr-python writes them.
type consolidated struct {
	Kind           string           `json:"kind"`
	Metadata       map[string]*node `json:"metadata"`
	MustUnderstand bool             `json:"must_understand"`
}

// fillAttr is the attribute whose form depends on the version of Zarr.
const fillAttr = "_FillValue"

// newMetadata is the name of the files of metadata.
const newMetadata = "zarr.json"

// convert returns the files of metadata for arrays, which are paths.
func convert(z *archive.Zarr, arrays []string) (iter.Seq2[string, []byte], error) {
	old := maps.Collect(z.Metadata())
	group := &node{NodeType: "group", Format: 3, Consolidated: &consolidated{Kind: "inline", Metadata: map[string]*node{}}}
	var err error
	if group.Attributes, err = attributes(old[".zattrs"]); err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, path := range arrays {
		a, err := array(old[path+"/.zarray"], old[path+"/.zattrs"])
		if err != nil {
			return nil, fmt.Errorf("zarr: array %s: %w", path, err)
		}
		group.Consolidated.Metadata[path] = a
		if out[path+"/"+newMetadata], err = json.Marshal(a); err != nil {
			return nil, err
		}
	}
	if out[newMetadata], err = json.Marshal(group); err != nil {
		return nil, err
	}
	return func(yield func(string, []byte) bool) {
		for _, name := range slices.Sorted(maps.Keys(out)) {
			if !yield(name, out[name]) {
				return
			}
		}
	}, nil
}

// attributes parses .zattrs. Numbers keep their text.
func attributes(b []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	out := map[string]any{}
	err := d.Decode(&out)
	return out, err
}

func array(zarray, zattrs []byte) (*node, error) {
	var old oldArray
	if err := json.Unmarshal(zarray, &old); err != nil {
		return nil, err
	}
	n := &node{NodeType: "array", Format: 3, Shape: &old.Shape, Type: newTypes[old.Dtype], Fill: old.Fill}
	none := string(old.Fill) == "null"
	if none {
		n.Fill = noFill[old.Dtype]
	}
	n.Grid = &extension{"regular", map[string]any{"chunk_shape": old.Chunks}}
	n.Keys = &extension{"default", map[string]any{"separator": "/"}}
	size := int(old.Dtype[2] - '0')
	first := extension{Name: "bytes"}
	if size > 1 {
		first.Config = map[string]any{"endian": "big"}
	}
	n.Codecs = append(n.Codecs, first)
	for _, text := range append(old.Filters, old.Compressor) {
		if string(text) == "null" || text == nil {
			continue
		}
		c, err := codec(text, size)
		if err != nil {
			return nil, err
		}
		n.Codecs = append(n.Codecs, c)
	}
	var err error
	if n.Attributes, err = attributes(zattrs); err != nil {
		return nil, err
	}
	dims := []string{}
	for _, d := range n.Attributes["_ARRAY_DIMENSIONS"].([]any) {
		dims = append(dims, fmt.Sprint(d))
	}
	delete(n.Attributes, "_ARRAY_DIMENSIONS")
	// xarray decodes _FillValue as one value of the variable's type.
	delete(n.Attributes, fillAttr)
	if n.Dims = &dims; !none {
		n.Attributes[fillAttr] = fillValue(old.Fill, old.Dtype)
	}
	return n, nil
}

// noFill are the fill values of arrays of variables that have none, since Zarr v3 requires
// one: those of netCDF, which are rarely values, or else programs that leave out fill values
// would leave out zeros.
var noFill = map[string]any{
	"|i1": -127, "|u1": 255, ">i2": -32767, ">u2": 65535, ">i4": -2147483647, ">u4": uint32(4294967295), ">i8": int64(-9223372036854775806), ">u8": uint64(18446744073709551614),
	">f4": "NaN", ">f8": "NaN", "|S1": "",
}

// fillValue returns the form of the attribute _FillValue that xarray expects in Zarr v3:
// base64 of a little-endian double for floats, of the byte for characters.
func fillValue(v json.RawMessage, dtype string) any {
	if !strings.HasPrefix(dtype, ">f") {
		return v
	}
	x, err := strconv.ParseFloat(strings.Trim(string(v), `"`), 64) // NaN and Infinity, too
	if err != nil {
		return v
	}
	return base64.StdEncoding.EncodeToString(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)))
}

// codec converts a codec for elements of size bytes.
func codec(text json.RawMessage, size int) (c extension, err error) {
	if c.Config, err = attributes(text); err != nil {
		return c, err
	}
	id := fmt.Sprint(c.Config["id"])
	delete(c.Config, "id")
	switch c.Name = newNames[id]; id {
	case "zstd":
		c.Config["checksum"] = false
	case "blosc":
		names := map[string]string{"0": "noshuffle", "1": "shuffle", "2": "bitshuffle"}
		c.Config["shuffle"], c.Config["typesize"] = names[fmt.Sprint(c.Config["shuffle"])], size
	}
	return c, nil
}

// newKey returns the key of a chunk of an array of this rank in Zarr v3.
func newKey(key string, rank int) string {
	i := strings.LastIndexByte(key, '/')
	if rank == 0 {
		return key[:i] + "/c"
	}
	return key[:i] + "/c/" + strings.ReplaceAll(key[i+1:], ".", "/")
}
