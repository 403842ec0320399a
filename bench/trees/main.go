// Trees compares cdfz with gzip -r on a folder of many small files: files per second,
// processor time and bytes. It makes the files, and copies them for each round, since gzip
// writes next to its sources.
//
// gzip keeps its sources (-k), as cdfz does, and nothing is deleted before the last round: for
// minutes after a file is deleted, ext4 passes over its inode whenever a file is created, which
// would slow down what is measured next.
//
//	go run ./bench/trees -files 10000 -n 5 [FLAG]...   # flags of cdfz archive
package main

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/testdata/trees"
)

var (
	rounds = run.Rounds(5)
	files  = run.Count("files", 10000, "number of files")
)

func main() {
	run.Cdfz()
	run.Dir()
	run.Out()
	run.Main("[FLAG]...", 0, 100, compare)
}

func compare(ctx context.Context, flags []string) error {
	cdfz, err := run.Build(ctx)
	if err != nil {
		return err
	}
	data := run.Temp("data")
	size, err := trees.Write(data, *files)
	if err != nil {
		return err
	}
	folder := func(name string, round int) string { return run.Temp(fmt.Sprint(name, round)) }
	var written []int64
	task := func(name, to string, args ...string) *run.Task {
		k := len(written)
		written = append(written, 0)
		return &run.Task{Name: name, Run: func(round int) (run.Cost, error) {
			if to == "gzip" {
				if err := os.CopyFS(folder(to, round), os.DirFS(data)); err != nil {
					return run.Cost{}, err
				}
			}
			// A command that is measured must not flush what others have written.
			if _, err := run.Command(ctx, "sync"); err != nil {
				return run.Cost{}, err
			}
			c, err := run.Command(ctx, run.Fill(args, map[string]string{
				"GZIP": folder("gzip", round), "ARCHIVES": folder("archives", round), "ARCHIVES/": folder("archives", round) + "/", "BACK/": folder("back", round) + "/",
			})...)
			if err == nil {
				written[k], err = run.BytesBelow(folder(to, round))
			}
			return c, err
		}}
	}
	archive := slices.Concat([]string{cdfz, "archive", "-q", "-o", "ARCHIVES/"}, flags, []string{data})
	tasks := []*run.Task{
		task("gzip -r -k", "gzip", "gzip", "-r", "-k", "GZIP"),
		task("cdfz archive", "archives", archive...),
		task("cdfz archive, again", "archives", archive...),
		task("cdfz verify", "archives", cdfz, "verify", "-q", "ARCHIVES"),
		task("cdfz restore", "back", cdfz, "restore", "-q", "-o", "BACK/", "ARCHIVES"),
	}
	if err := run.Turns(*rounds, false, tasks...); err != nil {
		return err
	}
	written[0] -= size // the sources
	r := run.NewReport()
	r.Printf("%d files, %d bytes, medians of %d rounds\n\n", *files, size, *rounds)
	t := r.Table("%s", "wall s %.2f", "CPU s %.2f", "files/s %.0f", "bytes %d", "x gzip %.2f")
	for i, k := range tasks {
		w := k.Wall()
		t.Row(k.Name, w, k.CPU(), float64(*files)/w.Seconds(), written[i], tasks[0].Wall().Seconds()/w.Seconds())
	}
	return r.Save()
}
