package archive_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/filters"
	_ "github.com/cdfz-format/cdfz/filters/all"
	"github.com/cdfz-format/cdfz/slab"
)

// The file of the examples: monthly fields of a small climate model.
const climate = "../testdata/classic/cdf2_climate.nc"

// archived returns an archive of it, which ExampleWrite shows how to make.
func archived() string {
	dir, err := os.MkdirTemp("", "example")
	check(err)
	image, err := os.ReadFile(climate)
	check(err)
	name := filepath.Join(dir, "climate.nc.cdfz")
	out, err := os.Create(name)
	check(err)
	_, err = archive.Write(context.Background(), out, bytes.NewReader(image), int64(len(image)), nil)
	check(err)
	check(out.Close())
	return name
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// open opens the archive; the caller calls done in the end.
func open() (f *archive.File, done func()) {
	name := archived()
	f, err := archive.Open(context.Background(), name, nil)
	check(err)
	return f, func() {
		f.Close()
		os.RemoveAll(filepath.Dir(name))
	}
}

// Archive a file. The source is any random-access reader of known size, the target any
// io.Writer, here memory.
func ExampleWrite() {
	in, err := os.Open(climate)
	check(err)
	defer in.Close()
	info, err := in.Stat()
	check(err)

	var out bytes.Buffer
	res, err := archive.Write(context.Background(), &out, in, info.Size(), &archive.WriteOptions{Name: filepath.Base(climate)})
	check(err)
	fmt.Println("smaller:", res.Size < info.Size())
	fmt.Println("sha256:", res.SHA256[:8])
	// Output:
	// smaller: true
	// sha256: af196c4f
}

// Open takes a netCDF file or its archive. The rest of the code is the same for both.
func ExampleOpen() {
	name := archived()
	defer os.RemoveAll(filepath.Dir(name))

	for _, name := range []string{climate, name} {
		f, err := archive.Open(context.Background(), name, nil)
		check(err)
		_, ok := f.Info()
		fmt.Println(filepath.Ext(name), "archive:", ok)
		for i, v := range f.Vars() {
			if i == 9 || i == 10 {
				fmt.Println(" ", v.Type(), v.Name(), v.Shape(), v.Dims())
			}
		}
		f.Close()
	}
	// Output:
	// .nc archive: false
	//   float tas [24 16 30] [time lat lon]
	//   float ta [24 5 16 30] [time lev lat lon]
	// .cdfz archive: true
	//   float tas [24 16 30] [time lat lon]
	//   float ta [24 5 16 30] [time lev lat lon]
}

// Restore the netCDF file, byte for byte. Copy compares its SHA-256.
func ExampleImage_Copy() {
	name := archived()
	defer os.RemoveAll(filepath.Dir(name))
	f, err := archive.Open(context.Background(), name, nil)
	check(err)
	defer f.Close()

	var image bytes.Buffer // usually an *os.File
	check(f.Image().Copy(context.Background(), &image, nil))
	original, err := os.ReadFile(climate)
	check(err)
	fmt.Println("identical:", bytes.Equal(original, image.Bytes()))
	// Output: identical: true
}

// Read a byte range of the netCDF file without restoring it. Image is an
// io.ReaderAt, so that other netCDF readers can work on it.
func ExampleFile_Image() {
	f, done := open()
	defer done()

	image := f.Image()
	start := make([]byte, 4)
	_, err := image.ReadAt(start, 0)
	check(err)
	fmt.Printf("%q, then %d bytes\n", start, image.Size()-4)

	// The first value of time is at the place in the header.
	time, err := f.Var("time")
	check(err)
	v := f.Header().Vars[time.Num()]
	value := make([]byte, 8)
	_, err = image.ReadAt(value, v.Begin)
	check(err)
	fmt.Println(math.Float64frombits(binary.BigEndian.Uint64(value)))
	// Output:
	// "CDF\x02", then 305100 bytes
	// 15
}

// Read one record: all values of a variable at one time.
func ExampleFile_Var_record() {
	f, done := open()
	defer done()

	ta, err := f.Var("ta") // time, lev, lat, lon
	check(err)
	values, err := slab.Read[float32](context.Background(), ta, slab.Sel{Start: []int64{3, 0, 0, 0}, Count: []int64{1, 5, 16, 30}})
	check(err)
	fmt.Println(len(values), values[:3])
	// Output: 2400 [289.89062 290.51562 291.0625]
}

// Read one map: a level at one time.
func ExampleFile_Var_map() {
	f, done := open()
	defer done()

	ta, err := f.Var("ta") // time, lev, lat, lon
	check(err)
	values, err := slab.Read[float32](context.Background(), ta, slab.Sel{Start: []int64{3, 2, 0, 0}, Count: []int64{1, 1, 16, 30}})
	check(err)
	row := values[5*30:][:30] // the sixth latitude
	fmt.Println(len(values), row[:3])
	// Output: 480 [298.89062 299.53125 299.82812]
}

// Read a time series at a point.
func ExampleFile_Var_series() {
	f, done := open()
	defer done()

	tas, err := f.Var("tas") // time, lat, lon
	check(err)
	values, err := slab.Read[float32](context.Background(), tas, slab.Sel{Start: []int64{0, 8, 15}, Count: []int64{24, 1, 1}})
	check(err)
	fmt.Println(values[:6])
	// Output: [306.4375 308.98438 310.15625 310.10938 309.07812 306.57812]
}

// Read a whole variable block by block, in the memory of one block. Each block of an
// archive is decoded once.
func ExampleFile_Var_blocks() {
	f, done := open()
	defer done()

	ta, err := f.Var("ta")
	check(err)
	lowest, highest := float32(math.Inf(1)), float32(math.Inf(-1))
	check(slab.Walk(context.Background(), ta, func(start, count []int64, values []float32) error {
		// values start at index start and have count elements in each dimension.
		lowest, highest = min(lowest, slices.Min(values)), max(highest, slices.Max(values))
		return nil
	}))
	fmt.Println(lowest, "to", highest, "K")
	// Output: 246.32812 to 316.39062 K
}

// Verify every byte of an archive. Damage is listed; an error means that the
// archive could not be read.
func ExampleVerify() {
	name := archived()
	defer os.RemoveAll(filepath.Dir(name))
	b, err := os.ReadFile(name)
	check(err)

	report, err := verify.Verify(context.Background(), bytes.NewReader(b), int64(len(b)), nil)
	check(err)
	fmt.Println("damaged places:", len(report.Damage))

	b[len(b)/2] ^= 1
	report, err = verify.Verify(context.Background(), bytes.NewReader(b), int64(len(b)), nil)
	check(err)
	fmt.Println("found:", len(report.Damage) > 0)
	// Output:
	// damaged places: 0
	// found: true
}

// Read a part of an archive on a web server. Only the needed bytes are transferred.
func ExampleOpen_url() {
	name := archived()
	defer os.RemoveAll(filepath.Dir(name))
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Dir(name))))
	defer server.Close()

	ctx := context.Background()
	f, err := archive.Open(ctx, server.URL+"/climate.nc.cdfz", nil)
	check(err)
	defer f.Close()
	tas, err := f.Var("tas")
	check(err)
	values := make([]float32, 1)
	check(slab.ReadInto(ctx, tas, values, slab.Sel{Start: []int64{0, 8, 15}, Count: []int64{1, 1, 1}}))
	fmt.Println(values)
	// Output: [306.4375]
}

// Other filters for a variable of an archive. Blocks of other variables are copied as
// they are stored.
func ExampleRewrite() {
	f, done := open()
	defer done()
	var o archive.WriteOptions
	check(o.AddFilter("tas", filters.Filter{ID: filters.Shuffle}))
	check(o.AddFilter("tas", filters.Filter{ID: filters.Bzip2, Params: []uint32{9}}))
	var out bytes.Buffer
	res, err := archive.Rewrite(context.Background(), &out, f, &o)
	check(err)
	g, err := archive.New(context.Background(), bytes.NewReader(out.Bytes()), res.Size, nil)
	check(err)
	before, err := f.Var("tas")
	check(err)
	after, err := g.Var("tas")
	check(err)
	fmt.Println("before:", before.Chain().Given())
	fmt.Println("after: ", after.Chain().Given())
	fmt.Println("copied:", res.Blocks-res.Copied < res.Copied)
	// Output:
	// before: 52723
	// after:  2,4|307,9
	// copied: true
}

// A variable's filters, one by one and by id.
func ExampleWriteOptions_AddFilter() {
	var o archive.WriteOptions
	check(o.AddFilter("tas", filters.Filter{ID: filters.Shuffle}))
	check(o.AddFilter("tas", filters.Filter{ID: filters.Deflate, Params: []uint32{6}, Optional: true}))
	c := o.Filters[0].Chain
	for _, id := range c.IDs() {
		f, err := c.Find(id)
		check(err)
		fmt.Println(f.Name, f.Params, f.Optional)
	}
	// Output:
	// shuffle [] false
	// deflate [6] true
}
