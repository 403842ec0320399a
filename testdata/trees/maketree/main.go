// Maketree makes a folder of many small netCDF files for tests and benchmarks:
//
//	go run ./testdata/trees/maketree -n 10000 DIR
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/cdfz-format/cdfz/testdata/trees"
)

func main() {
	n := flag.Int("n", 10000, "number of files")
	flag.Parse()
	if flag.NArg() != 1 || *n < 0 {
		fmt.Fprintln(os.Stderr, "usage: maketree [-n FILES] DIR")
		os.Exit(2)
	}
	size, err := trees.Write(flag.Arg(0), *n)
	if err != nil {
		fmt.Fprintln(os.Stderr, "maketree:", err)
		os.Exit(1)
	}
	fmt.Printf("%d files, %d bytes\n", *n, size)
}
