package stats_test

import (
	"fmt"
	"log"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stats"
	"github.com/cdfz-format/cdfz/filters"
)

// Count the bytes that each filter reads and writes.
func ExampleCollector() {
	s := stats.New()
	k, err := filters.NewCoder(filters.Chain{{ID: filters.Shuffle, Params: []uint32{4}}, {ID: filters.Deflate, Params: []uint32{6}}})
	if err != nil {
		log.Fatal(err)
	}
	if _, _, err := k.Observed(s.Observe, "").Encode(nil, make([]byte, 4000)); err != nil {
		log.Fatal(err)
	}
	for _, r := range s.Rows(false) {
		if r.Calls > 0 {
			fmt.Println(r.Method, r.Calls, r.In, r.Out <= r.In)
		}
	}
	// Output:
	// deflate 1 4000 true
	// shuffle 1 4000 true
}
