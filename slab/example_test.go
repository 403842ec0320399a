package slab_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/slab"
)

// open opens the file of the examples, monthly fields of a small climate model. An
// archive works as well.
func open() *archive.File {
	f, err := archive.Open(context.Background(), "../testdata/classic/cdf2_climate.nc", nil)
	check(err)
	return f
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Read a strided box: every sixth month, the fourth and the sixth latitude, every
// tenth longitude.
func ExampleRead() {
	f := open()
	defer f.Close()
	tas, err := f.Var("tas") // time, lat, lon
	check(err)
	start, count, stride := []int64{0, 3, 0}, []int64{4, 2, 3}, []int64{6, 2, 10}
	values, err := slab.Read[float32](context.Background(), tas, slab.Sel{Start: start, Count: count, Stride: stride})
	check(err)
	for i := 0; i < len(values); i += 3 {
		fmt.Println(values[i : i+3])
	}
	// Output:
	// [296.53125 300.03125 293.32812]
	// [302.73438 306.26562 299.53125]
	// [300.07812 295.70312 293.79688]
	// [306.375 301.95312 299.90625]
	// [298.90625 292.82812 298.375]
	// [305.17188 299.04688 304.625]
	// [294.125 294.98438 300.42188]
	// [300.375 301.14062 306.67188]
}

// Without start, count and stride the whole variable is read. A negative stride
// reads backwards.
func ExampleRead_whole() {
	f := open()
	defer f.Close()
	lev, err := f.Var("lev")
	check(err)
	all, err := slab.Read[float64](context.Background(), lev, slab.Sel{})
	check(err)
	back, err := slab.Read[float64](context.Background(), lev, slab.Sel{Start: []int64{4}, Stride: []int64{-1}})
	check(err)
	fmt.Println(all)
	fmt.Println(back)
	// Output:
	// [1000 900 800 700 600]
	// [600 700 800 900 1000]
}

// Read into your own memory, record by record.
func ExampleReadInto() {
	f := open()
	defer f.Close()
	tas, err := f.Var("tas") // time, lat, lon
	check(err)
	record := make([]float32, 16*30)
	for month := range tas.Shape()[0] {
		s := slab.Sel{Start: []int64{month, 0, 0}, Count: []int64{1, 16, 30}}
		check(slab.ReadInto(context.Background(), tas, record, s))
		sum := 0.0
		for _, x := range record {
			sum += float64(x)
		}
		if month < 3 {
			fmt.Printf("month %d: mean %.1f K\n", month, sum/float64(len(record)))
		}
	}
	// Output:
	// month 0: mean 298.0 K
	// month 1: mean 301.4 K
	// month 2: mean 303.5 K
}

// Read numbers of any type as the type you compute with. Values that do not fit it are
// ErrRange.
func ExampleConvert() {
	f := open()
	defer f.Close()
	tas, err := f.Var("tas") // float
	check(err)
	first := slab.Sel{Count: []int64{1, 1, 3}}
	whole := make([]int16, 3)
	check(slab.Convert(context.Background(), tas, whole, first))
	fmt.Println(whole)
	err = slab.Convert(context.Background(), tas, make([]int8, 3), first)
	fmt.Println(errors.Is(err, slab.ErrRange))
	// Output:
	// [281 282 283]
	// true
}

// New makes an array from any io.ReaderAt that holds the values in row-major order,
// big-endian.
func ExampleNew() {
	values := bytes.NewReader([]byte{0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6})
	a, err := slab.New(cdf3.Short, []int64{2, 3}, values)
	check(err)
	column, err := slab.Read[int16](context.Background(), a, slab.Sel{Start: []int64{0, 1}, Count: []int64{2, 1}})
	check(err)
	fmt.Println(column)
	// Output: [2 5]
}

// The mean of a variable of any size, on all processors.
func ExampleWalkParallel() {
	f := open()
	defer f.Close()

	tas, err := f.Var("tas")
	check(err)
	var mu sync.Mutex
	var sum, n float64
	check(slab.WalkParallel(context.Background(), tas, 0, func(start, count []int64, values []float32) error {
		part := 0.0
		for _, x := range values {
			part += float64(x)
		}
		mu.Lock()
		defer mu.Unlock()
		sum, n = sum+part, n+float64(len(values))
		return nil
	}))
	fmt.Printf("%.3f\n", sum/n)
	// Output: 297.970
}
