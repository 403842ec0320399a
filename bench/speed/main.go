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
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/bench/internal/inputs"
	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/lorenz"
)

// minVar is the size of the smallest measured variable, in bytes.
const minVar = 64 << 10

var (
	target        = run.Block(256 << 10)
	blocks        = run.Blocks("variable, spread evenly")
	only          = run.Only("variables (as \"file variable\")")
	typ           = flag.String("type", "", "only variables of this type, such as float")
	level         = lorenz.Default
	duration      = flag.Duration("time", 5*time.Millisecond, "repeat each measurement for about this time; the fastest run counts")
	profileEncode = flag.String("profile-encode", "", "write a CPU profile of encoding to this file")
	profileDecode = flag.String("profile-decode", "", "write a CPU profile of decoding to this file")
)

func main() {
	levels := map[string]lorenz.Level{"fast": lorenz.Fast, "default": lorenz.Default, "max": lorenz.Max}
	name := "default"
	flag.Func("level", "effort: fast, default or max (default \"default\")", func(s string) error {
		l, ok := levels[s]
		if !ok {
			return fmt.Errorf("expected a level of fast, default or max, found %q", s)
		}
		level, name = l, s
		return nil
	})
	run.Dir()
	run.Out()
	run.Main("[FILE | FOLDER]...", 0, math.MaxInt, func(_ context.Context, args []string) error {
		var results []*result
		if err := inputs.Each(args, func(file string, f *archive.File) (err error) {
			results, err = readFile(results, file, f)
			return err
		}); err != nil {
			return err
		}
		if len(results) == 0 {
			return fmt.Errorf("no variable of %d bytes", minVar)
		}
		for _, phase := range []struct {
			profile string
			measure func(*result) error
		}{{*profileEncode, (*result).measureEncode}, {*profileDecode, (*result).measureDecode}} {
			err := profiled(phase.profile, func() error {
				for _, r := range results {
					if err := phase.measure(r); err != nil {
						return fmt.Errorf("%s: %w", r.name, err)
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return report(name, results).Save()
	})
}

// profiled runs f and writes a CPU profile of it to the named file, if any.
func profiled(name string, f func() error) error {
	if name == "" {
		return f()
	}
	return run.WriteFile(name, func(w io.Writer) error {
		if err := pprof.StartCPUProfile(w); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
		return f()
	})
}

// readFile adds the large variables of a file, cut into blocks.
func readFile(results []*result, file string, f *archive.File) ([]*result, error) {
	for i, v := range f.Vars() {
		h := &f.Header().Vars[i]
		r := &result{file: file, name: file + " " + h.Name, typ: h.Type}
		if h.Len < minVar || h.Len > f.Size() || !strings.Contains(r.name, *only) || *typ != "" && *typ != r.typ.String() {
			continue
		}
		raw := make([]byte, h.Len)
		if _, err := io.ReadFull(io.NewSectionReader(v.Values(), 0, h.Len), raw); err != nil {
			return nil, err
		}
		r.cut(raw, h.Shape)
		results = append(results, r)
	}
	return results, nil
}

func report(level string, results []*result) *run.Report {
	r := run.NewReport()
	r.Printf("blocks of about %d bytes, level %s; MB/s of processor time\n\n", *target, level)
	r.Data = r.Table("file %s", "variable %s", "type %s", "blocks %d", "ratio %.4f", "encode %.0f", "decode %.0f", "point/block %.4f")
	for _, v := range results {
		r.Data.Row(v.file, strings.TrimPrefix(v.name, v.file+" "), v.typ.String(), len(v.blocks), v.ratio(), v.encodeSpeed(), v.decodeSpeed(), v.pointShare())
	}
	sha := func(v *result) float64 { return v.sha256 }
	r.Printf("\nFor comparison, SHA-256 in the same run: median %.0f MB/s, 95 %% %.0f\n\n", run.Median(results, sha), run.Quantile(results, 0.95, sha))
	t := r.Table("type %s", "variables %d", "ratio (geometric mean) %.4f", "encode: harmonic %.0f", "median %.0f", "5 % %.0f",
		"decode: harmonic %.0f", "median %.0f", "5 % %.0f", "point/block: median %.3f", "95 % %.3f")
	for _, typ := range []cdf3.Type{0, cdf3.Float, cdf3.Double, cdf3.Short, cdf3.Int, cdf3.Byte, cdf3.Char} {
		list, name := results, "all"
		if typ != 0 {
			name = typ.String()
			list = slices.DeleteFunc(slices.Clone(list), func(r *result) bool { return r.typ != typ })
		}
		if len(list) == 0 {
			continue
		}
		row := []any{name, len(list), math.Exp(mean(list, func(r *result) float64 { return math.Log(r.ratio()) }))}
		for _, of := range []func(*result) float64{(*result).encodeSpeed, (*result).decodeSpeed} {
			harmonic := 1 / mean(list, func(r *result) float64 { return 1 / of(r) })
			row = append(row, harmonic, run.Median(list, of), run.Quantile(list, 0.05, of))
		}
		t.Row(append(row, run.Median(list, (*result).pointShare), run.Quantile(list, 0.95, (*result).pointShare))...)
	}
	return r
}

func mean[T any](list []T, of func(T) float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += of(x)
	}
	return sum / float64(len(list))
}
