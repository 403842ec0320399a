package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/cdfz-format/cdfz/bench/internal/tools"
)

// report is the result of a run. MB are 10^6 bytes.
type report struct {
	Machine tools.Machine `json:"machine"`
	File    string        `json:"file"`
	Size    int64         `json:"size"`
	Runs    int           `json:"runs"`
	Sync    bool          `json:"sync"`  // the time includes flushing the output to disk
	Touch   bool          `json:"touch"` // memory was used before each run
	Rows    []row         `json:"rows"`
}

// row holds the medians of a tool. The Rel fields are relative to the baseline of the
// same run, or 0 without one. Larger is better.
type row struct {
	key string

	Tool       string  `json:"tool"`
	Stored     int64   `json:"stored"`
	Ratio      float64 `json:"ratio"`
	Write      float64 `json:"write_mbps"`
	WriteCPU   float64 `json:"write_cpu_s"`
	WriteRSS   float64 `json:"write_rss_mb"`
	Restore    float64 `json:"restore_mbps"`
	RestoreCPU float64 `json:"restore_cpu_s"`
	RestoreRSS float64 `json:"restore_rss_mb"`
	Exact      bool    `json:"exact"` // every time, byte for byte
	RelRatio   float64 `json:"rel_ratio"`
	RelWrite   float64 `json:"rel_write"`
	RelRestore float64 `json:"rel_restore"`
}

func newRow(t tool, size int64, samples []sample) row {
	mbps := func(c func(sample) cost) float64 {
		return float64(size) / 1e6 / median(samples, func(s sample) float64 { return c(s).wall.Seconds() })
	}
	cpu := func(c func(sample) cost) float64 {
		return median(samples, func(s sample) float64 { return c(s).cpu.Seconds() })
	}
	rss := func(c func(sample) cost) float64 {
		return median(samples, func(s sample) float64 { return float64(c(s).rss) / 1e6 })
	}
	write, restore := func(s sample) cost { return s.write }, func(s sample) cost { return s.restore }
	r := row{
		key: t.key, Tool: t.name, Stored: samples[0].stored,
		Ratio: float64(size) / float64(samples[0].stored),
		Write: mbps(write), WriteCPU: cpu(write), WriteRSS: rss(write),
		Restore: mbps(restore), RestoreCPU: cpu(restore), RestoreRSS: rss(restore),
		Exact: true,
	}
	for _, s := range samples {
		r.Exact = r.Exact && s.exact
	}
	return r
}

func median(samples []sample, f func(sample) float64) float64 {
	var v []float64
	for _, s := range samples {
		v = append(v, f(s))
	}
	slices.Sort(v)
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}

// finish compares the rows with the baseline and rounds to meaningful digits.
func (r *report) finish() {
	base := slices.IndexFunc(r.Rows, func(r row) bool { return r.key == baseline })
	for i := range r.Rows {
		w := &r.Rows[i]
		if base >= 0 {
			b := &r.Rows[base]
			w.RelRatio, w.RelWrite, w.RelRestore = float64(b.Stored)/float64(w.Stored), w.Write/b.Write, w.Restore/b.Restore
		}
	}
	for i := range r.Rows {
		w := &r.Rows[i]
		for _, f := range []struct {
			v      *float64
			digits int
		}{{&w.Ratio, 4}, {&w.Write, 1}, {&w.WriteCPU, 2}, {&w.WriteRSS, 1}, {&w.Restore, 1}, {&w.RestoreCPU, 2},
			{&w.RestoreRSS, 1}, {&w.RelRatio, 3}, {&w.RelWrite, 2}, {&w.RelRestore, 2}} {
			*f.v, _ = strconv.ParseFloat(strconv.FormatFloat(*f.v, 'f', f.digits, 64), 64)
		}
	}
}

var columns = []string{"tool", "ratio", "write MB/s", "restore MB/s", "write CPU s", "restore CPU s",
	"write RSS MB", "restore RSS MB", "exact", "ratio x", "write x", "restore x"}

func (w *row) cells() []string {
	f := func(v float64, digits int) string { return strconv.FormatFloat(v, 'f', digits, 64) }
	exact := "no"
	if w.Exact {
		exact = "yes"
	}
	return []string{w.Tool, f(w.Ratio, 3), f(w.Write, 0), f(w.Restore, 0), f(w.WriteCPU, 2), f(w.RestoreCPU, 2),
		f(w.WriteRSS, 0), f(w.RestoreRSS, 0), exact, f(w.RelRatio, 3), f(w.RelWrite, 2), f(w.RelRestore, 2)}
}

func (r *report) writeText(out io.Writer) error {
	m := &r.Machine
	fmt.Fprintf(out, "%s: %d bytes, medians of %d runs, %s\n", r.File, r.Size, r.Runs, m.Date)
	fmt.Fprintf(out, "%s\n%s\n", m, strings.Join(m.Versions, "; "))
	fmt.Fprintf(out, "MB = 10^6 bytes of the uncompressed file, wall time, file in the page cache; x = times %s\n", baseline)
	if r.Sync {
		fmt.Fprintln(out, "All programs: with the time until the output is on the disk.")
	}
	if r.Touch {
		fmt.Fprintln(out, "Before each run a file of this size was written and removed.")
	}
	fmt.Fprintln(out)
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for i := -1; i < len(r.Rows); i++ {
		cells := columns
		if i >= 0 {
			cells = r.Rows[i].cells()
		}
		for _, c := range cells {
			fmt.Fprintf(tw, "%s\t", c)
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}

func (r *report) writeCSV(out io.Writer) error {
	w := csv.NewWriter(out)
	w.Write(append([]string{"date", "file", "size", "runs", "cores", "cpu"}, columns...))
	for i := range r.Rows {
		w.Write(append([]string{r.Machine.Date, r.File, strconv.FormatInt(r.Size, 10), strconv.Itoa(r.Runs),
			strconv.Itoa(r.Machine.Cores), r.Machine.CPU}, r.Rows[i].cells()...))
	}
	w.Flush()
	return w.Error()
}

func (r *report) writeJSON(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
