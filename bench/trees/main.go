// Trees measures cdfz on a folder of many small files beside gzip -r: files a second,
// processor time and bytes. It makes the files, copies them for each round, since gzip puts
// its files beside them, and prints the median of the rounds.
//
// gzip keeps its sources (-k), as cdfz does, and nothing is deleted before the last round: for
// minutes after a file is deleted, ext4 passes over its inode at each creation of a file, which
// would slow down what is measured next.
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

// task is a command that is measured.
type task struct {
	name, wrote string
	beside      bool // it writes beside its sources
	args        []string
}

// tasksOf returns the tasks of a round, which read data and its copy, and write to new folders.
func tasksOf(cdfz []string, data, copied, archives, back string) []task {
	archive := slices.Concat([]string{cdfz[0], "archive", "-q", "-o", archives + "/"}, cdfz[1:], []string{data})
	return []task{
		{"gzip -r -k", copied, true, []string{"gzip", "-r", "-k", copied}},
		{"cdfz archive", archives, false, archive},
		{"cdfz archive, again", archives, false, archive},
		{"cdfz verify", archives, false, []string{cdfz[0], "verify", "-q", archives}},
		{"cdfz restore", back, false, []string{cdfz[0], "restore", "-q", "-o", back + "/", archives}},
	}
}

func run(base string, n, rounds int, cdfz []string) error {
	dir, err := os.MkdirTemp(base, "cdfz-trees-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	data := filepath.Join(dir, "data")
	size, err := trees.Write(data, n)
	if err != nil {
		return err
	}
	var tasks []task
	var results [][]result
	for i := range rounds {
		copied := filepath.Join(dir, fmt.Sprint("gzip", i))
		if err := os.CopyFS(copied, os.DirFS(data)); err != nil {
			return err
		}
		tasks = tasksOf(cdfz, data, copied, filepath.Join(dir, fmt.Sprint("archives", i)), filepath.Join(dir, fmt.Sprint("back", i)))
		results = slices.Grow(results, len(tasks))[:len(tasks)]
		for k, t := range tasks {
			r, err := measure(t.args)
			if err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
			if r.bytes, err = bytesBelow(t.wrote); err != nil {
				return err
			}
			if t.beside {
				r.bytes -= size
			}
			results[k] = append(results[k], r)
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
	// What others have written is not to be flushed by a command that is measured.
	if err := exec.Command("sync").Run(); err != nil {
		return result{}, err
	}
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
