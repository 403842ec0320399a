package cataloguefile

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cf"
	"github.com/cdfz-format/cdfz/slab"
)

// Bounds of the coordinates that are read, in values.
const (
	// shortTimes is the length from which only both ends of a time axis are read: 256 KiB of doubles, a
	// block.
	shortTimes = 1 << 15
	endTimes   = 1 << 10
	// maxLine and maxGrid are the lengths of the longest coordinate of one dimension and of several.
	maxLine = 1 << 22
	maxGrid = 1 << 18
	maxFile = 1 << 24 // in all coordinates of a file
)

// coverage finds what the variables of a file cover. Each coordinate is read once.
type coverage struct {
	ctx    context.Context
	src    slab.Source
	h      *cdf3.Header
	byName map[string]int // the first variable of each name
	axes   map[int]int    // the coordinate variable of each dimension that has one
	lone   []int          // the latitude, the longitude and the time of the file, if it has one
	kinds  map[int]kind   // of the variables that were looked at
	times  map[int]*timeRange
	angles map[int]*angleRange
	// feature is what the file tells about the kind of its places, in small letters, and mesh whether a variable is on
	// the mesh of UGRID.
	feature string
	mesh    bool
	single  map[int]bool // latitudes that were looked at: whether their values are at single places
	places  map[[2]int]*places
	left    int64    // values that may still be read
	notes   []string // about times that cannot be read
}

// kind is what the values of a coordinate are.
type kind byte

const (
	other kind = iota + 1 // perhaps a time
	latitude
	longitude
)

type timeRange struct{ calendar, start, end string }

type angleRange struct {
	lo, hi float64
	circle bool
}

func newCoverage(ctx context.Context, src slab.Source) *coverage {
	c := &coverage{ctx: ctx, src: src, h: src.Header(), byName: map[string]int{}, axes: map[int]int{}, kinds: map[int]kind{}, times: map[int]*timeRange{}, angles: map[int]*angleRange{}, single: map[int]bool{}, places: map[[2]int]*places{}, left: maxFile}
	for i := range c.h.Vars {
		v := &c.h.Vars[i]
		if _, ok := c.byName[v.Name]; ok {
			continue
		}
		c.byName[v.Name] = i
		if len(v.DimIDs) == 1 && c.h.Dims[v.DimIDs[0]].Name == v.Name {
			c.axes[v.DimIDs[0]] = i
		}
	}
	c.findLone()
	c.findFeature()
	return c
}

// findLone finds the latitude, the longitude and the time of a file that has one of each kind. Programs take
// them for coordinates of all variables with their dimensions, though no attribute names them. A time that
// has an axis or a standard_name goes before those that have units alone.
func (c *coverage) findLone() {
	var found [3][]int // latitudes, longitudes, named times
	var times []int
	for i := range c.h.Vars {
		v := &c.h.Vars[i]
		if v.Type == cdf3.Char || len(v.DimIDs) > maxRank {
			continue
		}
		switch c.kind(i) {
		case latitude:
			found[0] = append(found[0], i)
		case longitude:
			found[1] = append(found[1], i)
		default:
			if !c.isTime(i) {
				continue
			}
			if times = append(times, i); v.Attr("axis").Text() == "T" || v.Attr("standard_name").Text() == "time" {
				found[2] = append(found[2], i)
			}
		}
	}
	if len(found[2]) == 0 {
		found[2] = times
	}
	for _, list := range found {
		if main := c.main(list); main >= 0 {
			c.lone = append(c.lone, main)
		}
	}
}

// main returns the only one of several variables, or else the one whose name begins those of all others, as JULD begins
// JULD_ADJUSTED in trajectories of Argo. It returns -1 if there is none.
func (c *coverage) main(list []int) int {
	if len(list) == 0 {
		return -1
	}
	shortest := slices.MinFunc(list, func(a, b int) int { return len(c.h.Vars[a].Name) - len(c.h.Vars[b].Name) })
	for _, k := range list {
		if k != shortest && !strings.HasPrefix(c.h.Vars[k].Name, c.h.Vars[shortest].Name+"_") {
			return -1
		}
	}
	return shortest
}

// maxUnits bounds the length of units and other attributes that are read of all variables.
const maxUnits = 256

// cover fills in the times and the box of variable number num.
func (c *coverage) cover(r *Row, num int) error {
	var t *timeRange
	var lat, lon *angleRange
	var pair [2]int // their numbers
	for _, k := range c.coordinates(num) {
		var err error
		switch kind := c.kind(k); {
		case kind == latitude && lat == nil:
			pair[0] = k
			lat, err = c.angle(k, latitudes)
		case kind == longitude && lon == nil:
			pair[1] = k
			lon, err = c.angle(k, longitudes)
		case kind == other && t == nil:
			t, err = c.time(k)
		}
		if err != nil {
			return err
		}
	}
	if t != nil {
		r.Calendar, r.TimeStart, r.TimeEnd = t.calendar, t.start, t.end
	}
	if lat != nil && lon != nil {
		p, err := c.placesOf(pair[0], pair[1])
		if err != nil {
			return err
		}
		if p != nil {
			r.Points, lat, lon = p.points, p.lat, p.lon
		}
	}
	if lat != nil {
		r.LatMin, r.LatMax = &lat.lo, &lat.hi
	}
	if lon != nil {
		r.LonMin, r.LonMax, r.LonCircle = &lon.lo, &lon.hi, lon.circle
	}
	return nil
}

// kind returns what the values of a variable are. It looks at each variable once: many may have the same
// coordinate, whose attributes may be many, too.
func (c *coverage) kind(k int) kind {
	if found, ok := c.kinds[k]; ok {
		return found
	}
	v := &c.h.Vars[k]
	found := other
	switch {
	case cf.IsLatitude(v):
		found = latitude
	case cf.IsLongitude(v):
		found = longitude
	}
	c.kinds[k] = found
	return found
}

// Bounds of the attribute coordinates: the names that are looked up, and the dimensions of a variable of such
// a name.
const (
	maxNamed = 64
	maxRank  = 8
)

// coordinates returns the numbers of the coordinates of a variable: the coordinate variables of its
// dimensions, then those that its attribute coordinates names (CF conventions, chapter 5). The dimensions of
// the latter must be among its own. Then comes the variable itself, if it is a coordinate that others may
// have failed to name, such as the times of observations, and last those of findLone.
func (c *coverage) coordinates(num int) []int {
	v := &c.h.Vars[num]
	var list []int
	for _, d := range v.DimIDs {
		if k, ok := c.axes[d]; ok {
			list = append(list, k)
		}
	}
	names := strings.Fields(cut(v.Attr("coordinates").Text()))
	for _, name := range names[:min(len(names), maxNamed)] {
		k, ok := c.byName[name]
		if !ok || len(c.h.Vars[k].DimIDs) > maxRank {
			continue
		}
		if c.within(k, v) {
			list = append(list, k)
		}
	}
	if c.kind(num) != other || v.Attr("standard_name").Text() == "time" || v.Attr("axis").Text() == "T" {
		list = append(list, num)
	}
	for _, k := range c.lone {
		if len(v.DimIDs) > 0 && c.within(k, v) {
			list = append(list, k)
		}
	}
	return list
}

// within reports whether all dimensions of variable number k are dimensions of v.
func (c *coverage) within(k int, v *cdf3.Var) bool {
	return !slices.ContainsFunc(c.h.Vars[k].DimIDs, func(d int) bool { return !slices.Contains(v.DimIDs, d) })
}

// maxNotes bounds the messages about a file.
const maxNotes = 3

// time returns what a coordinate covers, or nil if it is no time or has none.
func (c *coverage) time(k int) (*timeRange, error) {
	if t, ok := c.times[k]; ok {
		return t, nil
	}
	c.times[k] = nil
	if c.h.Vars[k].Attr("units") == nil {
		return nil, nil
	}
	u, err := cf.UnitsOf(c.h, k)
	if err != nil {
		if !errors.Is(err, cf.ErrNotTime) && len(c.notes) < maxNotes {
			c.notes = append(c.notes, fmt.Sprintf("the times of %q are left out: %v", cut(c.h.Vars[k].Name), err))
		}
		return nil, nil
	}
	values, err := c.read(k, true)
	if err != nil {
		return nil, err
	}
	var lo, hi cf.Time
	found := false
	for _, x := range values {
		t, ok := u.Time(x)
		if !ok {
			continue
		}
		if !found || t < lo {
			lo = t
		}
		if !found || t > hi {
			hi = t
		}
		found = true
	}
	if !found {
		return nil, nil
	}
	c.times[k] = &timeRange{u.Calendar.String(), u.Calendar.Date(lo).String(), u.Calendar.Date(hi).String()}
	return c.times[k], nil
}

// angle returns what a coordinate covers, or nil if it has no values.
func (c *coverage) angle(k int, of func([]float64) *angleRange) (*angleRange, error) {
	if a, ok := c.angles[k]; ok {
		return a, nil
	}
	c.angles[k] = nil
	values, err := c.read(k, false)
	if err != nil {
		return nil, err
	}
	c.angles[k] = of(values)
	return c.angles[k], nil
}

// read returns the values of a coordinate, unpacked, with NaN for missing ones. Of a long time axis it
// returns both ends. It returns none for a coordinate that would take too much to read.
func (c *coverage) read(k int, isTime bool) ([]float64, error) {
	v := &c.h.Vars[k]
	p, err := cf.NewPacking(v)
	if err != nil || v.Type == cdf3.Char {
		return nil, nil
	}
	n := v.Len / v.Type.Size()
	if len(v.Shape) != 1 && n > maxGrid || n > maxLine && !isTime {
		return nil, nil
	}
	sels := []slab.Sel{{}}
	if len(v.Shape) == 1 && isTime && n > shortTimes {
		n = 2 * endTimes
		sels = []slab.Sel{{Count: []int64{endTimes}}, {Start: []int64{v.Shape[0] - endTimes}, Count: []int64{endTimes}}}
	}
	if n > c.left {
		return nil, nil
	}
	c.left -= n
	var values []float64
	for _, s := range sels {
		part, err := cf.Read[float64](c.ctx, c.src.Array(k), s, p)
		if errors.Is(err, archive.ErrMemory) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		values = append(values, part...)
	}
	return values, nil
}

func isLatitude(x float64) bool { return math.Abs(x) <= 90 }

func isLongitude(x float64) bool { return math.Abs(x) <= maxLongitude }

// latitudes returns the range of the latitudes. Values that are no latitudes are ignored: files have numbers
// such as 9999 for missing ones without naming them.
func latitudes(values []float64) *angleRange {
	r := &angleRange{lo: math.Inf(1), hi: math.Inf(-1)}
	for _, x := range values {
		if isLatitude(x) {
			r.lo, r.hi = min(r.lo, x), max(r.hi, x)
		}
	}
	if r.lo > r.hi {
		return nil
	}
	return r
}

// maxLongitude bounds longitudes: some grids begin at -280 or end at 440.
const maxLongitude = 720

// longitudes returns the range of the longitudes. If these lie on both sides of the date line, so that most
// of the range from the least to the greatest is empty, the range goes across it: 170 to 190. The values are
// sorted.
func longitudes(values []float64) *angleRange {
	all := values[:0] // there may be millions
	for _, x := range values {
		if isLongitude(x) {
			all = append(all, x)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	r := &angleRange{lo: all[0], hi: all[len(all)-1]}
	turns := r.hi-r.lo >= 360
	if turns { // the gaps are those on the circle
		for i, x := range all {
			all[i] = x - 360*math.Floor((x-r.lo)/360)
		}
		slices.Sort(all)
	}
	gap, after := 0.0, 0 // the widest gap inside, and the value after it
	for i := 1; i < len(all); i++ {
		if d := all[i] - all[i-1]; d > gap {
			gap, after = d, i
		}
	}
	last := all[len(all)-1]
	outside := 360 - (last - r.lo)
	const (
		cell  = 60   // the widest cell of a global grid; a wider gap is no cell
		equal = 1.01 // longitudes are rounded
	)
	switch {
	case gap > cell && gap > 2*outside:
		r.lo, r.hi = all[after], all[after-1]+360
	case len(all) > 2 && outside <= cell && (turns || outside <= equal*gap):
		r.circle = true
	case turns:
		r.hi = last
	}
	return r
}
