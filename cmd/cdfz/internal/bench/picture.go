package bench

import (
	"fmt"
	"io"
	"slices"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/chart"
)

// quantities are what the panels of the picture show over the size of blocks.
var quantities = []struct {
	title, axis string
	log         bool // a logarithmic axis
	value       func(*benchRow) float64
}{
	{"Ratio", "size of the file / size of the archive", false, func(r *benchRow) float64 { return r.Ratio }},
	{"Writing", "MB/s", true, func(r *benchRow) float64 { return r.Write }},
	{"Reading all", "MB/s", true, func(r *benchRow) float64 { return r.Read }},
	{"Reading a random value", "ms (less is better)", true, func(r *benchRow) float64 { return r.Point }},
}

// writePicture draws the result as SVG.
func writePicture(w io.Writer, rep *benchReport) error {
	panels := make([]chart.Panel, len(quantities))
	for i, q := range quantities {
		p := &panels[i]
		p.Title, p.X, p.Y, p.LogX, p.LogY = q.title, "block", q.axis, true, q.log
		for k := range rep.Results {
			row := &rep.Results[k]
			size := chart.Tick{At: float64(row.Block), Label: display.SizeName(row.Block)}
			if !slices.Contains(p.XTicks, size) {
				p.XTicks = append(p.XTicks, size)
			}
			if k == 0 || row.Chain != rep.Results[k-1].Chain {
				p.Lines = append(p.Lines, chart.Line{Name: row.Chain})
			}
			if y := q.value(row); y > 0 { // else nothing was measured
				l := &p.Lines[len(p.Lines)-1]
				l.Points = append(l.Points, chart.Point{X: float64(row.Block), Y: y})
			}
		}
	}
	title := fmt.Sprintf("%s, %s, by block size and filters", display.Printable(fileio.BaseName(terminal.ShowName(rep.File))), display.Size(rep.Size))
	return chart.SVG(w, title, 2, panels)
}
