package choices_test

import (
	"fmt"
	"log"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/choices"
)

// Find the preset that a chain of filters comes from.
func ExamplePreset() {
	c, err := archive.PresetPortable.Chain(cdf3.Float)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c, choices.Preset(c, cdf3.Float))
	// Output: 2,4|1,6 portable
}
