package cdf3_test

import (
	"fmt"
	"log"
	"os"

	"github.com/cdfz-format/cdfz/cdf3"
)

// Read the header of a netCDF file: dimensions, variables, attributes, and the places
// of the values.
func ExampleRead() {
	f, err := os.Open("../testdata/classic/cdf2_climate.nc")
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		log.Fatal(err)
	}
	h, err := cdf3.Read(f, info.Size())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(h.Version, "with", h.NumRecs, "records of", h.RecSize, "bytes")
	for _, d := range h.Dims[:3] {
		fmt.Println("dimension", d.Name, d.Len) // 0 if unlimited
	}
	v := h.Vars[9]
	fmt.Println("variable", v.Type, v.Name, v.Shape, "from byte", v.Begin)
	for _, a := range v.Attrs {
		if a.Type == cdf3.Char {
			fmt.Printf("  %s = %q\n", a.Name, a.Values)
		}
	}
	// Output:
	// CDF-2 with 24 records of 12532 bytes
	// dimension time 0
	// dimension lev 5
	// dimension lat 16
	// variable float tas [24 16 30] from byte 4372
	//   units = "K"
	//   long_name = "near-surface air temperature"
	//   coordinates = "time lat lon"
}

// Make the header of a new file. Layout places the values.
func ExampleHeader_Append() {
	h := &cdf3.Header{
		Version: cdf3.Offset64,
		Dims:    []cdf3.Dim{{Name: "x", Len: 3}},
		Vars:    []cdf3.Var{{Name: "v", Type: cdf3.Short, DimIDs: []int{0}}},
	}
	if err := h.Layout(); err != nil {
		log.Fatal(err)
	}
	b, err := h.Append(nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(b), "bytes of header, values from byte", h.Vars[0].Begin)
	// Output: 84 bytes of header, values from byte 84
}
