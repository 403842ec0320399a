package unlimited_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/cdfz-format/cdfz/unlimited"
)

// A file with a header of 4 bytes and 3 records, each with 2 bytes of variable a and 1 byte
// of variable b. In raw, the records of each variable are joined.
func ExampleLayout_Raw() {
	image := strings.NewReader("headaaBccDeeF")
	l, err := unlimited.New(image.Size(), 4, []unlimited.Segment{
		{Off: 4, Len: 2, Stride: 3, Count: 3},
		{Off: 6, Len: 1, Stride: 3, Count: 3},
	})
	if err != nil {
		log.Fatal(err)
	}
	raw := make([]byte, l.Size())
	if _, err := l.Raw(image).ReadAt(raw, 0); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", raw)
	// Output: aacceeBDFhead
}
