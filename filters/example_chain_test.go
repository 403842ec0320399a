package filters_test

import (
	"errors"
	"fmt"

	"github.com/cdfz-format/cdfz/filters"
)

func ExampleChain_Add() {
	var c filters.Chain
	c, err := c.Add(filters.Filter{ID: filters.Shuffle})
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err = c.AddDeflate(6)
	fmt.Println(c, err)
	_, err = c.AddDeflate(10)
	fmt.Println(err)
	// Output:
	// 2|1,6? <nil>
	// filters: deflate: expected a level from 0 to 9, found 10
}

func ExampleChain_At() {
	c := filters.Chain{{ID: filters.Shuffle, Params: []uint32{4}}, {ID: 32013, Params: []uint32{3}}}
	for n := range c {
		f, err := c.At(n)
		fmt.Println(f.ID, f.Params, f.Name, err)
	}
	_, err := c.At(2)
	fmt.Println(errors.Is(err, filters.ErrNoFilter))
	// Output:
	// 2 [4] shuffle <nil>
	// 32013 [3] zfp <nil>
	// true
}

func ExampleChain_Find() {
	c := filters.Chain{{ID: filters.Shuffle, Params: []uint32{4}}, {ID: filters.Zstd, Params: []uint32{19}}}
	f, err := c.Find(filters.Zstd)
	fmt.Println(c.IDs(), f.Params, err)
	_, err = c.Find(filters.Bzip2)
	fmt.Println(err)
	// Output:
	// [2 32015] [19] <nil>
	// filters: chain "2,4|32015,19" has no filter 307
}

func ExampleSplitCodecs() {
	c := filters.Chain{{ID: filters.Shuffle, Params: []uint32{4}}, {ID: filters.Deflate, Params: []uint32{6}}}
	codecs, err := c.Codecs(filters.Block{Len: 4000, Size: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	z := filters.SplitCodecs(codecs)
	fmt.Printf("filters %s\ncompressor %s\njoined %d\n", z.Filters, z.Compressor, len(z.Join()))
	// Output:
	// filters [{"id":"shuffle","elementsize":4}]
	// compressor {"id":"zlib","level":6}
	// joined 2
}
