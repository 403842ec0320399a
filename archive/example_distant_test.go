package archive_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/slab"
)

// store is an object store: it counts the requests.
type store struct {
	*bytes.Reader
	requests atomic.Int64
}

func (s *store) ReadAt(p []byte, off int64) (int, error) {
	s.requests.Add(1)
	return s.Reader.ReadAt(p, off)
}

// distant is a store that says what its latency is worth.
type distant struct{ *store }

func (distant) Gap() int64 { return 256 << 10 }

var _ archive.DistantReaderAt = distant{}

// An io.ReaderAt of your own for archives in an object store. With the method Gap, reads of
// several blocks become one request.
func ExampleDistantReaderAt() {
	ctx := context.Background()
	image, err := os.ReadFile(climate)
	check(err)
	var b bytes.Buffer
	_, err = archive.Write(ctx, &b, bytes.NewReader(image), int64(len(image)), &archive.WriteOptions{Block: 4 << 10})
	check(err)
	requests := map[bool]int64{}
	for _, gap := range []bool{false, true} {
		s := &store{Reader: bytes.NewReader(b.Bytes())}
		var r io.ReaderAt = s
		if gap {
			r = distant{s}
		}
		f, err := archive.New(ctx, r, s.Size(), nil)
		check(err)
		tas, err := f.Var("tas")
		check(err)
		_, err = slab.Read[float32](ctx, tas, slab.Sel{Start: []int64{0, 8, 15}, Count: []int64{24, 1, 1}}) // a series
		check(err)
		requests[gap] = s.requests.Load()
	}
	fmt.Println("at most half the requests:", 2*requests[true] <= requests[false])
	// Output:
	// at most half the requests: true
}
