// Verify compares the speed of verifying an archive with that of decoding all blocks and of
// reading the archive, on all processors.
//
//	go run ./bench/verify x.nc.cdfz      # an archive without parity
//
// The target: verify takes at most 1/0.8 of the time of the slower of the two. The archive is
// also verified with parity.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/internal/ahead"
)

// target is the least speed of verify, relative to the slower of decoding and reading.
const target = 0.8

var (
	rounds = run.Rounds(5)
	share  = run.Count("share", 5, "percent of parity")
)

func main() {
	run.Out()
	run.Dir()
	run.Main("x.nc.cdfz", 1, 1, compare)
}

func compare(ctx context.Context, args []string) error {
	plain, size, err := copyOf(args[0], "plain")
	if err != nil {
		return err
	}
	defer plain.Close()
	protected, _, err := copyOf(args[0], "protected")
	if err != nil {
		return err
	}
	defer protected.Close()
	l, err := parity.Add(ctx, protected, size, parity.Share(*share*100), nil)
	if err != nil {
		return err
	}
	f, err := archive.New(ctx, plain, size, nil)
	if err != nil {
		return err
	}
	image := f.Image()
	task := func(name string, do func() error) *run.Task {
		return &run.Task{Name: name, Run: func(int) (run.Cost, error) { return run.Func(do) }}
	}
	check := func(f *os.File, size int64) func() error {
		return func() error {
			rep, err := verify.Verify(ctx, f, size, nil)
			if err == nil && len(rep.Damage) > 0 {
				err = fmt.Errorf("%d damaged", len(rep.Damage))
			}
			return err
		}
	}
	tasks := []*run.Task{
		task("read", func() error { return read(plain, size) }),
		task("decode", func() error { // all blocks, without the SHA-256
			s := ahead.NewStream(image)
			defer s.Close()
			return read(s, image.Size())
		}),
		task("verify", check(plain, size)),
		task(fmt.Sprintf("verify, %d%% of parity", *share), check(protected, l.Size)),
	}
	if err := run.Turns(*rounds, true, tasks...); err != nil {
		return err
	}
	r := run.NewReport()
	r.Printf("%d bytes, an image of %d bytes, medians of %d rounds\n\n", size, image.Size(), *rounds)
	t := r.Table("%s", "wall s %.3f", "CPU s %.3f", "MB/s %.0f", "of slower %.2f")
	slower := max(tasks[0].Wall(), tasks[1].Wall())
	for _, k := range tasks {
		w := k.Wall()
		t.Row(k.Name, w, k.CPU(), float64(image.Size())/1e6/w.Seconds(), slower.Seconds()/w.Seconds())
	}
	r.Printf("\nMB are 10^6 bytes of the image. Target: verify at %.1f or more.\n", target)
	return r.Save()
}

// copyOf returns a temporary copy of a file.
func copyOf(name, as string) (*os.File, int64, error) {
	src, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	defer src.Close()
	t, err := os.Create(run.Temp(as))
	if err != nil {
		return nil, 0, err
	}
	n, err := io.Copy(t, src)
	return t, n, err
}

// read reads a file from its first byte to its last.
func read(r io.ReaderAt, size int64) error {
	_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{io.NewSectionReader(r, 0, size)}, make([]byte, 1<<20))
	return err
}
