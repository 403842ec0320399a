// Package chart draws panels of lines as SVG: a quantity over another one, with a line for each series and its
// name at the line's end.
package chart

import (
	"bufio"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Panel is a quantity over another one. Points whose coordinates are not finite are left out, on a
// logarithmic axis also those that are not positive.
type Panel struct {
	Title  string
	X, Y   string // what the axes show, with the unit
	LogX   bool
	LogY   bool
	XTicks []Tick // nil for round numbers
	// Label returns the text at a round number of the Y axis. It is Short if it is nil.
	Label func(float64) string
	Lines []Line // those of one Name have one colour in all panels
}

// Line is a series of points. They are drawn in the order of X.
type Line struct {
	Name   string
	Points []Point
}

// Point is a point in the units of the axes.
type Point struct{ X, Y float64 }

// Tick is a labelled place on an axis.
type Tick struct {
	At    float64
	Label string
}

// Sizes in pixels.
const (
	panelW, panelH = 640, 440
	titleH         = 40      // above all panels
	left, right    = 70, 140 // of a panel: for the numbers, and for the names of lines
	top, bottom    = 36, 48
	nameStep       = 14 // between the names of lines
)

// colours are those of Okabe and Ito, which colour-blind people can distinguish, and some darker ones.
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d", "#9a8a1c", "#6a3d9a", "#8c3b1c"}

// SVG draws panels below a title, as many beside each other as columns, which is at least 1.
func SVG(w io.Writer, title string, columns int, panels []Panel) error {
	c := &canvas{w: bufio.NewWriter(w), colour: map[string]string{}}
	width, height := panelW*columns, titleH+panelH*((len(panels)+columns-1)/columns)
	c.printf("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %[1]d %[2]d\" font-family=\"Liberation Sans, Arial, sans-serif\" font-size=\"12\">\n", width, height)
	c.printf("<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n")
	c.text(float64(width)/2, titleH/2+6, "middle", "black", title, `font-size="18"`)
	for i := range panels {
		c.printf("<g transform=\"translate(%d %d)\">\n", i%columns*panelW, titleH+i/columns*panelH)
		c.panel(&panels[i])
		c.printf("</g>\n")
	}
	c.printf("</svg>\n")
	return c.w.Flush() // it returns the first error of all writes
}

type canvas struct {
	w      *bufio.Writer
	colour map[string]string // by the name of a line
}

func (c *canvas) printf(format string, args ...any) { fmt.Fprintf(c.w, format, args...) }

func (c *canvas) text(x, y float64, anchor, fill, s, attrs string) {
	c.printf("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\" %s>", x, y, anchor, fill, attrs)
	_ = xml.EscapeText(c.w, []byte(s)) // Flush returns the error
	c.printf("</text>\n")
}

// scale maps the values of an axis to pixels.
type scale struct {
	lo, hi   float64 // values
	from, to float64 // pixels
	log      bool
}

func (s *scale) at(v float64) float64 {
	lo, hi := s.lo, s.hi
	if s.log {
		lo, hi, v = math.Log(lo), math.Log(hi), math.Log(v)
	}
	return s.from + (v-lo)/(hi-lo)*(s.to-s.from)
}

// newScale returns a scale for all values with some space around them.
func newScale(values []float64, log bool, from, to float64) *scale {
	s := &scale{0, 1, from, to, log}
	if log {
		s.lo, s.hi = 1, 10
	}
	if len(values) == 0 {
		return s
	}
	s.lo, s.hi = slices.Min(values), slices.Max(values)
	switch {
	case log:
		s.lo, s.hi = s.lo/1.2, s.hi*1.2
	case s.lo == s.hi:
		s.lo, s.hi = s.lo-1, s.hi+1
	default:
		space := 0.05 * (s.hi - s.lo)
		s.lo, s.hi = s.lo-space, s.hi+space
	}
	return s
}

// ticks returns ticks at round numbers.
func (s *scale) ticks(label func(float64) string) []Tick {
	if s.log {
		return logTicks(s.lo, s.hi, label)
	}
	step := math.Pow(10, math.Floor(math.Log10((s.hi-s.lo)/4)))
	for _, m := range []float64{5, 2} {
		if (s.hi-s.lo)/(step*m) >= 4 {
			step *= m
			break
		}
	}
	var out []Tick
	for k := math.Ceil(s.lo / step); k*step <= s.hi; k++ {
		out = append(out, Tick{k * step, label(k * step)})
	}
	return out
}

// logTicks returns ticks at 1, 2 and 5 times powers of ten. Only powers of ten have labels if the ticks are
// many.
func logTicks(lo, hi float64, label func(float64) string) (out []Tick) {
	for e := math.Floor(math.Log10(lo)); e <= math.Log10(hi); e++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, e)
			if v < lo || v > hi {
				continue
			}
			text := ""
			if m == 1 || hi/lo < 2000 {
				text = label(v)
			}
			out = append(out, Tick{v, text})
		}
	}
	return out
}

// Short formats a round number: 20k for 20000.
func Short(v float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"M", 1e6}, {"k", 1e3}} {
		if math.Abs(v) >= u.size {
			return strconv.FormatFloat(v/u.size, 'g', 6, 64) + u.name
		}
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// drawable returns the points of a line that a panel can show, in the order of X.
func (p *Panel) drawable(l Line) []Point {
	finite := func(v float64, log bool) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) && (!log || v > 0) }
	points := slices.DeleteFunc(slices.Clone(l.Points), func(q Point) bool { return !finite(q.X, p.LogX) || !finite(q.Y, p.LogY) })
	slices.SortStableFunc(points, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
	return points
}

func (c *canvas) panel(p *Panel) {
	lines := make([][]Point, len(p.Lines))
	var xs, ys []float64
	for i, l := range p.Lines {
		lines[i] = p.drawable(l)
		for _, q := range lines[i] {
			xs, ys = append(xs, q.X), append(ys, q.Y)
		}
	}
	for _, t := range p.XTicks {
		xs = append(xs, t.At)
	}
	x := newScale(xs, p.LogX, left, panelW-right)
	y := newScale(ys, p.LogY, panelH-bottom, top)
	c.text((x.from+x.to)/2, top-14, "middle", "black", p.Title, `font-size="15"`)
	c.text((x.from+x.to)/2, panelH-12, "middle", "black", p.X, "")
	mid := (y.from + y.to) / 2
	c.text(16, mid, "middle", "black", p.Y, fmt.Sprintf(`transform="rotate(-90 16 %.1f)"`, mid))
	label := p.Label
	if label == nil {
		label = Short
	}
	xTicks := p.XTicks
	if xTicks == nil {
		xTicks = x.ticks(Short)
	}
	for _, t := range xTicks {
		c.printf("<path d=\"M%.1f %.1fV%.1f\" stroke=\"#e4e4e4\"/>\n", x.at(t.At), y.from, y.to)
		c.text(x.at(t.At), y.from+16, "middle", "black", t.Label, "")
	}
	for _, t := range y.ticks(label) {
		c.printf("<path d=\"M%.1f %.1fH%.1f\" stroke=\"#e4e4e4\"/>\n", x.from, y.at(t.At), x.to)
		c.text(x.from-6, y.at(t.At)+4, "end", "black", t.Label, "")
	}
	c.printf("<path d=\"M%.1f %.1fV%.1fH%.1f\" stroke=\"black\" fill=\"none\"/>\n", x.from, y.to, y.from, x.to)
	var ends []end
	for i, l := range p.Lines {
		colour := c.colourOf(l.Name)
		var d strings.Builder
		for k, q := range lines[i] {
			fmt.Fprintf(&d, "%c%.1f %.1f", "ML"[min(k, 1)], x.at(q.X), y.at(q.Y))
		}
		if d.Len() == 0 {
			continue
		}
		c.printf("<path d=\"%s\" stroke=\"%s\" stroke-width=\"2\" fill=\"none\"/>\n", d.String(), colour)
		for _, q := range lines[i] {
			c.printf("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n", x.at(q.X), y.at(q.Y), colour)
		}
		last := lines[i][len(lines[i])-1]
		ends = append(ends, end{x.at(last.X), y.at(last.Y), y.at(last.Y), l.Name, colour})
	}
	c.names(ends, x.to, y.to, y.from)
}

// colourOf returns the colour of a line, the next one if it has none yet.
func (c *canvas) colourOf(name string) string {
	if c.colour[name] == "" {
		c.colour[name] = colours[len(c.colour)%len(colours)]
	}
	return c.colour[name]
}

// end is the end of a line, where its name stands.
type end struct {
	x, y   float64
	nameY  float64 // the middle of the name
	name   string
	colour string
}

// names writes names to the right of a panel, each as close to the end of its line as the others allow.
func (c *canvas) names(ends []end, x, lowest, highest float64) {
	slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(a.y, b.y) })
	step := min(nameStep, (highest-lowest)/float64(max(len(ends), 1)))
	for i := 1; i < len(ends); i++ {
		ends[i].nameY = max(ends[i].nameY, ends[i-1].nameY+step)
	}
	limit := highest
	for i := len(ends) - 1; i >= 0; i-- {
		ends[i].nameY = min(ends[i].nameY, limit)
		limit = ends[i].nameY - step
	}
	for _, e := range ends {
		c.printf("<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"#b8b8b8\" stroke-width=\"0.5\"/>\n", e.x+5, e.y, x+15, e.nameY)
		c.text(x+18, e.nameY+4, "start", e.colour, e.name, "")
	}
}
