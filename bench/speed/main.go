// Speed measures the numeric codec without files and archives: how fast it encodes and
// decodes the variables of real files on one core, and the cost of a single element.
//
//	go run ./bench/speed [flags] [FILE | FOLDER]...
//
// It cuts the variables of at least 64 KiB in ferret-datasets, and in the corpus that
// CDFZ_CORPUS names, into blocks. Speeds are in 10^6 bytes of blocks per second of
// processor time. Every block is decoded and compared.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cdfz-format/cdfz/bench/internal/fields"
	"github.com/cdfz-format/cdfz/bench/internal/inputs"
	"github.com/cdfz-format/cdfz/bench/internal/tools"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/lorenz"
)

// minVar is the size of the smallest measured variable, in bytes.
const minVar = 64 << 10

type options struct {
	block, blocks int
	level         lorenz.Level
	only, typ     string
	out           string
	time          time.Duration // for each block
	ablation      bool
	encode        string // profiles
	decode        string
}

func main() {
	var o options
	flag.IntVar(&o.block, "block", 256<<10, "approximate bytes of a block")
	flag.IntVar(&o.blocks, "blocks", 8, "most blocks of a variable, spread evenly")
	level := flag.String("level", "default", "effort: fast, default or max")
	flag.StringVar(&o.only, "only", "", "only variables whose \"file variable\" contains this")
	flag.StringVar(&o.typ, "type", "", "only variables of this type, such as float")
	flag.StringVar(&o.out, "out", "", "also write OUT.txt and OUT.tsv")
	flag.DurationVar(&o.time, "time", 5*time.Millisecond, "repeat each measurement for about this time")
	flag.BoolVar(&o.ablation, "ablation", false, "print the ratio without each part of the codec, and no speeds")
	flag.StringVar(&o.encode, "profile-encode", "", "write a CPU profile of encoding to this file")
	flag.StringVar(&o.decode, "profile-decode", "", "write a CPU profile of decoding to this file")
	flag.Parse()
	if err := run(&o, *level, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(1)
	}
}

func run(o *options, level string, names []string) error {
	levels := map[string]lorenz.Level{"fast": lorenz.Fast, "default": lorenz.Default, "max": lorenz.Max}
	var ok bool
	if o.level, ok = levels[level]; !ok {
		return fmt.Errorf("expected a level of fast, default or max, found %q", level)
	}
	if len(names) == 0 {
		names = []string{fields.FerretDir}
	}
	files, err := inputs.Find(names, os.Getenv("CDFZ_CORPUS"))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "speed-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var results []*result
	for _, name := range files {
		r, err := readFile(name, filepath.Join(dir, "image.nc"), o)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		results = append(results, r...)
	}
	if len(results) == 0 {
		return fmt.Errorf("no variable of %d bytes", minVar)
	}
	if o.ablation {
		return writeAblation(os.Stdout, o, results)
	}
	for _, phase := range []struct {
		profile string
		measure func(*result, *options) error
	}{{o.encode, (*result).measureEncode}, {o.decode, (*result).measureDecode}} {
		err := profiled(phase.profile, func() error {
			for _, r := range results {
				if err := phase.measure(r, o); err != nil {
					return fmt.Errorf("%s %s: %w", r.file, r.name, err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	machine := tools.NewMachine()
	report := func(w io.Writer) error { return writeText(w, &machine, o, level, results) }
	if err := report(os.Stdout); err != nil || o.out == "" {
		return err
	}
	if err := tools.WriteFile(o.out+".txt", report); err != nil {
		return err
	}
	return tools.WriteFile(o.out+".tsv", func(w io.Writer) error { return writeTable(w, results, "\t") })
}

// profiled runs f and writes a CPU profile of it to the named file, if any.
func profiled(name string, f func() error) error {
	if name == "" {
		return f()
	}
	return tools.WriteFile(name, func(w io.Writer) error {
		if err := pprof.StartCPUProfile(w); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
		return f()
	})
}

// wants reports whether a variable is to be measured.
func (o *options) wants(r *result) bool {
	return strings.Contains(r.file+" "+r.name, o.only) && (o.typ == "" || o.typ == r.typ.String())
}

// readFile returns the large variables of a file, cut into blocks.
func readFile(name, image string, o *options) ([]*result, error) {
	f, err := inputs.Open(name, image)
	if err != nil || f == nil {
		return nil, err
	}
	defer f.Close()
	var out []*result
	for i, v := range f.Vars() {
		h := &f.Header().Vars[i]
		r := &result{file: filepath.Base(strings.TrimSuffix(name, ".gz")), name: h.Name, typ: h.Type}
		if h.Len < minVar || h.Len > f.Size() || !o.wants(r) {
			continue
		}
		raw := make([]byte, h.Len)
		if _, err := io.ReadFull(io.NewSectionReader(v.Values(), 0, h.Len), raw); err != nil {
			return nil, err
		}
		r.cut(raw, h.Shape, o)
		out = append(out, r)
	}
	return out, nil
}

// writeText writes the table and its summary.
func writeText(w io.Writer, m *tools.Machine, o *options, level string, results []*result) error {
	fmt.Fprintf(w, "%s\nblocks of about %d bytes, level %s; MB/s of processor time\n\n", m, o.block, level)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if err := writeTable(tw, results, "\t"); err != nil {
		return err
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	of := sorted(results, func(r *result) float64 { return r.sha256 })
	fmt.Fprintf(w, "\nFor comparison, SHA-256 in the same run: median %.0f MB/s, 95 %% %.0f\n\n", of[len(of)/2], of[len(of)*19/20])
	tw = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "type\tvariables\tratio (geometric mean)\tencode: harmonic\tmedian\t5 %\tdecode: harmonic\tmedian\t5 %\tpoint/block: median\t95 %")
	for _, t := range []cdf3.Type{0, cdf3.Float, cdf3.Double, cdf3.Short, cdf3.Int, cdf3.Byte, cdf3.Char} {
		s := results
		if t != 0 {
			s = slices.DeleteFunc(slices.Clone(s), func(r *result) bool { return r.typ != t })
		}
		if len(s) > 0 {
			writeSummary(tw, t, s)
		}
	}
	return tw.Flush()
}

func writeSummary(w io.Writer, t cdf3.Type, s []*result) {
	name := "all"
	if t != 0 {
		name = t.String()
	}
	logs := 0.0
	for _, r := range s {
		logs += math.Log(r.ratio())
	}
	fmt.Fprintf(w, "%s\t%d\t%.4f", name, len(s), math.Exp(logs/float64(len(s))))
	for _, of := range []func(*result) float64{(*result).encodeSpeed, (*result).decodeSpeed} {
		v := sorted(s, of)
		sum := 0.0
		for _, x := range v {
			sum += 1 / x
		}
		fmt.Fprintf(w, "\t%.0f\t%.0f\t%.0f", float64(len(v))/sum, v[len(v)/2], v[len(v)/20])
	}
	v := sorted(s, (*result).pointShare)
	fmt.Fprintf(w, "\t%.3f\t%.3f\n", v[len(v)/2], v[len(v)*19/20])
}

func sorted(s []*result, of func(*result) float64) []float64 {
	v := make([]float64, len(s))
	for i, r := range s {
		v[i] = of(r)
	}
	slices.SortFunc(v, cmp.Compare[float64])
	return v
}

func writeTable(w io.Writer, results []*result, sep string) error {
	fmt.Fprintln(w, strings.Join([]string{"file", "variable", "type", "blocks", "ratio", "encode", "decode", "point/block"}, sep))
	for _, r := range results {
		_, err := fmt.Fprintln(w, strings.Join([]string{r.file, r.name, r.typ.String(), fmt.Sprint(len(r.blocks)),
			fmt.Sprintf("%.4f", r.ratio()), fmt.Sprintf("%.0f", r.encodeSpeed()), fmt.Sprintf("%.0f", r.decodeSpeed()),
			fmt.Sprintf("%.4f", r.pointShare())}, sep))
		if err != nil {
			return err
		}
	}
	return nil
}
