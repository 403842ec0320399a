package parity_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/parity"
)

// Write an archive with 5 % of parity, damage it, and heal it in place.
func ExampleSet_Heal() {
	ctx := context.Background()
	check := func(err error) {
		if err != nil {
			log.Fatal(err)
		}
	}
	image, err := os.ReadFile("../../testdata/classic/cdf2_climate.nc")
	check(err)
	share, err := parity.ParseShare("5%")
	check(err)
	var b bytes.Buffer
	_, err = archive.Write(ctx, &b, bytes.NewReader(image), int64(len(image)), &archive.WriteOptions{Parity: share})
	check(err)

	whole := bytes.Clone(b.Bytes())
	clear(b.Bytes()[10_000:10_200])
	dir, err := os.MkdirTemp("", "")
	check(err)
	defer os.RemoveAll(dir)
	check(os.WriteFile(filepath.Join(dir, "a.cdfz"), b.Bytes(), 0o600))
	f, err := os.OpenFile(filepath.Join(dir, "a.cdfz"), os.O_RDWR, 0)
	check(err)
	defer f.Close()

	set, err := parity.Find(ctx, f, int64(b.Len()), nil)
	check(err)
	rep, err := set.Heal(ctx, f)
	check(err)
	healed := make([]byte, b.Len())
	_, err = f.ReadAt(healed, 0)
	check(err)
	fmt.Println(rep.Healable(), bytes.Equal(whole, healed))
	// Output: true true
}
