// Trees measures cdfz on a folder of many small files beside gzip -r: files a second,
// processor time and bytes. It makes the files, copies them for each round, since gzip -r
// replaces them, and prints the median of the rounds.
//
//	go run ./bench/trees -n 10000 -rounds 5 [-dir DIR] bin/cdfz [FLAG…]
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/cdfz-format/cdfz/testdata/trees"
)

func main() {
	n := flag.Int("n", 10000, "number of files")
	rounds := flag.Int("rounds", 5, "number of rounds")
	dir := flag.String("dir", os.TempDir(), "folder to work in")
	flag.Parse()
	if flag.NArg() < 1 || *n < 1 || *rounds < 1 {
		fmt.Fprintln(os.Stderr, "usage: trees [-n FILES] [-rounds N] [-dir DIR] CDFZ [FLAG…]")
		os.Exit(2)
	}
	if err := run(*dir, *n, *rounds, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "trees:", err)
		os.Exit(1)
	}
}

// result is what one command took.
type result struct {
	wall, cpu time.Duration
	bytes     int64 // below the folder that it wrote
}

func run(base string, n, rounds int, cdfz []string) error {
	dir, err := os.MkdirTemp(base, "cdfz-trees-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	data, copied, archives := filepath.Join(dir, "data"), filepath.Join(dir, "gzip"), filepath.Join(dir, "archives")
	size, err := trees.Write(data, n)
	if err != nil {
		return err
	}
	tasks := []struct {
		name, wrote string
		args        []string
	}{
		{"gzip -r", copied, []string{"gzip", "-r", copied}},
		{"cdfz archive", archives, slices.Concat([]string{cdfz[0], "archive", "-q", "-o", archives + "/"}, cdfz[1:], []string{data})},
		{"cdfz archive, again", archives, slices.Concat([]string{cdfz[0], "archive", "-q", "-o", archives + "/"}, cdfz[1:], []string{data})},
		{"cdfz verify", archives, []string{cdfz[0], "verify", "-q", archives}},
		{"cdfz restore", filepath.Join(dir, "back"), []string{cdfz[0], "restore", "-q", "-o", filepath.Join(dir, "back") + "/", archives}},
	}
	results := make([][]result, len(tasks))
	for range rounds {
		for _, old := range []string{copied, archives, filepath.Join(dir, "back")} {
			if err := os.RemoveAll(old); err != nil {
				return err
			}
		}
		if err := os.CopyFS(copied, os.DirFS(data)); err != nil {
			return err
		}
		for i, t := range tasks {
			r, err := measure(t.args)
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			if r.bytes, err = bytesBelow(t.wrote); err != nil {
				return err
			}
			results[i] = append(results[i], r)
		}
	}
	fmt.Printf("%d files, %d bytes, median of %d rounds\n", n, size, rounds)
	fmt.Printf("%-20s %10s %10s %10s %12s %8s\n", "", "wall s", "cpu s", "files/s", "bytes", "x gzip")
	base0 := median(results[0], func(r result) time.Duration { return r.wall })
	for i, t := range tasks {
		wall := median(results[i], func(r result) time.Duration { return r.wall })
		cpu := median(results[i], func(r result) time.Duration { return r.cpu })
		fmt.Printf("%-20s %10.2f %10.2f %10.0f %12d %8.2f\n", t.name, wall.Seconds(), cpu.Seconds(), float64(n)/wall.Seconds(), results[i][0].bytes, base0.Seconds()/wall.Seconds())
	}
	return nil
}

func measure(args []string) (result, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	start := time.Now()
	err := cmd.Run()
	if err != nil {
		return result{}, err
	}
	return result{wall: time.Since(start), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}, nil
}

func median(list []result, of func(result) time.Duration) time.Duration {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b result) int { return cmp.Compare(of(a), of(b)) })
	return of(list[len(list)/2])
}

// bytesBelow returns the sum of the sizes of all files below a folder.
func bytesBelow(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := d.Info()
		if err == nil {
			sum += st.Size()
		}
		return err
	})
	return sum, err
}
