package blockidx_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/cdfz-format/cdfz/blockidx"
)

// Write the index of three blocks, and look up one of them.
func Example() {
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	t, err := blockidx.NewTable(3)
	check(err)
	defer t.Close()
	for i, off := range []int64{100, 250, 900} {
		check(t.Set(int64(i), blockidx.Row{Off: off, Len: 90}))
	}
	var b bytes.Buffer
	_, err = t.WriteTo(&b)
	check(err)

	x, err := blockidx.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()), b.Bytes()[:blockidx.HeaderLen], 0)
	check(err)
	row, err := x.Row(1)
	check(err)
	fmt.Println(x.Rows(), row.Off, row.Len)
	// Output: 3 250 90
}
