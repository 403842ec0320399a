// Package bench is the verb bench, which measures block sizes and chains of filters on
// a file.
package bench

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/chains"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/spec"
)

// bencher runs the verb bench.
type bencher struct {
	run     *cli.Run
	blocks  []int64
	chains  []benchChain
	repeat  int
	csvName string
	plot    string
}

// benchChain is a chain to measure: a preset, or one chain for all variables.
type benchChain struct {
	name   string
	preset archive.Preset
	chain  filters.Chain // if preset is ""
}

// benchRow is a line of the result. Speeds are in millions of image bytes per second,
// medians of the runs.
type benchRow struct {
	Chain       string  `json:"chain"`
	Block       int64   `json:"block"`
	ArchiveSize int64   `json:"archive_size"`
	Ratio       float64 `json:"ratio"`
	Write       float64 `json:"write_mb_s"`
	Read        float64 `json:"read_mb_s"`
	Core        float64 `json:"core_mb_s"` // read by one core
	Point       float64 `json:"point_ms"`  // to read one random value without a cache
	// Front names the goals (write, read, point) for which no other row is better in both
	// the goal and the ratio, beyond what runs differ by.
	Front []string `json:"front"`

	noise [3]float64 // by which the runs differ in each goal, as a fraction
}

type benchReport struct {
	File    string     `json:"file"`
	Size    int64      `json:"size"`
	Count   int        `json:"count"`   // of runs, at least
	Workers int        `json:"workers"` // 0 for all processors
	Results []benchRow `json:"results"`
}

var (
	defaultBlocks = []string{"16K", "64K", "256K", "1M", "4M"}
	defaultChains = []string{
		"none", "fast", "default", "portable", "max",
		"zstd", "shuffle+deflate", "shuffle+lz4", "shuffle+bzip2", "shuffle+zstd",
	}
)

// Command makes the verb bench.
func Command(run *cli.Run) *cobra.Command {
	v := &bencher{run: run}
	var blocks, chains []string
	cmd := &cobra.Command{
		Use:   "bench [flags] FILE",
		Short: "Measure block sizes and filters on a file",
		Long: `Archives a classic netCDF file with each block size and each chain of filters and
reads it back: ratio, speed of writing and reading, on all cores and on one, and the time
to read one value at a random place. The archives are temporary files.

All archives have the layout of cdfz archive --zarr always, so that every row has the
blocks and filters that it is named after. With --zarr auto, cdfz archive stores small
variables together, which makes small files smaller than the table shows.

Column "best" marks the rows that no other row beats in both ratio and speed, by more
than runs differ: w of writing, r of reading, p of reading one value. --plot draws the
ratio, the speeds and the time of one value over the block size.

A chain is a preset (fast, default, portable, max), or none, or filters by name as in
shuffle+zstd or shuffle+zstd:19, or filters as -F takes them: 2|32015,19.`,
		Example: cli.Examples(
			"cdfz bench tas.nc",
			"cdfz bench --blocks 64K,1M --chains 'default shuffle+zstd:19' tas.nc",
			"cdfz bench --csv tas.csv --plot tas.svg tas.nc"),
		Args:              cli.OneFile,
		ValidArgsFunction: cli.CompleteFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := v.parse(blocks, chains); err != nil {
				return err
			}
			if err := v.do(cmd.Context(), args[0]); err != nil {
				run.Term.FailFile(terminal.ShowName(args[0]), err)
			}
			return nil
		},
	}
	cli.Flags(cmd, "What to measure", func(f *pflag.FlagSet) {
		f.StringSliceVar(&blocks, "blocks", defaultBlocks, "block `SIZES`")
		f.StringArrayVar(&chains, "chains", nil, "`CHAINS` separated by spaces; repeatable;\ndefault: presets and common chains")
		f.Var(cli.CountFlag(&v.repeat, 1000), "count", "number of runs, of which the table shows medians;\ndefault: 3, more for small files, 1 above 256 MiB")
	})
	cli.Flags(cmd, cli.OutputFlags, func(f *pflag.FlagSet) {
		f.StringVar(&v.csvName, "csv", "", "write the result as CSV to `FILE` too;\n-: to standard output, without the table")
		f.StringVar(&v.plot, "plot", "", "draw the result into `FILE`, which ends in .svg")
	})
	run.ForceFlag(cmd)
	run.JSONFlag(cmd)
	return cmd
}

func (v *bencher) parse(blocks, chains []string) error {
	for _, s := range blocks {
		n, err := display.ParseSize(s)
		if err == nil && (n < archive.MinBlock || n > archive.MaxBlock) {
			err = fmt.Errorf("expected %s to %s", display.SizeName(archive.MinBlock), display.SizeName(archive.MaxBlock))
		}
		if err != nil {
			return fmt.Errorf("--blocks %s: %w", s, err)
		}
		v.blocks = append(v.blocks, n)
	}
	if v.csvName == terminal.StdoutName && v.run.Term.JSON {
		return errors.New("--json: the report cannot go to standard output together with the CSV")
	}
	if v.plot != "" && !strings.EqualFold(filepath.Ext(v.plot), ".svg") {
		return fmt.Errorf("--plot %s: expected a name that ends in .svg", terminal.ShowName(v.plot))
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

// chainWords returns the words that chains are made of.
func chainWords() []string {
	words := []string{"none"}
	for _, p := range archive.Presets {
		words = append(words, string(p))
	}
	for _, id := range filters.Registered() {
		words = append(words, filters.Name(id))
	}
	return words
}

// parseBenchChain parses a chain to measure.
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
		return b, chains.Check(b.chain)
	}
	for word := range strings.SplitSeq(s, "+") {
		name, level, given := strings.Cut(word, ":")
		f, ok := filters.ByName(name)
		if !ok {
			err := fmt.Errorf("%q is neither a preset nor a filter", name)
			if near := display.Nearest(name, chainWords()); near != "" {
				return b, terminal.Hinted(err, "did you mean %s?", near)
			}
			return b, err
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
	return b, chains.Check(b.chain)
}

func (v *bencher) do(ctx context.Context, name string) error {
	in, err := v.run.In.Open(ctx, name)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := fileio.RefuseArchive(in); err != nil {
		return err
	}
	h, err := cdf3.Read(in.R, in.Size)
	if err != nil {
		return err
	}
	outputs, err := v.outputs(ctx)
	for _, o := range outputs {
		defer o.sink.Abort()
	}
	if err != nil {
		return err
	}
	rep := &benchReport{File: terminal.ReportName(name), Size: in.Size, Count: v.repeat, Workers: v.run.Limits.Workers}
	if err := v.measure(ctx, in, h, rep); err != nil {
		return err
	}
	markFronts(rep.Results)
	for _, o := range outputs {
		if err := o.write(o.sink, rep); err != nil {
			return err
		}
		if err := o.sink.Commit(ctx); err != nil {
			return err
		}
	}
	switch {
	case v.csvName == terminal.StdoutName:
		return writeCSV(v.run.Term.Out, rep)
	case v.run.Term.JSON:
		v.run.Term.Emit(rep)
	default:
		v.printBench(rep)
	}
	return nil
}

// measure makes the archives in rounds, so that what slows the machine for a while does not fall
// on one chain.
func (v *bencher) measure(ctx context.Context, in *fileio.Input, h *cdf3.Header, rep *benchReport) error {
	whole := image{in.R, in.Size}
	var cells []runs
	for _, c := range v.chains {
		for _, block := range v.blocks {
			cells = append(cells, runs{chain: c, block: block})
		}
	}
	most := rep.Count
	if rep.Count == 0 {
		rep.Count, most = minRuns, maxRuns
		if in.Size > largeRun {
			rep.Count, most = 1, 1
		}
	}
	if !v.run.Term.Quiet {
		took, err := v.estimate(ctx, whole, h, rep.Count)
		if err != nil {
			return err
		}
		v.run.Term.Message("%s of %s, written and read %s: about %s", display.Count(int64(len(cells)), "archive"), display.Size(in.Size),
			display.Count(int64(rep.Count), "time"), took.Round(time.Second))
	}
	passes := 2 * rep.Count * len(cells)
	v.run.Term.StartProgress("bench", in.Size*int64(passes))
	defer v.run.Term.StopProgress()
	pass := 0
	step := func() func(int64) {
		pass++
		if pass > passes {
			return nil
		}
		return v.run.Term.Step(in.Name, in.Size, pass-1, passes)
	}
	for round := range most {
		for i := range cells {
			c := &cells[i]
			if round >= rep.Count && c.took > cellTime {
				continue
			}
			if err := v.once(ctx, whole, h, c, step(), step()); err != nil {
				return fmt.Errorf("%s, blocks of %d: %w", c.chain.name, c.block, err)
			}
		}
	}
	for i := range cells {
		rep.Results = append(rep.Results, cells[i].row(in.Size))
	}
	return nil
}

// output is a file that receives the result.
type output struct {
	sink  *fileio.Sink
	write func(io.Writer, *benchReport) error
}

// outputs starts the files for CSV and pictures, before anything is measured.
func (v *bencher) outputs(ctx context.Context) (list []output, err error) {
	add := func(name string, write func(io.Writer, *benchReport) error) {
		var s *fileio.Sink
		if err == nil {
			if s, err = v.run.Target(name, nil).Sink(ctx); err == nil {
				list = append(list, output{s, write})
			}
		}
	}
	if v.csvName != "" && v.csvName != terminal.StdoutName {
		add(v.csvName, writeCSV)
	}
	if v.plot != "" {
		add(v.plot, writePicture)
	}
	return list, err
}

func (v *bencher) printBench(rep *benchReport) {
	fmt.Fprintf(v.run.Term.Out, "%s: %s, median of %d\n\n", display.Printable(terminal.ShowName(rep.File)), display.Size(rep.Size), rep.Count)
	rows := [][]string{{"filters", "block", "archive", "ratio", "write MB/s", "read MB/s", "one core", "point ms", "best"}}
	for _, r := range rep.Results {
		rows = append(rows, []string{
			r.Chain, display.SizeName(r.Block), strconv.FormatInt(r.ArchiveSize, 10), fmt.Sprintf("%.3f", r.Ratio),
			fmt.Sprintf("%.1f", r.Write), fmt.Sprintf("%.1f", r.Read), fmt.Sprintf("%.1f", r.Core), fmt.Sprintf("%.3f", r.Point),
			initials(r.Front),
		})
	}
	display.WriteTable(v.run.Term.Out, rows, false, true, true, true, true, true, true)
}

// initials joins the first letters of words.
func initials(words []string) (s string) {
	for _, w := range words {
		s += w[:1]
	}
	return s
}

// writeCSV writes the result as CSV.
func writeCSV(w io.Writer, rep *benchReport) error {
	c := csv.NewWriter(w)
	_ = c.Write([]string{"file", "size", "chain", "block", "archive_size", "ratio", "write_mb_s", "read_mb_s", "core_mb_s", "point_ms", "front"})
	for _, r := range rep.Results {
		_ = c.Write([]string{
			rep.File, strconv.FormatInt(rep.Size, 10), r.Chain, strconv.FormatInt(r.Block, 10), strconv.FormatInt(r.ArchiveSize, 10),
			fmt.Sprint(r.Ratio), fmt.Sprint(r.Write), fmt.Sprint(r.Read), fmt.Sprint(r.Core), fmt.Sprint(r.Point), strings.Join(r.Front, " "),
		})
	}
	c.Flush()
	return c.Error()
}
