package bench

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
)

// Size of the picture. A panel for each goal stands above the legend.
const (
	pictureW = 15 * vg.Inch
	panelsH  = 6 * vg.Inch
	titleH   = 0.45 * vg.Inch
	legendH  = 0.28 * vg.Inch // of a line
	perLine  = 6              // chains
)

// colours are those of Okabe and Ito, which colour-blind people can distinguish, and
// some darker ones. With the shapes there are enough for 50 chains.
var colours = []color.Color{
	color.RGBA{0x00, 0x72, 0xb2, 0xff}, color.RGBA{0xd5, 0x5e, 0x00, 0xff}, color.RGBA{0x00, 0x9e, 0x73, 0xff}, color.RGBA{0xcc, 0x79, 0xa7, 0xff},
	color.RGBA{0xe6, 0x9f, 0x00, 0xff}, color.RGBA{0x56, 0xb4, 0xe9, 0xff}, color.RGBA{0x4d, 0x4d, 0x4d, 0xff}, color.RGBA{0x9a, 0x8a, 0x1c, 0xff},
	color.RGBA{0x6a, 0x3d, 0x9a, 0xff}, color.RGBA{0x8c, 0x3b, 0x1c, 0xff},
}

var shapes = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.TriangleGlyph{}, draw.RingGlyph{}}

// writePicture draws the result as "svg" or "png".
func writePicture(w io.Writer, rep *benchReport, format string) error {
	chains := chainsOf(rep.Results)
	height := titleH + panelsH + legendH*vg.Length(len(chains)/perLine+1) + 0.2*vg.Inch
	var c interface {
		vg.CanvasSizer
		io.WriterTo
	}
	if format == "svg" {
		c = vgsvg.New(pictureW, height)
	} else {
		c = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(pictureW, height), vgimg.UseDPI(110))}
	}
	all := draw.New(c)
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	drawPicture(all, rep, chains)
	_, err := c.WriteTo(w)
	return err
}

// chainsOf lists the names of chains in order.
func chainsOf(rows []benchRow) (names []string) {
	for i := range rows {
		if i == 0 || rows[i].Chain != rows[i-1].Chain {
			names = append(names, rows[i].Chain)
		}
	}
	return names
}

// sans is the typeface of all text.
var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

// style returns the style of text that begins at a point, on the base line.
func style(size vg.Length) draw.TextStyle {
	return draw.TextStyle{Color: color.Black, Font: font.From(sans, size), XAlign: draw.XLeft, YAlign: draw.YBottom, Handler: plot.DefaultTextHandler}
}

func drawPicture(all draw.Canvas, rep *benchReport, chains []string) {
	title := style(vg.Points(14))
	title.XAlign, title.YAlign = draw.XCenter, draw.YTop
	top := all.Max.Y - 0.1*vg.Inch
	all.FillText(title, vg.Point{X: all.Center().X, Y: top},
		fmt.Sprintf("%s, %s: filters and block sizes, from %s to %s (small to large points)", display.Printable(fileio.BaseName(terminal.ShowName(rep.File))), display.Size(rep.Size),
			display.SizeName(smallest(rep.Results)), display.SizeName(largest(rep.Results))))
	width := (all.Max.X - all.Min.X) / vg.Length(len(goals))
	for k := range goals {
		area := all
		area.Min.X, area.Max.X = all.Min.X+width*vg.Length(k), all.Min.X+width*vg.Length(k+1)-0.15*vg.Inch
		area.Max.Y = all.Max.Y - titleH
		area.Min.Y = area.Max.Y - panelsH
		drawPanel(area, rep.Results, chains, &goals[k])
	}
	drawLegend(all, chains)
}

func smallest(rows []benchRow) int64 {
	n := rows[0].Block
	for i := range rows {
		n = min(n, rows[i].Block)
	}
	return n
}

func largest(rows []benchRow) int64 {
	n := int64(0)
	for i := range rows {
		n = max(n, rows[i].Block)
	}
	return n
}

// radius returns the size of the point of a block size.
func radius(block int64) vg.Length {
	return vg.Points(1.6 + 0.42*math.Log2(float64(block)/(1<<13)))
}

// drawPanel draws the ratio and a goal of all rows: a line for each chain, and the front.
func drawPanel(area draw.Canvas, rows []benchRow, chains []string, g *goal) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = g.title, "ratio", g.axis
	p.Title.TextStyle.Font = font.From(sans, vg.Points(13))
	p.Title.Padding = vg.Points(4)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font, a.Tick.Label.Font = font.From(sans, vg.Points(11)), font.From(sans, vg.Points(10))
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xe4}, color.Gray{0xe4}
	p.Add(grid)
	lo, hi := math.Inf(1), 0.0
	for i := range rows {
		if y := g.value(&rows[i]); y > 0 {
			lo, hi = min(lo, y), max(hi, y)
		}
	}
	if hi == 0 {
		lo, hi = 1, 10 // nothing was measured
	}
	front := g.front(rows)
	if len(front) > 0 {
		p.Add(frontLine(rows, front, g))
	}
	for n, name := range chains {
		var xy plotter.XYs
		var sizes []vg.Length
		for i := range rows {
			if y := g.value(&rows[i]); rows[i].Chain == name && y > 0 {
				xy, sizes = append(xy, plotter.XY{X: rows[i].Ratio, Y: y}), append(sizes, radius(rows[i].Block))
			}
		}
		if len(xy) == 0 {
			continue
		}
		l, s, err := plotter.NewLinePoints(xy)
		if err != nil {
			continue // NaN or infinite, which no row has
		}
		l.Color, l.Width = colours[n%len(colours)], vg.Points(1)
		s.GlyphStyleFunc = func(i int) draw.GlyphStyle {
			return draw.GlyphStyle{Color: l.Color, Shape: shapes[n/len(colours)%len(shapes)], Radius: sizes[i]}
		}
		p.Add(l, s)
	}
	// Room for labels at the edges.
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(ticks)
	p.Y.Min, p.Y.Max = lo/1.3, hi*1.5
	span := max(p.X.Max-p.X.Min, 0.1)
	p.X.Min, p.X.Max = p.X.Min-0.06*span, p.X.Max+0.12*span
	p.Draw(area)
	data := p.DataCanvas(area)
	x, y := p.Transforms(&data)
	at := func(i int) vg.Point { return vg.Point{X: x(rows[i].Ratio), Y: y(g.value(&rows[i]))} }
	var taken []vg.Rectangle
	for i := range rows {
		if g.value(&rows[i]) > 0 {
			taken = append(taken, around(at(i), radius(rows[i].Block)))
		}
	}
	for _, i := range front {
		taken = placeLabel(data, at(i), fmt.Sprintf("%s %s", rows[i].Chain, display.SizeName(rows[i].Block)), taken)
	}
}

// frontLine is the border of what is possible: steps through the points of the front.
func frontLine(rows []benchRow, front []int, g *goal) *plotter.Line {
	var xy plotter.XYs
	for k, i := range front {
		if k > 0 {
			xy = append(xy, plotter.XY{X: rows[i].Ratio, Y: xy[len(xy)-1].Y})
		}
		xy = append(xy, plotter.XY{X: rows[i].Ratio, Y: g.value(&rows[i])})
	}
	return &plotter.Line{XYs: xy, LineStyle: draw.LineStyle{Color: color.Gray{0xb8}, Width: vg.Points(5)}}
}

func around(p vg.Point, r vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: p.X - r, Y: p.Y - r}, Max: vg.Point{X: p.X + r, Y: p.Y + r}}
}

// placeLabel writes a label next to a point where it covers no other label and no point.
// It is left out if it does not fit.
func placeLabel(c draw.Canvas, at vg.Point, text string, taken []vg.Rectangle) []vg.Rectangle {
	s := style(vg.Points(9))
	w, h := s.Width(text), s.Height(text)
	const gap = 7
	for _, d := range []struct{ x, y vg.Length }{
		{gap, gap}, {gap, -gap - h}, {-gap - w, gap}, {-gap - w, -gap - h}, {-w / 2, gap + 3}, {-w / 2, -gap - 3 - h}, {gap + 3, -h / 2}, {-gap - 3 - w, -h / 2},
		{2 * gap, 2 * gap}, {2 * gap, -2*gap - h}, {-2*gap - w, 2 * gap}, {-2*gap - w, -2*gap - h},
	} {
		box := vg.Rectangle{Min: vg.Point{X: at.X + d.x, Y: at.Y + d.y}}
		box.Max = vg.Point{X: box.Min.X + w, Y: box.Min.Y + h}
		if box.Min.X < c.Min.X || box.Max.X > c.Max.X || box.Min.Y < c.Min.Y || box.Max.Y > c.Max.Y || covers(box, taken) {
			continue
		}
		c.FillText(s, box.Min, text)
		return append(taken, box)
	}
	return taken
}

func covers(box vg.Rectangle, taken []vg.Rectangle) bool {
	for _, t := range taken {
		if box.Min.X < t.Max.X && t.Min.X < box.Max.X && box.Min.Y < t.Max.Y && t.Min.Y < box.Max.Y {
			return true
		}
	}
	return false
}

// ticks returns ticks at 1, 2 and 5 times powers of ten, or at powers of ten alone if
// they are many.
func ticks(lo, hi float64) (out []plot.Tick) {
	for e := math.Floor(math.Log10(lo)); e <= math.Log10(hi); e++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, e)
			if v < lo || v > hi {
				continue
			}
			label := ""
			if m == 1 || hi/lo < 2000 {
				label = short(v)
			}
			out = append(out, plot.Tick{Value: v, Label: label})
		}
	}
	return out
}

// short formats a round number: 20k for 20000.
func short(v float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"M", 1e6}, {"k", 1e3}} {
		if v >= u.size {
			return strconv.FormatFloat(v/u.size, 'f', -1, 64) + u.name
		}
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// drawLegend draws the names of the chains, and what the grey line is.
func drawLegend(all draw.Canvas, chains []string) {
	s := style(vg.Points(11))
	s.YAlign = draw.YCenter
	width := (all.Max.X - all.Min.X - 0.8*vg.Inch) / perLine
	top := all.Max.Y - titleH - panelsH - legendH/2
	place := func(n int) vg.Point {
		return vg.Point{X: all.Min.X + 0.6*vg.Inch + width*vg.Length(n%perLine), Y: top - legendH*vg.Length(n/perLine)}
	}
	for n, name := range append(chains[:len(chains):len(chains)], "no other point is better in both") {
		at := place(n)
		text := at
		text.X += vg.Points(16)
		if n == len(chains) {
			line := draw.LineStyle{Color: color.Gray{0xb8}, Width: vg.Points(5)}
			all.StrokeLine2(line, at.X-vg.Points(10), at.Y, at.X+vg.Points(10), at.Y)
		} else {
			c := colours[n%len(colours)]
			all.StrokeLine2(draw.LineStyle{Color: c, Width: vg.Points(1)}, at.X-vg.Points(10), at.Y, at.X+vg.Points(10), at.Y)
			all.DrawGlyph(draw.GlyphStyle{Color: c, Shape: shapes[n/len(colours)%len(shapes)], Radius: vg.Points(4)}, at)
		}
		all.FillText(s, text, name)
	}
}
