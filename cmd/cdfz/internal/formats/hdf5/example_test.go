package hdf5_test

import (
	"fmt"
	"io"
	"log"
	"os"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats/hdf5"
)

// Write a file with one dataset of two chunks.
func Example() {
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	out, err := os.CreateTemp("", "*.h5")
	check(err)
	defer os.Remove(out.Name())
	defer out.Close()

	u8 := hdf5.Type{Class: hdf5.Unsigned, Size: 1}
	w, err := hdf5.NewWriter(out, &hdf5.File{Datasets: []*hdf5.Dataset{
		{Name: "x", Type: u8, Shape: []int64{4}, Chunk: []int64{2}, Attrs: []hdf5.Attr{{Name: "answer", Type: u8, Len: hdf5.Single, Values: []byte{42}}}},
	}})
	check(err)
	check(w.Chunk([]byte{1, 2}, 0))
	check(w.Chunk([]byte{3, 4}, 0))
	size, err := w.Close()
	check(err)

	b, err := io.ReadAll(io.NewSectionReader(out, 0, size))
	check(err)
	fmt.Printf("%q %v\n", b[:8], b[len(b)-4:])
	// Output: "\x89HDF\r\n\x1a\n" [1 2 3 4]
}
