package main

import (
	"fmt"
	"io"
	"math"

	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/internal/chart"
)

// draw makes a panel for each pattern: the time of a read by cache size, with a line
// for each block size.
func draw(name string, results []result) error {
	panels := make([]chart.Panel, len(results))
	for i, r := range results {
		p := &panels[i]
		p.Title, p.X, p.Y, p.LogY, p.Label = patterns[i].name, "size of the cache", "CPU time of a read", true, duration
		for k, c := range cacheSizes {
			p.XTicks = append(p.XTicks, chart.Tick{At: float64(k), Label: sizeName(c)})
		}
		for _, b := range blockSizes {
			l := chart.Line{Name: "blocks of " + sizeName(b)}
			for k, c := range cacheSizes {
				l.Points = append(l.Points, chart.Point{X: float64(k), Y: max(0.001, r[[2]int64{b, c}].read)})
			}
			p.Lines = append(p.Lines, l)
		}
	}
	return run.WriteFile(name, func(w io.Writer) error { return chart.SVG(w, "Reading with a cache", 3, panels) })
}

// duration formats a round number of microseconds.
func duration(us float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"s", 1e6}, {"ms", 1e3}, {"µs", 1}} {
		if us >= u.size {
			return fmt.Sprintf("%g %s", us/u.size, u.name)
		}
	}
	return fmt.Sprintf("%g ns", math.Round(us*1e3))
}
