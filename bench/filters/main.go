// Filters measures the speed and ratio of every filter on blocks of real files, and compares
// them with other implementations in the same run: numcodecs, HDF5's filters and plugins, and
// the shuffles inside C-Blosc.
//
//	go run ./bench/filters [flags] [FILE | FOLDER]...
//	go run -tags purego ./bench/filters -only shuffle     # without assembly
//
// It takes blocks from the variables of ferret-datasets, and of the corpus that CDFZ_CORPUS
// names. Each round measures cdfz and its peers in turns. Speeds are in 10^6 bytes of
// decoded blocks per second of processor time.
package main

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/bench/internal/run"
	_ "github.com/cdfz-format/cdfz/filters/all"
)

var (
	size   = run.Block(256 << 10)
	blocks = run.Blocks("type of elements")
	rounds = run.Rounds(5)
	times  = run.Count("times", 3, "run each block this often in a round; the fastest run counts")
	only   = run.Only("filters")
)

func main() {
	run.Dir()
	run.Out()
	run.Main("[FILE | FOLDER]...", 0, math.MaxInt, func(ctx context.Context, args []string) error {
		sample, err := takeSample(args)
		if err != nil {
			return err
		}
		p, err := startPeers(ctx)
		if err != nil {
			return err
		}
		defer p.close()
		var results []*result
		for _, c := range cases {
			if !strings.Contains(c.name, *only) {
				continue
			}
			r, err := c.measure(p, sample)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			run.Say("%s", c.name)
			results = append(results, r...)
		}
		return report(p.versions, sample, results).Save()
	})
}

func report(versions map[string]string, sample []*block, results []*result) *run.Report {
	counts := map[string]int{}
	for _, b := range sample {
		counts[b.dtype()]++
	}
	assembly := "with"
	if pureGo() {
		assembly = "without"
	}
	r := run.NewReport()
	r.AddVersion(versions["numcodecs"])
	r.AddVersion(versions["hdf5"])
	r.Printf("%s assembly; medians of %d rounds; blocks of %d bytes by type: %v\n", assembly, *rounds, *size, counts)
	r.Printf("MB/s of processor time; cdfz/peer: how many times as fast cdfz is\n\n")
	t := r.Table("filter %s", "by %s", "blocks %d", "ratio %.3f", "encode %.0f", "decode %.0f", "cdfz/peer encode %.2f", "cdfz/peer decode %.2f")
	for _, x := range results {
		row := []any{x.name, x.by, x.blocks, float64(x.raw) / float64(x.stored), x.speed(x.encode), x.speed(x.decode), nil, nil}
		if x.ours != nil {
			row[6], row[7] = faster(x.encode, x.ours.encode), faster(x.decode, x.ours.decode)
		}
		t.Row(row...)
	}
	return r
}

// speed returns 10^6 bytes per second, or "-" if there is no time.
func (r *result) speed(t []time.Duration) any {
	if m := run.Median(t, time.Duration.Seconds); m > 0 {
		return float64(r.raw) / 1e6 / m
	}
	return "-"
}

// faster returns how many times as fast cdfz is: the median over the rounds.
func faster(theirs, ours []time.Duration) any {
	if len(ours) == 0 {
		return "-"
	}
	ratios := make([]float64, len(ours))
	for i, t := range ours {
		ratios[i] = float64(theirs[i]) / float64(max(t, 1))
	}
	return run.Median(ratios, run.Itself)
}

// pureGo reports whether this program was built with the tag purego.
func pureGo() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool {
		return s.Key == "-tags" && slices.Contains(strings.Split(s.Value, ","), "purego")
	})
}
