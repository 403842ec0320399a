package cdf3_test

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cdf3"
)

// built makes a file with a variable of every type.
func built() *cdf3.Builder {
	b := cdf3.NewBuilder(cdf3.Data64)
	t, x, n := b.Dim("t", cdf3.Unlimited), b.Dim("x", 3), b.Dim("n", 4)
	b.Attr("title", "all types").Attr("version", int32(2)).Attr("range", []float64{0, 1.5}).Attr("empty", "")
	b.Var("byte", cdf3.Byte, x).Values([]int8{-1, 0, 1}).Attr("flag_values", []int8{1, 2})
	b.Var("text", cdf3.Char, n).Values("a b ")
	b.Var("char", cdf3.Char, t, n).Values([]uint8("one two "))
	b.Var("short", cdf3.Short, t, x).Values([]int16{1, 2, 3, 4, 5, 6, 7, 8, 9})
	b.Var("int", cdf3.Int).Values([]int32{7})
	b.Var("float", cdf3.Float, t).Values([]float32{1, 2})
	b.Var("double", cdf3.Double, x).Values([]float64{0.1, math.MaxFloat64, -1})
	b.Var("ubyte", cdf3.UByte, x).Values([]uint8{0, 1, 255})
	b.Var("ushort", cdf3.UShort, x).Values([]uint16{0, 1, 65535})
	b.Var("uint", cdf3.UInt, x).Values([]uint32{0, 1, 1<<32 - 1})
	b.Var("int64", cdf3.Int64, x).Values([]int64{0, 1, -1 << 63})
	b.Var("uint64", cdf3.UInt64, x).Values([]uint64{0, 1, 1<<64 - 1})
	b.Var("missing", cdf3.Int, t)
	return b
}

// TestBuilder reads back what was built.
func TestBuilder(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, built().WriteFile(context.Background(), &out))
	file := out.Bytes()
	h, err := cdf3.Read(bytes.NewReader(file), int64(len(file)))
	require.NoError(t, err)
	require.EqualValues(t, 3, h.NumRecs)
	require.Equal(t, []float64{0, 1.5}, cdf3.Values[float64](&h.Attrs[2]))
	require.Len(t, h.Vars, 13)
	for i, want := range map[int]string{0: "\xff\x00\x01", 1: "a b ", 2: "one ", 8: "\x00\x00\x00\x01\xff\xff"} {
		require.Equal(t, want, string(file[h.Vars[i].Begin:][:len(want)]))
	}
	last := h.Vars[12].Begin + 2*h.RecSize
	require.Equal(t, cdf3.Int.Fill(), file[last:last+4])
}

// TestBuilderErrors checks that the first error is returned, and names its cause.
func TestBuilderErrors(t *testing.T) {
	for want, steps := range map[string]func(b *cdf3.Builder){
		`attribute "a": expected a string, a number or a slice of numbers of a fixed size such as int32, found int`: func(b *cdf3.Builder) { b.Attr("a", 1).Attr("b", true) },
		`attribute "a" of variable 0 "v": expected a string, a number or a slice of numbers of a fixed size such as int32, found []string`: func(b *cdf3.Builder) {
			b.Var("v", cdf3.Int).Attr("a", []string{"x"})
		},
		`values of variable 0 "v": expected []int32 for type int, found []float32`:           func(b *cdf3.Builder) { b.Var("v", cdf3.Int).Values([]float32{1}) },
		`values of variable 0 "v": expected a string or []uint8 for type char, found []int8`: func(b *cdf3.Builder) { b.Var("v", cdf3.Char).Values([]int8{1}) },
		`values of variable 0 "v": expected []uint8 for type ubyte, found string`:            func(b *cdf3.Builder) { b.Var("v", cdf3.UByte).Values("x") },
		`values of variable 0 "v": expected 12 bytes for shape [3], found 8`:                 func(b *cdf3.Builder) { b.Var("v", cdf3.Int, b.Dim("x", 3)).Values([]int32{1, 2}) },
		`values of variable 0 "v": expected a multiple of the 12 bytes of a record, found 16`: func(b *cdf3.Builder) {
			b.Var("v", cdf3.Int, b.Dim("t", 0), b.Dim("x", 3)).Values([]int32{1, 2, 3, 4})
		},
		`type uint, which CDF-2 does not have`:     func(b *cdf3.Builder) { b.Attr("a", uint32(1)) },
		`number 0 has this name, too`:              func(b *cdf3.Builder) { b.Dim("x", 1); b.Dim("x", 2) },
		`dimension number 1, expected less than 0`: func(b *cdf3.Builder) { b.Var("v", cdf3.Int, 1) },
		`a slash cannot be part of a name`:         func(b *cdf3.Builder) { b.Var("a/b", cdf3.Int) },
	} {
		b := cdf3.NewBuilder(cdf3.Offset64)
		steps(b)
		var out strings.Builder
		require.ErrorContains(t, b.WriteFile(context.Background(), &out), want)
		require.Zero(t, out.Len())
	}
	require.ErrorContains(t, new(cdf3.Builder).WriteFile(context.Background(), new(strings.Builder)), "expected CDF-1, CDF-2 or CDF-5")
}

// A file from scratch: dimensions, attributes, variables and their values.
func ExampleBuilder() {
	b := cdf3.NewBuilder(cdf3.Offset64)
	time, lat := b.Dim("time", cdf3.Unlimited), b.Dim("lat", 3)
	b.Attr("Conventions", "CF-1.8")
	b.Var("lat", cdf3.Double, lat).Values([]float64{-60, 0, 60}).Attr("units", "degrees_north")
	b.Var("tas", cdf3.Float, time, lat).Values([]float32{250, 300, 255, 251, 301, 256}).Attr("units", "K")
	f, err := os.Create(filepath.Join(os.TempDir(), "scratch.nc"))
	if err != nil {
		panic(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := b.WriteFile(context.Background(), f); err != nil {
		panic(err)
	}
}
