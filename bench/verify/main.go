// Command verify compares the speed of verifying an archive with that of decoding all blocks
// and of reading the archive, on all processors.
//
//	go run ./bench/verify x.nc.cdfz      # an archive without parity
//
// The target: verify takes at most 1/0.8 of the time of the slower of the two. The archive is
// also verified with parity. The runs take turns.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/fsck"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/bench/internal/cpu"
)

// target is the least speed of verify, in those of the slower of decoding and reading.
const target = 0.8

func main() {
	n := flag.Int("n", 5, "runs of each")
	share := parity.Share(500)
	flag.Func("parity", "percent of parity (default 5)", func(s string) (err error) {
		share, err = parity.ParseShare(s)
		return err
	})
	flag.Parse()
	if flag.NArg() != 1 || *n < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(context.Background(), flag.Arg(0), *n, share); err != nil {
		fmt.Fprintln(os.Stderr, "verify:", err)
		os.Exit(1)
	}
}

// row is one thing that is measured.
type row struct {
	name      string
	do        func() error
	wall, cpu []time.Duration
}

func run(ctx context.Context, name string, n int, share parity.Share) error {
	plain, size, err := temporary(name)
	if err != nil {
		return err
	}
	defer plain.Close()
	protected, _, err := temporary(name)
	if err != nil {
		return err
	}
	defer protected.Close()
	l, err := parity.Add(ctx, protected, size, share, nil)
	if err != nil {
		return err
	}
	f, err := archive.New(plain, size, nil)
	if err != nil {
		return err
	}
	verify := func(f *os.File, size int64) func() error {
		return func() error {
			rep, err := fsck.Verify(ctx, f, size, nil)
			if err == nil && len(rep.Damage) > 0 {
				err = fmt.Errorf("%d damaged", len(rep.Damage))
			}
			return err
		}
	}
	rows := []*row{
		{name: "read", do: func() error { return read(plain, size) }},
		{name: "decode", do: func() error { return decode(f) }},
		{name: "verify", do: verify(plain, size)},
		{name: fmt.Sprintf("verify, %s of parity", share), do: verify(protected, l.Size)},
	}
	for i := range n + 1 {
		for _, r := range rows {
			start, used := time.Now(), cpu.Time()
			if err := r.do(); err != nil {
				return err
			}
			if i > 0 { // the first round fills the page cache
				r.wall = append(r.wall, time.Since(start))
				r.cpu = append(r.cpu, cpu.Since(used, start))
			}
		}
	}
	fmt.Printf("%d bytes, an image of %d bytes, %d processors, medians of %d runs\n\n", size, f.Image().Size(), runtime.GOMAXPROCS(0), n)
	fmt.Printf("%-24s %8s %8s %12s %10s\n", "", "wall s", "CPU s", "MB/s", "of slower")
	slower := max(median(rows[0].wall), median(rows[1].wall))
	for _, r := range rows {
		w := median(r.wall)
		fmt.Printf("%-24s %8.3f %8.3f %12.0f %10.2f\n", r.name, w.Seconds(), median(r.cpu).Seconds(), float64(f.Image().Size())/1e6/w.Seconds(), slower.Seconds()/w.Seconds())
	}
	fmt.Printf("\nMB are 10^6 bytes of the image. Target: verify at %.1f or more.\n", target)
	return nil
}

// temporary returns an unnamed copy of a file.
func temporary(name string) (*os.File, int64, error) {
	src, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	defer src.Close()
	t, err := os.CreateTemp("", "verify-*")
	if err != nil {
		return nil, 0, err
	}
	os.Remove(t.Name())
	n, err := io.Copy(t, src)
	if err != nil {
		t.Close()
		return nil, 0, err
	}
	return t, n, nil
}

// read reads a file from its first byte to its last.
func read(r io.ReaderAt, size int64) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{io.NewSectionReader(r, 0, size)}, make([]byte, 1<<20))
	return err
}

// decode decodes all blocks, on all processors and without the SHA-256.
func decode(f *archive.File) error {
	s := f.Image().Stream()
	defer s.Close()
	return read(s, f.Image().Size())
}

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}
