package bench

import (
	"cmp"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
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

// Size of the picture: two rows of two panels under a title.
const (
	pictureW = 13 * vg.Inch
	pictureH = 10 * vg.Inch
	titleH   = 0.45 * vg.Inch
	labelsW  = 1.5 * vg.Inch // for the names at the ends of the lines
)

// colours are those of Okabe and Ito, which colour-blind people can distinguish, and
// some darker ones.
var colours = []color.Color{
	color.RGBA{0x00, 0x72, 0xb2, 0xff}, color.RGBA{0xd5, 0x5e, 0x00, 0xff}, color.RGBA{0x00, 0x9e, 0x73, 0xff}, color.RGBA{0xcc, 0x79, 0xa7, 0xff},
	color.RGBA{0xe6, 0x9f, 0x00, 0xff}, color.RGBA{0x56, 0xb4, 0xe9, 0xff}, color.RGBA{0x4d, 0x4d, 0x4d, 0xff}, color.RGBA{0x9a, 0x8a, 0x1c, 0xff},
	color.RGBA{0x6a, 0x3d, 0x9a, 0xff}, color.RGBA{0x8c, 0x3b, 0x1c, 0xff},
}

var shapes = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.TriangleGlyph{}, draw.RingGlyph{}}

// panel is a quantity over the block size.
type panel struct {
	title, axis string
	log         bool // a logarithmic axis
	value       func(*benchRow) float64
}

var panels = []panel{
	{"Ratio", "size of the file / size of the archive", false, func(r *benchRow) float64 { return r.Ratio }},
	{"Writing", "MB/s", true, func(r *benchRow) float64 { return r.Write }},
	{"Reading all", "MB/s", true, func(r *benchRow) float64 { return r.Read }},
	{"Reading a random value", "ms (less is better)", true, func(r *benchRow) float64 { return r.Point }},
}

// writePicture draws the result as "svg" or "png".
func writePicture(w io.Writer, rep *benchReport, format string) error {
	var c interface {
		vg.CanvasSizer
		io.WriterTo
	}
	if format == "svg" {
		c = vgsvg.New(pictureW, pictureH)
	} else {
		c = vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(pictureW, pictureH), vgimg.UseDPI(110))}
	}
	all := draw.New(c)
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	drawPicture(all, rep)
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

func drawPicture(all draw.Canvas, rep *benchReport) {
	title := style(vg.Points(14))
	title.XAlign, title.YAlign = draw.XCenter, draw.YTop
	top := all.Max.Y - 0.1*vg.Inch
	all.FillText(title, vg.Point{X: all.Center().X, Y: top},
		fmt.Sprintf("%s, %s, by block size and filters", display.Printable(fileio.BaseName(terminal.ShowName(rep.File))), display.Size(rep.Size)))
	chains := chainsOf(rep.Results)
	width, height := (all.Max.X-all.Min.X)/2, (all.Max.Y-all.Min.Y-titleH)/2
	for k := range panels {
		area := all
		area.Min.X = all.Min.X + width*vg.Length(k%2)
		area.Max.X = area.Min.X + width
		area.Max.Y = all.Max.Y - titleH - height*vg.Length(k/2)
		area.Min.Y = area.Max.Y - height
		drawPanel(area, rep.Results, chains, &panels[k])
	}
}

// end is the end of a line, where its name stands.
type end struct {
	at    vg.Point
	y     vg.Length // the middle of the name
	name  string
	color color.Color
}

// drawPanel draws a quantity of all rows: a line for each chain, with its name at the end.
func drawPanel(area draw.Canvas, rows []benchRow, chains []string, q *panel) {
	area.Min.X += 0.1 * vg.Inch
	area.Min.Y += 0.1 * vg.Inch
	area.Max.X -= labelsW
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = q.title, "block", q.axis
	p.Title.TextStyle.Font = font.From(sans, vg.Points(13))
	p.Title.Padding = vg.Points(4)
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font, a.Tick.Label.Font = font.From(sans, vg.Points(11)), font.From(sans, vg.Points(10))
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{0xe4}, color.Gray{0xe4}
	p.Add(grid)
	lines := map[string]plotter.XYs{}
	lo, hi := math.Inf(1), 0.0
	small, large := rows[0].Block, rows[0].Block
	for i := range rows {
		small, large = min(small, rows[i].Block), max(large, rows[i].Block)
		if y := q.value(&rows[i]); y > 0 {
			name := rows[i].Chain
			lines[name] = append(lines[name], plotter.XY{X: float64(rows[i].Block), Y: y})
			lo, hi = min(lo, y), max(hi, y)
		}
	}
	if hi == 0 {
		lo, hi = 1, 10 // nothing was measured
	}
	for n, name := range chains {
		slices.SortFunc(lines[name], func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
		if l, s, err := plotter.NewLinePoints(lines[name]); err == nil { // else there are no points
			l.Color, l.Width = colours[n%len(colours)], vg.Points(1.5)
			s.Color, s.Shape, s.Radius = l.Color, shapes[n/len(colours)%len(shapes)], vg.Points(2.5)
			p.Add(l, s)
		}
	}
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, blockTicks(rows)
	p.X.Min, p.X.Max = float64(small)/1.2, float64(large)*1.2
	p.Y.Min, p.Y.Max = lo-0.05*(hi-lo), hi+0.05*(hi-lo)
	if q.log {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(ticks)
		p.Y.Min, p.Y.Max = lo/1.2, hi*1.2
	}
	p.Draw(area)
	data := p.DataCanvas(area)
	x, y := p.Transforms(&data)
	var ends []end
	for n, name := range chains {
		if l := lines[name]; len(l) > 0 {
			at := vg.Point{X: x(l[len(l)-1].X), Y: y(l[len(l)-1].Y)}
			ends = append(ends, end{at, at.Y, name, colours[n%len(colours)]})
		}
	}
	drawNames(data, ends)
}

// drawNames writes names to the right of a panel, each as close to the end of its line as the
// others allow.
func drawNames(c draw.Canvas, ends []end) {
	s := style(vg.Points(10))
	s.YAlign = draw.YCenter
	slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(a.at.Y, b.at.Y) })
	step := min(s.Height("x")*1.15, (c.Max.Y-c.Min.Y)/vg.Length(max(len(ends), 1)))
	for i := range ends {
		ends[i].y = max(ends[i].y, c.Min.Y)
		if i > 0 {
			ends[i].y = max(ends[i].y, ends[i-1].y+step)
		}
	}
	over := vg.Length(0)
	if len(ends) > 0 {
		over = ends[len(ends)-1].y - c.Max.Y
	}
	for i := len(ends) - 1; i >= 0 && over > 0; i-- {
		top := c.Max.Y
		if i < len(ends)-1 {
			top = ends[i+1].y - step
		}
		ends[i].y = min(ends[i].y, top)
	}
	for _, e := range ends {
		text := vg.Point{X: c.Max.X + vg.Points(14), Y: e.y}
		c.StrokeLine2(draw.LineStyle{Color: color.Gray{0xb8}, Width: vg.Points(0.5)}, e.at.X+vg.Points(4), e.at.Y, text.X-vg.Points(3), e.y)
		s.Color = e.color
		c.FillText(s, text, e.name)
	}
}

// blockTicks returns a tick for each block size.
func blockTicks(rows []benchRow) plot.ConstantTicks {
	var t plot.ConstantTicks
	for i := range rows {
		if n := rows[i].Block; !slices.ContainsFunc(t, func(k plot.Tick) bool { return k.Value == float64(n) }) {
			t = append(t, plot.Tick{Value: float64(n), Label: display.SizeName(n)})
		}
	}
	return t
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
