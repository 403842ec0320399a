package refs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats/refs"
)

// Write references to the blocks of an archive, with which fsspec reads it at its place.
func ExampleWriteJSON() {
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	ctx := context.Background()
	image, err := os.ReadFile("../../../../../testdata/classic/cdf2_climate.nc")
	check(err)
	var b bytes.Buffer
	o := &archive.WriteOptions{Preset: archive.PresetPortable, Zarr: archive.ZarrAlways}
	_, err = archive.Write(ctx, &b, bytes.NewReader(image), int64(len(image)), o)
	check(err)
	f, err := archive.New(ctx, bytes.NewReader(b.Bytes()), int64(b.Len()), nil)
	check(err)

	var text bytes.Buffer
	_, err = refs.WriteJSON(ctx, &text, refs.Source{Archive: f, URL: "https://example.org/climate.nc.cdfz"})
	check(err)
	var doc struct{ Refs map[string]json.RawMessage }
	check(json.Unmarshal(text.Bytes(), &doc))
	var place []any // URL, offset, length
	check(json.Unmarshal(doc.Refs["tas/0.0.0"], &place))
	fmt.Println(place[0], len(place))
	// Output: https://example.org/climate.nc.cdfz 3
}
