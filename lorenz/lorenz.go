// Package lorenz is a lossless codec for blocks of numbers.
//
// A block is an array of one element type and a known shape. [Encoder.Encode]
// turns its bytes into a shorter form, [Decoder.Decode] restores them bit for
// bit, and [Decoder.DecodeRange] restores only some of the elements, usually
// at a fraction of the cost. Blocks are independent of each other.
//
// The codec predicts each value from its neighbours, named after the Lorenzo
// predictor, and codes what is left with Huffman codes that adapt to the local
// magnitude. All bytes, including NaN payloads and negative zeros, are kept.
//
// The bytes are specified in docs/LORENZ.md.
package lorenz

import (
	"errors"
	"math/bits"
)

// ErrCorrupt reports bytes that no encoder has written for these parameters.
var ErrCorrupt = errors.New("lorenz: corrupt block")

// Type is the type of an element, numbered as in the netCDF formats.
type Type uint8

// The element types. Part of the format, never change.
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
	modeRaw    = 0 // the elements as they are
	modeConst  = 1 // one element that fills the block
	modeGroups = 2 // transform, predictor and group coder
	modeBytes  = 3 // repeats and adaptive coding of bytes
)

// lane is an integer that holds one transformed value. All arithmetic on
// lanes is modulo 2^32 or 2^64.
type lane interface{ uint32 | uint64 }

// laneBits returns the bits of a lane.
func laneBits[T lane]() uint {
	return uint(bits.Len64(uint64(^T(0))))
}
