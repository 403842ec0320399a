package main

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/cdfz-format/cdfz/filters"
)

// Blocks for filters that do not restore all values.

// twelveBits keeps the low twelve bits of integers.
func twelveBits(b *block) *block {
	c := b.clone()
	for i := 0; i < len(c.raw); i += c.Size {
		clear(c.raw[i : i+c.Size-2])
		c.raw[i+c.Size-2] &= 0x0f
	}
	c.params = []uint32{8, 0, uint32(c.Shape[0]), 1, uint32(c.Size), 1, 12, 0}
	return c
}

// quarters rounds floats to multiples of 0.25. Missing and other large values become 0.
func quarters(b *block) *block {
	return b.mapFloats(func(v float64) float64 {
		if math.Abs(v) < 1e4 {
			return math.RoundToEven(v*4)/4 + 0 // not -0
		}
		return 0
	})
}

// tenBits keeps ten bits of the mantissas of floats.
func tenBits(b *block) *block {
	return b.mapFloats(func(v float64) float64 {
		return math.Float64frombits(math.Float64bits(v) &^ (1<<42 - 1))
	})
}

// bits keeps the lowest bit of each byte.
func bits(b *block) *block {
	c := b.clone()
	for i := range c.raw {
		c.raw[i] &= 1
	}
	c.Block = filters.Block{Len: len(c.raw), Kind: filters.Uint, Size: 1, Shape: []int{len(c.raw)}}
	return c
}

func (b *block) clone() *block {
	return &block{Block: b.Block, raw: slices.Clone(b.raw)}
}

func (b *block) mapFloats(f func(float64) float64) *block {
	c := b.clone()
	for i := 0; i < len(c.raw); i += c.Size {
		if p := c.raw[i:]; c.Size == 4 {
			binary.BigEndian.PutUint32(p, math.Float32bits(float32(f(float64(math.Float32frombits(binary.BigEndian.Uint32(p)))))))
		} else {
			binary.BigEndian.PutUint64(p, math.Float64bits(f(math.Float64frombits(binary.BigEndian.Uint64(p)))))
		}
	}
	return c
}
