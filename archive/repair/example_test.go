package repair_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/repair"
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

// Restore the end of an archive that was cut off.
func ExampleRepair() {
	ctx := context.Background()
	whole := archived()
	b := whole[:len(whole)-1000]
	p, err := repair.Repair(ctx, bytes.NewReader(b), int64(len(b)), nil)
	check(err)
	defer p.Close()
	var out bytes.Buffer
	_, err = p.WriteTo(ctx, &out)
	check(err)
	fmt.Println("same as before:", p.Identical, bytes.Equal(whole, out.Bytes()))
	// Output: same as before: true true
}
