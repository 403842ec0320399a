package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/cdfz-format/cdfz/bench/internal/run"
)

// comparePresets archives and verifies the files of each class with each preset, one command for all files of
// a class. It prints ratios, and the processor time of the commands beside that of the first preset.
func comparePresets(ctx context.Context, rep *run.Report, program string, names, presets []string) error {
	peers, err := readPeers()
	if err != nil {
		return err
	}
	t := rep.Table("files %s", "preset %s", "number %d", "ratio %.3f", "xz -9e / cdfz %.3f", "archive, MB/s %.1f", "time %.2f",
		"verify, MB/s %.0f", "time %.2f", "behind a peer %s")
	sorted, err := sortFiles(ctx, names)
	if err != nil {
		return err
	}
	all := make([]result, len(presets))
	for _, c := range sorted {
		if c.bytes == 0 {
			continue
		}
		var tasks []*run.Task
		for _, preset := range presets {
			to := c.archives(preset)
			tasks = append(tasks, &run.Task{Name: "archive " + preset, Run: func(int) (run.Cost, error) {
				if err := os.RemoveAll(to); err != nil {
					return run.Cost{}, err
				}
				return run.Command(ctx, program, "archive", "-q", "--preset", preset, "-o", to, c.dir)
			}}, &run.Task{Name: "verify " + preset, Run: func(int) (run.Cost, error) {
				return run.Command(ctx, program, "verify", "-q", to)
			}})
		}
		if err := run.Turns(*rounds, false, tasks...); err != nil {
			return err
		}
		of := make([]result, len(presets))
		for i, preset := range presets {
			s, err := c.compare(preset, peers)
			if err != nil {
				return err
			}
			of[i] = result{s, c.bytes, tasks[2*i].CPU().Seconds(), tasks[2*i+1].CPU().Seconds()}
			all[i].add(of[i])
		}
		rows(t, c.name, presets, of)
	}
	rows(t, "all", presets, all)
	return nil
}

// result is of the archives of some files with one preset.
type result struct {
	comparison
	bytes           int64   // of the netCDF files
	archive, verify float64 // seconds of processor time
}

func (r *result) add(s result) {
	r.ratios = append(r.ratios, s.ratios...)
	r.xz = append(r.xz, s.xz...)
	r.behind += s.behind
	r.compared += s.compared
	r.bytes += s.bytes
	r.archive += s.archive
	r.verify += s.verify
}

// rows adds a row for each preset.
func rows(t *run.Table, name string, presets []string, of []result) {
	for i, r := range of {
		mb := float64(r.bytes) / 1e6
		t.Row(name, presets[i], len(r.ratios), mean(r.ratios), mean(r.xz), mb/r.archive, r.archive/of[0].archive,
			mb/r.verify, r.verify/of[0].verify, fmt.Sprintf("%d of %d", r.behind, r.compared))
	}
}

// class is a folder with the files of a class, uncompressed.
type class struct {
	name  string
	dir   string
	bytes int64
}

// archives is the folder of archives with a preset.
func (c *class) archives(preset string) string { return c.dir + "-" + preset + "/" }

// sortFiles writes the files into a folder for each class. It leaves out those that are not classic netCDF.
func sortFiles(ctx context.Context, names []string) ([]class, error) {
	list := make([]class, len(classes))
	for i, c := range classes {
		list[i] = class{name: c.name, dir: run.Temp(fmt.Sprint("class", i))}
		if err := os.MkdirAll(list[i].dir, 0o777); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		image, err := uncompressed(ctx, name)
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(string(image), "CDF") {
			run.Say("left out: %s: no classic netCDF file", name)
			continue
		}
		c := &list[classOf(int64(len(image)))]
		if err := os.WriteFile(filepath.Join(c.dir, filepath.Base(name)), image, 0o666); err != nil {
			return nil, err
		}
		c.bytes += int64(len(image))
	}
	return list, nil
}

// uncompressed returns the bytes of a file that may be compressed with gzip or xz.
func uncompressed(ctx context.Context, name string) ([]byte, error) {
	program := map[string]string{".gz": "gzip", ".xz": "xz"}[filepath.Ext(name)]
	if program == "" {
		return os.ReadFile(name)
	}
	return exec.CommandContext(ctx, program, "-dc", name).Output()
}

// comparison is of the sizes of archives with those of peers.
type comparison struct {
	ratios, xz       []float64
	behind, compared int // the best peer is smaller by more than 1 %
}

func (c *class) compare(preset string, peers map[string]map[string]int64) (s comparison, err error) {
	files, err := os.ReadDir(c.dir)
	if err != nil {
		return s, err
	}
	for _, f := range files {
		image, err := f.Info()
		if err != nil {
			return s, err
		}
		archive, err := os.Stat(c.archives(preset) + f.Name() + ".cdfz")
		if errors.Is(err, fs.ErrNotExist) { // named x.nc.cdfz
			archive, err = os.Stat(c.archives(preset) + f.Name() + ".nc.cdfz")
		}
		if err != nil {
			return s, err
		}
		size := float64(archive.Size())
		s.ratios = append(s.ratios, float64(image.Size())/size)
		best := math.Inf(1)
		for peer, n := range peers[f.Name()] {
			best = min(best, float64(n))
			if peer == "xz9e" {
				s.xz = append(s.xz, float64(n)/size)
			}
		}
		if !math.IsInf(best, 1) {
			s.compared++
		}
		if size > 1.01*best {
			s.behind++
		}
	}
	return s, nil
}
