// Shards archives a tree as the tasks of a cluster do. It runs one task for each shard, a few at a time,
// kills some of them, and runs those again. Then it checks that each file has one archive and one
// receipt, restores all files and compares them:
//
//	go run ./bench/shards -files 100000 -shards 40            # small files
//	go run ./bench/shards -files 1000 -size 10000000 -shards 2
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/cdfz-format/cdfz/bench/internal/fields"
	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/testdata/trees"
)

var (
	files  = run.Count("files", 10000, "number of files")
	size   = flag.Int64("size", 0, "bytes of a file, of computed fields (default: small files as in bench/trees)")
	shards = run.Count("shards", 40, "number of shards")
	tasks  = run.Count("tasks", 2, "shards at a time, each on one core")
	kills  = run.Count("kills", 4, "one shard in so many is killed")
)

func main() {
	run.Cdfz()
	run.Dir()
	run.Main("", 0, 0, measure)
}

func measure(ctx context.Context, _ []string) error {
	cdfz, err := run.Build(ctx)
	if err != nil {
		return err
	}
	data, out := run.Temp("data"), run.Temp("archives")
	total, err := write(data)
	if err != nil {
		return err
	}
	j := &job{cdfz: cdfz, data: data, out: out}
	start := time.Now()
	if err := j.run(ctx); err != nil {
		return err
	}
	wall := time.Since(start)
	stored, err := run.BytesBelow(out)
	if err != nil {
		return err
	}
	fmt.Printf("files %d, bytes %d, shards %d, tasks %d, runs %d, killed %d\n", *files, total, *shards, *tasks, j.runs.Load(), j.killed.Load())
	fmt.Printf("archived in %.1f s: %.0f files/s, %.0f MB/s, %d bytes\n", wall.Seconds(), float64(*files)/wall.Seconds(), float64(total)/wall.Seconds()/1e6, stored)
	if err := j.check(); err != nil {
		return err
	}
	if _, err := run.Command(ctx, append([]string{cdfz, "receipts", "-q"}, j.receipts...)...); err != nil {
		return err
	}
	back := run.Temp("back")
	if _, err := run.Command(ctx, cdfz, "restore", "-q", "-o", back+"/", out); err != nil {
		return err
	}
	return compare(data, back)
}

// write makes the tree, and returns its size.
func write(dir string) (int64, error) {
	if *size == 0 {
		return trees.Write(dir, *files)
	}
	f, err := fields.Synthetic(*size)
	if err != nil {
		return 0, err
	}
	var b bytes.Buffer
	if _, err := f.WriteTo(&b); err != nil {
		return 0, err
	}
	image := b.Bytes()
	for i := range *files {
		name := filepath.Join(dir, fmt.Sprintf("%02d", i%50), fmt.Sprintf("%d.nc", i))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return 0, err
		}
		// Every file is another one: its last value is the number of the file.
		copy(image[len(image)-4:], []byte{0, byte(i >> 16), byte(i >> 8), byte(i)})
		if err := run.WriteFile(name, func(w io.Writer) error { _, err := w.Write(image); return err }); err != nil {
			return 0, err
		}
	}
	return int64(len(image)) * int64(*files), nil
}

// compare prints how many files below two folders are the same.
func compare(data, back string) error {
	names, err := namesBelow(data)
	if err != nil {
		return err
	}
	same := 0
	for name := range names {
		want, err := os.ReadFile(filepath.Join(data, name))
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(back, name))
		if err != nil {
			return err
		}
		if bytes.Equal(want, got) {
			same++
		}
	}
	fmt.Printf("restored and compared: %d of %d are the same\n", same, len(names))
	if same != len(names) {
		return errors.New("restored files differ")
	}
	return nil
}
