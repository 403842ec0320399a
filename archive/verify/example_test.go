package verify_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/verify"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// archived returns an archive of monthly fields of a small climate model.
func archived() []byte {
	image, err := os.ReadFile("../../testdata/classic/cdf2_climate.nc")
	check(err)
	var b bytes.Buffer
	o := &archive.WriteOptions{Name: "climate.nc", Zarr: archive.ZarrAlways, Block: 16 << 10}
	_, err = archive.Write(context.Background(), &b, bytes.NewReader(image), int64(len(image)), o)
	check(err)
	return b.Bytes()
}

// Check an archive with a damaged block.
func ExampleVerify() {
	ctx := context.Background()
	b := archived()
	f, err := archive.New(ctx, bytes.NewReader(b), int64(len(b)), nil)
	check(err)
	for block, err := range f.Blocks(ctx) {
		check(err)
		if block.Name == "tas/1.0.0" {
			b[block.Off] ^= 0xff
		}
	}
	rep, err := verify.Verify(ctx, bytes.NewReader(b), int64(len(b)), nil)
	check(err)
	for _, d := range rep.Damage {
		fmt.Println(d.Kind, d.Var, d.Start, d.Count)
	}
	// Output: block tas [8 0 0] [8 16 30]
}
