package receipts

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/receiptfile"
)

// stats is the JSON of the sums of receipts, for a year of runs or for all.
type stats struct {
	Year     int   `json:"year,omitempty"` // when the runs began, 0 if that is not known, and for all
	Receipts int64 `json:"receipts"`
	Archives int64 `json:"archives"`    // several receipts of an archive count once for each file that it held
	Size     int64 `json:"source_size"` // bytes of their sources
	// Archive bytes, as they were written.
	ArchiveSize int64   `json:"archive_size"`
	Ratio       float64 `json:"ratio"`
	Gone        int64   `json:"sources_gone"`
	GoneSize    int64   `json:"sources_gone_size"` // bytes
	Exist       int64   `json:"sources_exist"`
	Changed     int64   `json:"sources_changed"` // of those that exist: size or time differ
	Unknown     int64   `json:"sources_unknown"` // of URLs, standard input, or out of reach
}

// add counts an archive with the last receipt of its file.
func (s *stats) add(rec *receiptfile.Receipt, size int64, src source) {
	s.Archives++
	s.Size += size
	s.ArchiveSize += rec.ArchiveSize
	s.Ratio = display.Ratio(s.Size, s.ArchiveSize)
	switch src {
	case sourceGone, sourceShown:
		s.Gone++
		s.GoneSize += size
	case sourceUnknown:
		s.Unknown++
	case sourceChanged:
		s.Changed++
		s.Exist++
	default:
		s.Exist++
	}
}

// row is the sums in a table.
func (s *stats) row(year string) []string {
	n := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []string{year, n(s.Archives), display.Size(s.Size), display.Size(s.ArchiveSize), strconv.FormatFloat(display.Round(s.Ratio, 2), 'f', 2, 64),
		n(s.Gone), display.Size(s.GoneSize), n(s.Exist), n(s.Changed), n(s.Unknown)}
}

// statistics prints the sums of all receipts that were read, by the year in which the run began.
func (v *checker) statistics(ctx context.Context) {
	years := map[int]*stats{}
	all := &stats{}
	yearOf := func(n numbered) int {
		if n.Run.IsZero() {
			return 0
		}
		return n.Run.UTC().Year()
	}
	for _, c := range v.archives {
		if v.run.Term.Stopped(ctx) {
			return
		}
		counted := map[string]bool{}
		for _, n := range slices.Backward(c.list) {
			year := years[yearOf(n)]
			if year == nil {
				year = &stats{Year: yearOf(n)}
				years[year.Year] = year
			}
			all.Receipts++
			year.Receipts++
			if counted[n.SHA256] {
				continue
			}
			counted[n.SHA256] = true
			src := lookFor(n.Receipt)
			all.add(n.Receipt, sourceSize(n.Receipt), src)
			year.add(n.Receipt, sourceSize(n.Receipt), src)
		}
	}
	if all.Receipts == 0 {
		return
	}
	list := slices.SortedFunc(maps.Values(years), func(a, b *stats) int { return cmp.Compare(a.Year, b.Year) })
	if v.run.Term.JSON {
		for _, s := range list {
			v.run.Term.Emit(s)
		}
		v.run.Term.Emit(struct {
			Summary *stats `json:"summary"`
		}{all})
		return
	}
	table := [][]string{{"year", "archives", "sources", "stored", "ratio", "gone", "bytes gone", "exist", "changed", "unknown"}}
	for _, s := range list {
		name := "unknown"
		if s.Year > 0 {
			name = strconv.Itoa(s.Year)
		}
		table = append(table, s.row(name))
	}
	table = append(table, all.row("all"))
	display.WriteTable(v.run.Term.Out, table, true, true, true, true, true, true, true, true, true, true)
}
