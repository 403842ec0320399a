// Package lorenz is a lossless codec for blocks of numbers.
//
// A block is an array of one element type and a known shape. [Encoder.Encode] turns its
// bytes into a shorter form, [Decoder.Decode] restores them bit for bit, and
// [Decoder.DecodeRange] and [Decoder.DecodeRuns] restore only some of the elements, usually
// at a fraction of the cost. Blocks are independent of each other.
//
// The codec, named after the Lorenzo predictor, predicts each value from its neighbours
// and encodes the residuals with Huffman codes that adapt to the local magnitude. All
// bits are preserved, including NaN payloads and negative zeros.
//
// The bytes are specified in docs/LORENZ.md.
package lorenz

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cdfz-format/cdfz/lorenz/internal/entropy"
	"github.com/cdfz-format/cdfz/lorenz/internal/kernels"
)

// How a block passes through the package:
//
//	Encoder.Encode    encoder.go     checks the block, and turns it into big-endian elements
//	encodeNumbers     choose.go      chooses special values, transform, predictor, mode and coder
//	                  specials.go, transforms.go, predictors.go, cells.go, repeats.go,
//	                  references.go, adaptive.go, bytes.go, parts.go: what it chooses from
//	                  levels.go, price.go: how much is tried at a level, and the price that decides
//	coder.write       write.go       predicts, and writes the block
//
//	Decoder.Decode    decoder.go     the same back; runs.go decodes only parts of a block
//	block.parse       parse.go       all of a block but its residuals
//	residuals         residuals.go   residuals, in the order of the elements
//	predict.Restore                  from residuals to lanes
//	inverse.put32     inverse.go     the transform undone
//
// The folders in internal are the tools: masks (special values), divisors and dictionary
// (transforms), predict (predictors), entropy (Huffman codes and groups), arith (the range coder),
// repeats, and a folder for each of the modes adaptive, contexts, references, matches, text and parts. kernels has the
// loops with assembly.

// ErrCorrupt reports bytes that no encoder writes for these parameters.
var ErrCorrupt = errors.New("lorenz: corrupt block")

// Accelerated reports whether this package uses AVX2 on this processor. Results are the same without.
func Accelerated() bool { return kernels.Assembly() }

// Type is the type of an element, numbered as in the netCDF formats.
type Type uint8

// The element types. They are part of the format and never change.
const (
	Int8    Type = 1
	Char    Type = 2
	Int16   Type = 3
	Int32   Type = 4
	Float32 Type = 5
	Float64 Type = 6
	Uint8   Type = 7
	Uint16  Type = 8
	Uint32  Type = 9
	Int64   Type = 10
	Uint64  Type = 11
)

// Size returns the bytes of one element, or 0 if t is not a type.
func (t Type) Size() int {
	switch t {
	case Int8, Char, Uint8:
		return 1
	case Int16, Uint16:
		return 2
	case Int32, Uint32, Float32:
		return 4
	case Int64, Uint64, Float64:
		return 8
	}
	return 0
}

// float reports whether t is a floating-point type.
func (t Type) float() bool { return t == Float32 || t == Float64 }

// signed reports whether t is a signed integer type.
func (t Type) signed() bool { return t == Int8 || t == Int16 || t == Int32 || t == Int64 }

// Modes: the first byte of an encoded block. Part of the format.
const (
	modeRaw      = 0 // the elements as they are
	modeConst    = 1 // one element that fills the block
	modeGroups   = 2 // transform, predictor and group coder
	modeMatches  = 3 // repeats and adaptive coding of bytes
	modeAdaptive = 4 // modeGroups with adaptive coding of residuals

	modeReferences = 5 // modeGroups with references from residuals to earlier ones
	modeText       = 6 // repeats and Huffman codes of bytes
	modeParts      = 7 // blocks of their own for the rows of the first dimension
	modeContexts   = 8 // modeGroups with residuals coded by fixed tables that their neighbours choose
)

// modeNames are the names of the modes by number (docs/LORENZ.md, section 2).
var modeNames = [...]string{"raw", "constant", "groups", "matches", "adaptive", "references", "text", "parts", "contexts"}

// ModeName returns the name of the mode that an encoded block begins with, or "unknown".
func ModeName(first byte) string {
	if int(first) < len(modeNames) {
		return modeNames[first]
	}
	return "unknown"
}

// lane is an integer that holds one transformed value. All arithmetic on
// lanes is modulo 2^32 or 2^64.
type lane = entropy.Lane

// Version is the version of the format, the first filter parameter.
const Version = 1

// maxBytes is the largest block.
const maxBytes = 1 << 30

// Order is the byte order of the elements.
type Order uint8

// Byte orders. Part of the format.
const (
	BigEndian    Order = 0
	LittleEndian Order = 1
)

// Params describes the blocks of a variable. All blocks of a variable share them.
type Params struct {
	Type  Type
	Order Order
	Dims  []int // the shape of a block, slowest dimension first; empty for a scalar

	// Stack is a hint for the encoder: the rows along the first dimension longer than 1 are
	// arrays of their own, such as variables of one shape.
	Stack bool
}

// check returns the number of elements of a block.
func (p Params) check() (int, error) {
	size := p.Type.Size()
	if size == 0 {
		return 0, fmt.Errorf("lorenz: expected an element type of 1 to 11, found %d", p.Type)
	}
	if p.Order > LittleEndian {
		return 0, fmt.Errorf("lorenz: expected byte order 0 or 1, found %d", p.Order)
	}
	n, empty := 1, slices.Contains(p.Dims, 0)
	for _, d := range p.Dims {
		if d < 0 || d > maxBytes {
			return 0, fmt.Errorf("lorenz: expected a dimension of 0 to %d, found %d", maxBytes, d)
		}
		if empty {
			n = 0 // whatever the other dimensions are
			continue
		}
		if n > maxBytes/size/d {
			return 0, fmt.Errorf("lorenz: expected a block of at most %d bytes, found shape %v", maxBytes, p.Dims)
		}
		n *= d
	}
	return n, nil
}

// Uint32s returns the filter's parameter vector: version, element type, byte order,
// number of dimensions, dimensions. Leading dimensions of 1 are left out. Stack is not in it.
func (p Params) Uint32s() ([]uint32, error) {
	if _, err := p.check(); err != nil {
		return nil, err
	}
	dims := p.Dims
	for len(dims) > 0 && dims[0] == 1 {
		dims = dims[1:]
	}
	v := []uint32{Version, uint32(p.Type), uint32(p.Order), uint32(len(dims))}
	for _, d := range dims {
		v = append(v, uint32(d))
	}
	return v, nil
}

// ParseParams is the inverse of [Params.Uint32s].
func ParseParams(v []uint32) (Params, error) {
	if len(v) < 4 {
		return Params{}, fmt.Errorf("lorenz: expected at least 4 parameters, found %d", len(v))
	}
	if v[0] != Version {
		return Params{}, fmt.Errorf("lorenz: expected format version %d, found %d", Version, v[0])
	}
	if v[1] > 11 || v[2] > 1 {
		return Params{}, fmt.Errorf("lorenz: expected an element type up to 11 and an order up to 1, found %d and %d", v[1], v[2])
	}
	if uint64(v[3]) != uint64(len(v)-4) {
		return Params{}, fmt.Errorf("lorenz: expected %d dimensions, found %d", v[3], len(v)-4)
	}
	p := Params{Type: Type(v[1]), Order: Order(v[2]), Dims: make([]int, len(v)-4)}
	for i, d := range v[4:] {
		if d > maxBytes {
			return Params{}, fmt.Errorf("lorenz: expected a dimension of at most %d, found %d", maxBytes, d)
		}
		p.Dims[i] = int(d)
	}
	if _, err := p.check(); err != nil {
		return Params{}, err
	}
	return p, nil
}

// Level is how much work an encoder does to find a short form.
type Level int

// Levels of effort. The default is between Fast and Max.
const (
	Default Level = iota
	Fast          // a short search, and blocks that are decoded fast
	Max           // all trials, and the shortest blocks but for those that are decoded very slowly
)
