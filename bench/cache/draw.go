package main

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/cdfz-format/cdfz/bench/internal/run"
)

// colours are those of Okabe and Ito, which colour-blind people can distinguish.
var colours = []color.Color{
	color.RGBA{0xe6, 0x9f, 0x00, 0xff},
	color.RGBA{0x00, 0x9e, 0x73, 0xff},
	color.RGBA{0x00, 0x72, 0xb2, 0xff},
	color.RGBA{0xcc, 0x33, 0x77, 0xff},
}

var glyphs = []vgdraw.GlyphDrawer{vgdraw.CircleGlyph{}, vgdraw.BoxGlyph{}, vgdraw.TriangleGlyph{}, vgdraw.PyramidGlyph{}}

// draw makes a panel for each pattern: the time of a read by cache size, with a line
// for each block size.
func draw(name string, results []result) error {
	const rows, cols = 2, 4
	img := vgimg.NewWith(vgimg.UseWH(13*vg.Inch, 6.5*vg.Inch), vgimg.UseDPI(110))
	canvas := vgdraw.New(img)
	tiles := vgdraw.Tiles{Rows: rows, Cols: cols, PadX: 10, PadY: 34, PadTop: 30, PadBottom: 6, PadLeft: 6, PadRight: 10}
	panels := make([][]*plot.Plot, rows)
	for r := range panels {
		panels[r] = make([]*plot.Plot, cols)
		for c := range panels[r] {
			if i := r*cols + c; i < len(results) {
				p, err := panel(results[i])
				if err != nil {
					return err
				}
				panels[r][c] = p
			}
		}
	}
	for r, line := range plot.Align(panels, tiles, canvas) {
		for c, area := range line {
			if p := panels[r][c]; p != nil {
				p.Draw(area)
				// The titles go above all panels of a row at the same height, unlike
				// the panels' own titles.
				box := tiles.At(canvas, c, r)
				box.FillText(p.Title.TextStyle, vg.Point{X: (area.Min.X + area.Max.X) / 2, Y: box.Max.Y + 4}, patterns[r*cols+c].name)
				continue
			}
			if err := drawLegend(area); err != nil {
				return err
			}
		}
	}
	return run.WriteFile(name, func(w io.Writer) error {
		_, err := vgimg.PngCanvas{Canvas: img}.WriteTo(w)
		return err
	})
}

// style sets the style of line i.
func style(l *plotter.Line, s *plotter.Scatter, i int) {
	l.Color, l.Width = colours[i], vg.Points(1.8)
	s.Color, s.Shape, s.Radius = colours[i], glyphs[i], vg.Points(3)
}

func panel(r result) (*plot.Plot, error) {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = "size of the cache (MiB)", "CPU time of a read"
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(decades)
	var ticks []plot.Tick
	for i, c := range cacheSizes {
		label := sizeName(c)
		if c > 0 {
			label = label[:len(label)-len(" MiB")]
		}
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: label})
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	p.Add(plotter.NewGrid())
	lo, hi := 0.0, 0.0
	for i, b := range blockSizes {
		var xy plotter.XYs
		for k, c := range cacheSizes {
			y := max(0.001, r[[2]int64{b, c}].read)
			if lo == 0 || y < lo {
				lo = y
			}
			hi = max(hi, y)
			xy = append(xy, plotter.XY{X: float64(k), Y: y})
		}
		l, s, err := plotter.NewLinePoints(xy)
		if err != nil {
			return nil, err
		}
		style(l, s, i)
		p.Add(l, s)
	}
	// Use whole decades, so that each panel has labelled ticks.
	p.Y.Min, p.Y.Max = decade(lo, false), decade(hi, true)
	return p, nil
}

// decades returns ticks at the powers of ten, with their units.
func decades(lo, hi float64) []plot.Tick {
	units := [...]string{"ns", "µs", "ms", "s"}
	var out []plot.Tick
	i := 0
	for d := 0.001; d <= hi*1.001; d, i = d*10, i+1 {
		if d < lo*0.999 {
			continue
		}
		u := min(i/3, len(units)-1)
		out = append(out, plot.Tick{Value: d, Label: fmt.Sprintf("%g %s", math.Round(math.Pow10(i-3*u)), units[u])})
		for k := 2.0; k < 10 && d*k < hi; k++ {
			out = append(out, plot.Tick{Value: d * k})
		}
	}
	return out
}

// decade returns the power of ten at or below x, or with up the one at or above x.
func decade(x float64, up bool) float64 {
	d := 0.001
	for d*10 <= x {
		d *= 10
	}
	if up && d < x {
		d *= 10
	}
	return d
}

// drawLegend draws the legend into the unused panel.
func drawLegend(area vgdraw.Canvas) error {
	l := plot.NewLegend()
	l.Top, l.Left = true, true
	l.XOffs, l.YOffs = vg.Points(40), vg.Points(-30)
	l.TextStyle.Font = font.From(plot.DefaultFont, 13)
	l.ThumbnailWidth, l.Padding = vg.Points(34), vg.Points(5)
	for i, b := range blockSizes {
		line, s, err := plotter.NewLinePoints(plotter.XYs{{X: 0, Y: 0}})
		if err != nil {
			return err
		}
		style(line, s, i)
		l.Add("blocks of "+sizeName(b), line, s)
	}
	l.Draw(area)
	return nil
}
