package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/bench/internal/run"
)

// job archives the shards of a tree.
type job struct {
	cdfz, data, out string
	receipts        []string // a file for each shard
	runs, killed    atomic.Int64
}

// run archives all shards. Some are killed at a random time, and run again.
func (j *job) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(*tasks)
	for i := range *shards {
		receipts := run.Temp(fmt.Sprintf("r%d.jsonl", i))
		j.receipts = append(j.receipts, receipts)
		args := []string{
			"archive", "-q", "-j", "1", "--shard", fmt.Sprintf("%d/%d", i+1, *shards), "--receipts", receipts,
			"-o", j.out + "/", j.data,
		}
		g.Go(func() error {
			if i%*kills == 0 {
				if err := j.kill(ctx, args); err != nil {
					return err
				}
			}
			j.runs.Add(1)
			_, err := run.Command(ctx, append([]string{j.cdfz}, args...)...)
			return err
		})
	}
	return g.Wait()
}

// kill begins a run and kills it within three seconds.
func (j *job) kill(ctx context.Context, args []string) error {
	ctx, stop := context.WithTimeout(ctx, 100*time.Millisecond+rand.N(3*time.Second))
	defer stop()
	j.runs.Add(1)
	err := exec.CommandContext(ctx, j.cdfz, args...).Run()
	if ctx.Err() != nil {
		j.killed.Add(1)
		return nil
	}
	return err // it was done before
}

// check compares sources, archives and receipts.
func (j *job) check() error {
	have := map[string]int{} // receipts by source
	for _, name := range j.receipts {
		if err := readReceipts(name, have); err != nil {
			return err
		}
	}
	sources, err := namesBelow(j.data)
	if err != nil {
		return err
	}
	archives, err := namesBelow(j.out)
	if err != nil {
		return err
	}
	lost, twice, without := 0, 0, 0
	for name := range sources {
		if !archives[name+".cdfz"] {
			lost++
		}
		switch n := have[filepath.Join(j.data, name)]; {
		case n == 0:
			without++
		case n > 1:
			twice++
		}
	}
	others := len(archives) - (len(sources) - lost)
	fmt.Printf("archives %d, other files %d, receipts %d, sources without an archive %d, without a receipt %d, with several %d\n",
		len(archives)-others, others, len(have), lost, without, twice)
	if lost+without+twice+others+len(have)-len(sources) != 0 {
		return errors.New("the shards have not archived each file once")
	}
	return nil
}

// readReceipts counts the receipts of a file by their sources.
func readReceipts(name string, have map[string]int) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var line struct{ Source string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if line.Source != "" {
			have[line.Source]++
		}
	}
	return lines.Err()
}

// namesBelow returns the files below a folder.
func namesBelow(dir string) (map[string]bool, error) {
	names := map[string]bool{}
	return names, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names[path[len(dir)+1:]] = true
		}
		return err
	})
}
