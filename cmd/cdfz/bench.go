package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/spec"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// bencher is the verb bench.
type bencher struct {
	*app
	blocks  []int64
	chains  []benchChain
	repeat  int
	csvName string
}

// benchChain is a chain to measure: a preset, or one chain for all variables.
type benchChain struct {
	name   string
	preset archive.Preset
	chain  filters.Chain // if preset is ""
}

// benchRow is one line of the result. Speeds are in millions of image bytes a
// second, medians of the runs.
type benchRow struct {
	Chain       string  `json:"chain"`
	Block       int64   `json:"block"`
	ArchiveSize int64   `json:"archive_size"`
	Ratio       float64 `json:"ratio"`
	Write       float64 `json:"write_mb_s"`
	Read        float64 `json:"read_mb_s"`
	Point       float64 `json:"point_ms"` // to read one value somewhere, nothing cached
}

type benchReport struct {
	File    string     `json:"file"`
	Size    int64      `json:"size"`
	Count   int        `json:"count"`
	Workers int        `json:"workers"` // 0: all processors
	Results []benchRow `json:"results"`
}

const (
	benchLarge  = 256 << 20 // from here on once is enough
	benchPoints = 50
)

var (
	defaultBlocks = []string{"16K", "64K", "256K", "1M", "4M"}
	defaultChains = []string{
		"none", "fast", "default", "portable", "max",
		"zstd", "shuffle+deflate", "shuffle+lz4", "shuffle+bzip2", "shuffle+zstd",
	}
)

func (a *app) benchCmd() *cobra.Command {
	v := &bencher{app: a}
	var blocks, chains []string
	cmd := &cobra.Command{
		Use:   "bench [flags] FILE",
		Short: "Measure block sizes and filters on a file",
		Long: `Archives a classic netCDF file with each block size and each chain of filters and
reads it back: ratio, speed of writing and reading, and the time to read one value
at a place chosen at random. The archives are temporary files.

A chain is a preset (fast, default, portable, max), none, filters by name as in
shuffle+zstd or shuffle+zstd:19, or filters as -F takes them: 2|32015,19.`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := v.parse(blocks, chains); err != nil {
				return err
			}
			if err := v.run(cmd.Context(), args[0]); err != nil {
				a.failFile(showName(args[0]), err)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&blocks, "blocks", defaultBlocks, "block `SIZES`")
	f.StringArrayVar(&chains, "chains", nil, "`CHAINS` separated by spaces; repeatable (default: presets and common chains)")
	f.IntVar(&v.repeat, "count", 0, "runs of which the median counts (default 3, above 256 MiB 1)")
	f.StringVar(&v.csvName, "csv", "", "write the result as CSV to `FILE` too")
	a.forceFlag(cmd)
	a.jsonFlag(cmd)
	return cmd
}

func (v *bencher) parse(blocks, chains []string) error {
	if v.repeat < 0 {
		return fmt.Errorf("--count %d: expected 1 or more", v.repeat)
	}
	for _, s := range blocks {
		n, err := parseSize(s)
		if err == nil && (n < archive.MinBlock || n > archive.MaxBlock) {
			err = fmt.Errorf("expected %d to %d bytes", archive.MinBlock, archive.MaxBlock)
		}
		if err != nil {
			return fmt.Errorf("--blocks %s: %w", s, err)
		}
		v.blocks = append(v.blocks, n)
	}
	if len(chains) == 0 {
		chains = defaultChains
	}
	for _, s := range strings.Fields(strings.Join(chains, " ")) {
		c, err := parseBenchChain(s)
		if err != nil {
			return fmt.Errorf("--chains %s: %w", s, err)
		}
		v.chains = append(v.chains, c)
	}
	return nil
}

func parseBenchChain(s string) (benchChain, error) {
	b := benchChain{name: s}
	if p := archive.Preset(s); slices.Contains(archive.Presets, p) {
		b.preset = p
		return b, nil
	}
	if s == "none" {
		return b, nil
	}
	if s[0] >= '0' && s[0] <= '9' {
		var err error
		if b.chain, err = spec.ParseChain(s, nil); err != nil {
			return b, err
		}
		return b, checkChain(b.chain)
	}
	for word := range strings.SplitSeq(s, "+") {
		name, level, given := strings.Cut(word, ":")
		f, ok := filters.ByName(name)
		if !ok {
			return b, fmt.Errorf("%q is neither a preset nor a filter", name)
		}
		if given {
			n, err := strconv.ParseInt(level, 10, 32)
			if err != nil {
				return b, fmt.Errorf("%q: expected a number", level)
			}
			f.Params = []uint32{uint32(n)}
		}
		b.chain = append(b.chain, f)
	}
	return b, checkChain(b.chain)
}

func (v *bencher) run(ctx context.Context, name string) error {
	in, err := v.open(ctx, name)
	if err != nil {
		return err
	}
	defer in.close()
	if err := refuseArchive(in); err != nil {
		return err
	}
	h, err := cdf3.Read(in.r, in.size)
	if err != nil {
		return err
	}
	var csvFile *atomicfile.File
	if v.csvName != "" {
		if csvFile, err = v.create(v.csvName, nil); err != nil {
			return err
		}
		defer csvFile.Close()
	}
	rep := &benchReport{File: reportName(name), Size: in.size, Count: v.repeat, Workers: v.workers}
	if rep.Count == 0 {
		rep.Count = 3
		if in.size > benchLarge {
			rep.Count = 1
		}
	}
	p := v.progress("bench", in.name, in.size*int64(2*rep.Count*len(v.blocks)*len(v.chains)))
	defer p.end()
	step := p.report()
	done := int64(0)
	for _, c := range v.chains {
		for _, block := range v.blocks {
			row, err := v.cell(ctx, in, h, c, block, rep.Count, func(n int64) {
				if step != nil {
					step(done + n)
				}
			})
			if err != nil {
				return fmt.Errorf("%s, blocks of %d: %w", c.name, block, err)
			}
			done += in.size * int64(2*rep.Count)
			rep.Results = append(rep.Results, row)
		}
	}
	p.end()
	if csvFile != nil {
		if err := writeCSV(csvFile, rep); err != nil {
			return err
		}
		if err := v.commit(csvFile); err != nil {
			return err
		}
	}
	if v.json {
		v.emit(rep)
	} else {
		v.printBench(rep)
	}
	return nil
}

// cell measures one chain with one block size.
func (v *bencher) cell(ctx context.Context, in *input, h *cdf3.Header, c benchChain, block int64, repeat int, step func(int64)) (benchRow, error) {
	row := benchRow{Chain: c.name, Block: block}
	opts := archive.WriteOptions{Name: "bench.nc", Block: block, Workers: v.workers, Preset: c.preset}
	if c.preset == "" {
		opts.Filters = []archive.VarFilter{{Vars: []string{"*"}, Chain: c.chain}}
	}
	var write, read, point []float64
	for i := range int64(repeat) {
		opts.Progress = func(n int64) { step(2*i*in.size + n) }
		err := v.once(ctx, in, h, &opts, &row, func(w, r, p float64) {
			write, read, point = append(write, w), append(read, r), append(point, p)
		}, func(n int64) { step((2*i+1)*in.size + n) })
		if err != nil {
			return row, err
		}
	}
	row.Ratio = ratio(in.size, row.ArchiveSize)
	row.Write, row.Read, row.Point = round(median(write), 2), round(median(read), 2), round(median(point), 4)
	return row, nil
}

// once writes and reads one archive and gives both speeds.
func (v *bencher) once(ctx context.Context, in *input, h *cdf3.Header, opts *archive.WriteOptions, row *benchRow, add func(w, r, p float64), step func(int64)) error {
	f, err := atomicfile.Temp()
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<18)
	start := time.Now()
	res, err := archive.Write(ctx, w, in.r, in.size, opts)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return err
	}
	wrote := time.Since(start)
	row.ArchiveSize = res.Size
	r, err := archive.New(f, res.Size, &archive.OpenOptions{Cache: -1})
	if err != nil {
		return err
	}
	start = time.Now()
	if err := r.Image().Copy(ctx, nil, &archive.CopyOptions{Workers: v.workers, Progress: step}); err != nil {
		return err
	}
	took := time.Since(start)
	point, err := points(ctx, r, h)
	if err != nil {
		return err
	}
	mb := float64(in.size) / 1e6
	add(mb/wrote.Seconds(), mb/took.Seconds(), point)
	return nil
}

// points is the median time of reading single values at random places, in
// milliseconds; the places are the same every time.
func points(ctx context.Context, r *archive.File, h *cdf3.Header) (float64, error) {
	n := r.Image().Size() - h.Len
	if n <= 0 {
		return 0, nil
	}
	random := rand.New(rand.NewPCG(1, 2))
	image := r.Image()
	var took []float64
	var b [1]byte
	for range benchPoints {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		off := h.Len + random.Int64N(n)
		start := time.Now()
		if _, err := image.ReadAt(b[:], off); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		took = append(took, time.Since(start).Seconds()*1000)
	}
	return median(took), nil
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	if n := len(x) / 2; len(x)%2 == 1 {
		return x[n]
	} else {
		return (x[n-1] + x[n]) / 2
	}
}

func (v *bencher) printBench(rep *benchReport) {
	fmt.Fprintf(v.out, "%s: %s, median of %d\n\n", printable(showName(rep.File)), size(rep.Size), rep.Count)
	rows := [][]string{{"filters", "block", "archive", "ratio", "write MB/s", "read MB/s", "point ms"}}
	for _, r := range rep.Results {
		rows = append(rows, []string{
			r.Chain, blockName(r.Block), strconv.FormatInt(r.ArchiveSize, 10), fmt.Sprintf("%.3f", r.Ratio),
			fmt.Sprintf("%.1f", r.Write), fmt.Sprintf("%.1f", r.Read), fmt.Sprintf("%.3f", r.Point),
		})
	}
	writeTable(v.out, rows, []bool{false, true, true, true, true, true, true})
}

// blockName is a block size as the flags take it.
func blockName(n int64) string {
	switch {
	case n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + "M"
	case n%(1<<10) == 0:
		return strconv.FormatInt(n>>10, 10) + "K"
	}
	return strconv.FormatInt(n, 10)
}

func writeCSV(w io.Writer, rep *benchReport) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"file", "size", "chain", "block", "archive_size", "ratio", "write_mb_s", "read_mb_s", "point_ms"})
	for _, r := range rep.Results {
		_ = c.Write([]string{
			rep.File, strconv.FormatInt(rep.Size, 10), r.Chain, strconv.FormatInt(r.Block, 10), strconv.FormatInt(r.ArchiveSize, 10),
			fmt.Sprint(r.Ratio), fmt.Sprint(r.Write), fmt.Sprint(r.Read), fmt.Sprint(r.Point),
		})
	}
	c.Flush()
	return c.Error()
}
