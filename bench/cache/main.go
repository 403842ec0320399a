// Cache shows whether a cache of decoded blocks helps and how large it should be, for
// several access patterns, cache sizes and block sizes.
//
//	go run ./bench/cache [flags]
//
// It prints a table and, with -png, draws it. Every figure is the median of -n runs,
// each over a newly opened archive and at different places.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/bench/internal/pack"
	"github.com/cdfz-format/cdfz/cdf3"
)

type options struct {
	file, name, dir, png string
	n                    int
}

func main() {
	var o options
	flag.StringVar(&o.file, "file", "", "a classic netCDF file (default: made by bench/tile)")
	flag.StringVar(&o.name, "var", "", "a variable of type float to read (default: the largest that has records)")
	flag.StringVar(&o.dir, "dir", "", "folder that keeps archives for later runs (default: a temporary one)")
	flag.StringVar(&o.png, "png", "", "draw the figures into this file")
	flag.IntVar(&o.n, "n", 3, "runs")
	flag.Parse()
	if flag.NArg() > 0 || o.n < 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(context.Background(), &o); err != nil {
		fmt.Fprintln(os.Stderr, "cache:", err)
		os.Exit(1)
	}
}

// result holds the figures of a pattern by block size and cache size.
type result map[[2]int64]figure

func run(ctx context.Context, o *options) error {
	dir := o.dir
	var err error
	if dir == "" {
		if dir, err = os.MkdirTemp("", "cache-*"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	if o.file == "" {
		o.file = filepath.Join(dir, "big.nc")
		cmd := exec.CommandContext(ctx, "go", "run", "github.com/cdfz-format/cdfz/bench/tile", "-o", o.file)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("making the file: %w", err)
		}
	}
	v, err := chooseVar(o)
	if err != nil {
		return err
	}
	names := map[int64]string{}
	for _, b := range blockSizes {
		names[b] = filepath.Join(dir, fmt.Sprintf("block-%d.cdfz", b))
		if err := makeArchive(ctx, names[b], o.file, b); err != nil {
			return err
		}
	}
	results := make([]result, len(patterns))
	for i, p := range patterns {
		fmt.Fprintln(os.Stderr, p.name)
		if results[i], err = measurePattern(names, p, v, o.n); err != nil {
			return err
		}
	}
	if err := write(os.Stdout, v, results); err != nil || o.png == "" {
		return err
	}
	return draw(o.png, results)
}

func chooseVar(o *options) (*cdf3.Var, error) {
	f, err := archive.Open(context.Background(), o.file, nil)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := f.Header()
	var best *cdf3.Var
	for i := range h.Vars {
		v := &h.Vars[i]
		switch {
		case v.Type != cdf3.Float || len(v.Shape) < 3:
		case o.name != "" && v.Name == o.name, o.name == "" && v.Record && (best == nil || v.Len > best.Len):
			best = v
		}
	}
	if best == nil {
		return nil, fmt.Errorf("no variable to read")
	}
	return best, nil
}

func makeArchive(ctx context.Context, name, file string, block int64) error {
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	fmt.Fprintln(os.Stderr, "making", filepath.Base(name))
	return pack.File(ctx, name, file, block)
}

// measurePattern measures all sizes in turns.
func measurePattern(names map[int64]string, p pattern, v *cdf3.Var, n int) (result, error) {
	all := map[[2]int64][]figure{}
	for i := range n {
		work := p.reads(rand.New(rand.NewPCG(uint64(i), 9)), v)
		for _, b := range blockSizes {
			for _, c := range cacheSizes {
				f, err := measure(names[b], c, v, work)
				if err != nil {
					return nil, err
				}
				all[[2]int64{b, c}] = append(all[[2]int64{b, c}], f)
			}
		}
	}
	out := result{}
	for k, f := range all {
		slices.SortFunc(f, func(a, b figure) int { return int(a.read - b.read) })
		out[k] = f[len(f)/2]
	}
	return out, nil
}

func write(out io.Writer, v *cdf3.Var, results []result) error {
	fmt.Fprintf(out, "%s; %s; %d processors; %s/%s; %s\n", time.Now().UTC().Format(time.DateOnly), cpuName(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	fmt.Fprintf(out, "variable %s%v\n\n", v.Name, v.Shape)
	for _, p := range patterns {
		fmt.Fprintf(out, "%s: %s\n", p.name, p.what)
	}
	fmt.Fprintf(out, "\nµs of CPU time of a read, and in parentheses the blocks decoded for it, by size of the cache\n\n")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "read\tblocks\t")
	for _, c := range cacheSizes {
		fmt.Fprintf(w, "%s\t", sizeName(c))
	}
	fmt.Fprintln(w)
	for i, p := range patterns {
		for _, b := range blockSizes {
			fmt.Fprintf(w, "%s\t%s\t", p.name, sizeName(b))
			for _, c := range cacheSizes {
				f := results[i][[2]int64{b, c}]
				fmt.Fprintf(w, "%s (%s)\t", digits(float64(f.read)/1e3), digits(f.blocks))
			}
			fmt.Fprintln(w)
		}
	}
	return w.Flush()
}

// digits formats a number with three digits, or with all digits before the point.
func digits(x float64) string {
	switch {
	case x >= 100 || x == 0:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

func cpuName() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.Trim(v, " \t\n:")
		}
	}
	return "unknown processor"
}
