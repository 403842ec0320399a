package cdl_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cdl"
)

// Write a file as text, with the values of one variable and 5 digits. The file may be an
// archive.
func ExampleDump() {
	const file = "../testdata/classic/cdf1_unlimited_last.nc"
	f, err := archive.Open(context.Background(), file, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	o := &cdl.Options{Name: cdl.Name(file), Vars: []string{"f"}, FloatDigits: 5}
	if err := cdl.Dump(context.Background(), os.Stdout, f, o); err != nil {
		log.Fatal(err)
	}
	// Output:
	// netcdf cdf1_unlimited_last {
	// dimensions:
	// 	x = 3 ;
	// 	y = 2 ;
	// 	time = UNLIMITED ; // (4 currently)
	// variables:
	// 	short v(time, y, x) ;
	// 	double t(time) ;
	// 	float f(y, x) ;
	// data:
	//
	//  f =
	//   2.6021e+05, 2.189e+05, 63648,
	//   49304, 2.6096e+05, 1.8853e+05 ;
	// }
}

func ExampleName() {
	fmt.Println(cdl.Name("runs/tas.2001.nc"))
	// Output: tas.2001
}

func ExampleKind() {
	for _, v := range []cdf3.Version{cdf3.Classic, cdf3.Offset64, cdf3.Data64} {
		fmt.Println(cdl.Kind(v))
	}
	// Output:
	// classic
	// 64-bit offset
	// cdf5
}
