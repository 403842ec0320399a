package bench

import (
	"image/color"
	"math"
	"strconv"
	"sync"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The axes of a panel are drawn here, on the canvases of gonum/plot. Its package plot could draw
// them as well, but a program that imports it parses twelve fonts whenever it starts.

// sans is the typeface of all text.
var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

var plain = sync.OnceValue(func() text.Handler { return text.Plain{Fonts: font.NewCache(liberation.Collection())} })

// style returns the style of text that begins at a point, on the base line.
func style(size vg.Length) draw.TextStyle {
	return draw.TextStyle{Color: color.Black, Font: font.From(sans, size), XAlign: draw.XLeft, YAlign: draw.YBottom, Handler: plain()}
}

// axes are those of a panel: linear from left to right, logarithmic upwards.
type axes struct {
	data                   draw.Canvas
	minX, maxX, minY, maxY float64
}

// tick is a value on an axis. Those without a label are shorter.
type tick struct {
	value float64
	label string
}

const (
	tickLen = 5 // points
	textGap = 4
)

// drawAxes draws title, grid, axes and their labels in an area, for values between the given ones.
func drawAxes(area draw.Canvas, title, labelX, labelY string, minX, maxX, minY, maxY float64) *axes {
	large, label, small := style(vg.Points(13)), style(vg.Points(11)), style(vg.Points(10))
	across, up := linearTicks(minX, maxX), ticks(minY, maxY)
	wide := vg.Length(0)
	for _, k := range up {
		wide = max(wide, small.Width(k.label))
	}
	a := &axes{data: area, minX: minX, maxX: maxX, minY: minY, maxY: maxY}
	r := &a.data.Rectangle
	r.Min.X += label.Height(labelY) + wide + tickLen + 3*textGap
	r.Min.Y += label.Height(labelX) + small.Height("0") + tickLen + 3*textGap
	r.Max.Y -= large.Height(title) + 2*textGap

	large.XAlign, large.YAlign = draw.XCenter, draw.YBottom
	area.FillText(large, vg.Point{X: a.data.Center().X, Y: r.Max.Y + textGap}, title)
	label.XAlign = draw.XCenter
	area.FillText(label, vg.Point{X: a.data.Center().X, Y: area.Min.Y + textGap/2}, labelX)
	label.YAlign, label.Rotation = draw.YTop, math.Pi/2
	area.FillText(label, vg.Point{X: area.Min.X, Y: a.data.Center().Y}, labelY)

	grid := draw.LineStyle{Color: color.Gray{0xe4}, Width: vg.Points(0.25)}
	line := draw.LineStyle{Color: color.Black, Width: vg.Points(0.5)}
	small.XAlign, small.YAlign = draw.XCenter, draw.YTop
	for _, k := range across {
		p := a.at(k.value, minY)
		area.StrokeLine2(grid, p.X, r.Min.Y, p.X, r.Max.Y)
		area.StrokeLine2(line, p.X, r.Min.Y-tickLen, p.X, r.Min.Y)
		area.FillText(small, vg.Point{X: p.X, Y: r.Min.Y - tickLen - textGap/2}, k.label)
	}
	small.XAlign, small.YAlign = draw.XRight, draw.YCenter
	for _, k := range up {
		p, n := a.at(minX, k.value), vg.Length(tickLen)
		if k.label == "" {
			n /= 2
		} else {
			area.StrokeLine2(grid, r.Min.X, p.Y, r.Max.X, p.Y)
		}
		area.StrokeLine2(line, r.Min.X-n, p.Y, r.Min.X, p.Y)
		area.FillText(small, vg.Point{X: r.Min.X - tickLen - textGap/2, Y: p.Y}, k.label)
	}
	area.StrokeLine2(line, r.Min.X, r.Min.Y, r.Max.X, r.Min.Y)
	area.StrokeLine2(line, r.Min.X, r.Min.Y, r.Min.X, r.Max.Y)
	return a
}

// at returns the point of two values. y must be positive.
func (a *axes) at(x, y float64) vg.Point {
	return vg.Point{
		X: a.data.X((x - a.minX) / (a.maxX - a.minX)),
		Y: a.data.Y(math.Log(y/a.minY) / math.Log(a.maxY/a.minY)),
	}
}

// line draws a line through points.
func (a *axes) line(s draw.LineStyle, points []vg.Point) {
	if len(points) > 1 {
		a.data.StrokeLines(s, points)
	}
}

// linearTicks returns three to eight ticks at multiples of 1, 2 or 5 times a power of ten, all with
// labels.
func linearTicks(lo, hi float64) (out []tick) {
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/3)))
	for _, m := range []float64{5, 2} {
		if (hi-lo)/(m*step) >= 3 {
			step *= m
			break
		}
	}
	digits := max(0, -int(math.Floor(math.Log10(step))))
	for n := math.Ceil(lo / step); n*step <= hi; n++ {
		out = append(out, tick{n * step, strconv.FormatFloat(n*step, 'f', digits, 64)})
	}
	return out
}

// ticks returns ticks at 1, 2 and 5 times powers of ten, with labels at powers of ten alone if
// they are many.
func ticks(lo, hi float64) (out []tick) {
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
			out = append(out, tick{v, label})
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
