package lorenz_test

import (
	"encoding/binary"
	"fmt"
	"log"
	"math"

	"github.com/cdfz-format/cdfz/lorenz"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Encode a map of 40 x 60 temperatures, and decode all of it and one row.
func Example() {
	var block []byte // as in a netCDF file: big-endian, rows joined
	for i := range 40 * 60 {
		x := 280 + 15*math.Sin(float64(i/60)/9) + 2*math.Cos(float64(i%60)/7)
		block = binary.BigEndian.AppendUint32(block, math.Float32bits(float32(math.Round(10*x)/10)))
	}
	p := lorenz.Params{Type: lorenz.Float32, Dims: []int{40, 60}}

	e, err := lorenz.NewEncoder(p, lorenz.Default)
	check(err)
	stored, err := e.Encode(nil, block)
	check(err)
	fmt.Println("less than a sixth:", len(stored) < len(block)/6)

	d, err := lorenz.NewDecoder(p)
	check(err)
	all := make([]byte, len(block))
	check(d.Decode(all, stored))
	fmt.Println("same bits:", string(all) == string(block))

	row := make([]byte, 60*4)
	check(d.DecodeRange(row, stored, 7*60, 8*60))
	fmt.Println(math.Float32frombits(binary.BigEndian.Uint32(row)))
	// Output:
	// less than a sixth: true
	// same bits: true
	// 292.5
}

// Decode a column: one element of each row.
func ExampleDecoder_DecodeRuns() {
	block := make([]byte, 5*100) // 5 rows of 100 bytes
	for i := range block {
		block[i] = byte(i/100 + i%100)
	}
	p := lorenz.Params{Type: lorenz.Uint8, Dims: []int{5, 100}}
	e, err := lorenz.NewEncoder(p, lorenz.Fast)
	check(err)
	stored, err := e.Encode(nil, block)
	check(err)

	d, err := lorenz.NewDecoder(p)
	check(err)
	column := make([]byte, 5)
	check(d.DecodeRuns(column, stored, lorenz.Runs{Start: 42, Len: 1, Stride: 100, Count: 5}))
	fmt.Println(column)
	// Output: [42 43 44 45 46]
}

// The parameters are the vector of filter 52723 in an archive.
func ExampleParseParams() {
	p := lorenz.Params{Type: lorenz.Float32, Dims: []int{1, 16, 30}}
	v, err := p.Uint32s()
	check(err)
	fmt.Println(v)
	p, err = lorenz.ParseParams(v)
	check(err)
	fmt.Println(p.Dims)
	// Output:
	// [1 5 0 2 16 30]
	// [16 30]
}
