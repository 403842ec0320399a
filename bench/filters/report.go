package main

import (
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/cdfz-format/cdfz/bench/internal/tools"
)

func median(t []time.Duration) time.Duration {
	if len(t) == 0 {
		return 0
	}
	t = slices.Sorted(slices.Values(t))
	return t[len(t)/2]
}

// speed formats 10^6 bytes per second, or "-" if there is no time.
func (r *result) speed(t []time.Duration) string {
	if m := median(t); m > 0 {
		return fmt.Sprintf("%.0f", float64(r.raw)/1e6/m.Seconds())
	}
	return "-"
}

// times formats how many times as fast cdfz is: the median over the rounds.
func times(theirs, ours []time.Duration) string {
	if len(ours) == 0 {
		return "-"
	}
	var ratios []float64
	for i, t := range ours {
		ratios = append(ratios, float64(theirs[i])/float64(max(t, 1)))
	}
	slices.Sort(ratios)
	return fmt.Sprintf("%.2f", ratios[len(ratios)/2])
}

func writeTable(w io.Writer, results []*result) error {
	fmt.Fprintln(w, strings.Join([]string{"filter", "by", "blocks", "ratio", "encode", "decode", "cdfz/peer encode", "cdfz/peer decode"}, "\t"))
	for _, r := range results {
		ratio, encode, decode := fmt.Sprintf("%.3f", float64(r.raw)/float64(r.stored)), "", ""
		if r.ours != nil {
			encode, decode = times(r.encode, r.ours.encode), times(r.decode, r.ours.decode)
		}
		row := []string{r.name, r.by, fmt.Sprint(r.blocks), ratio, r.speed(r.encode), r.speed(r.decode), encode, decode}
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return nil
}

func writeText(w io.Writer, m *tools.Machine, sample []*block, o *options, results []*result) error {
	counts := map[string]int{}
	for _, b := range sample {
		counts[b.dtype()]++
	}
	assembly := "with"
	if pureGo() {
		assembly = "without"
	}
	fmt.Fprintf(w, "%s %s\n%s\n%s assembly; %d rounds; blocks of %d bytes by type: %v\n", m.Date, m, strings.Join(m.Versions, "; "), assembly, o.rounds, o.block, counts)
	fmt.Fprintf(w, "MB/s of processor time; cdfz/peer: how many times as fast cdfz is\n\n")
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if err := writeTable(tw, results); err != nil {
		return err
	}
	return tw.Flush()
}

// pureGo reports whether this program was built with the tag purego.
func pureGo() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool {
		return s.Key == "-tags" && slices.Contains(strings.Split(s.Value, ","), "purego")
	})
}
