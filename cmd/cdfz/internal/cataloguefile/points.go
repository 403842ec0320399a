package cataloguefile

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cf"
)

// Bounds of places: a variable with more distinct ones has a box alone, and so has one with coordinates that are
// longer, in values.
const (
	maxPoints     = 1000
	maxPlaceValue = maxGrid
)

// pointUnit is the part of a degree to which points are rounded: a tenth of a metre, as RFC 7946 recommends.
const pointUnit = 1e6

// Points are the places of a variable that is measured at single places, such as stations or profiles: 2 to maxPoints
// different ones, in the order of the file. They do not change.
type Points struct {
	text string       // a MultiPoint of GeoJSON
	at   [][2]float64 // longitude from -180 to below 180, latitude
}

// Len returns the number of places.
func (p *Points) Len() int { return len(p.at) }

// point returns a place as Points have it.
func point(lat, lon float64) [2]float64 {
	round := func(x float64) float64 { return math.Round(x*pointUnit)/pointUnit + 0 } // without negative zeros
	return [2]float64{onMap(round(onMap(lon))), round(lat)}                           // 179.9999999 is -180
}

// pointSet collects different places in their order.
type pointSet struct {
	at   [][2]float64
	seen map[[2]float64]struct{}
}

// add adds a place. It returns false if there are too many.
func (s *pointSet) add(p [2]float64) bool {
	if _, ok := s.seen[p]; ok {
		return true
	}
	if len(s.at) == maxPoints {
		return false
	}
	if s.seen == nil {
		s.seen = map[[2]float64]struct{}{}
	}
	s.seen[p] = struct{}{}
	s.at = append(s.at, p)
	return true
}

// newPoints returns two or more places.
func newPoints(at [][2]float64) *Points {
	b := []byte(`{"type":"MultiPoint","coordinates":[`)
	for i, p := range at {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = strconv.AppendFloat(b, p[0], 'f', -1, 64)
		b = append(b, ',')
		b = strconv.AppendFloat(b, p[1], 'f', -1, 64)
		b = append(b, ']')
	}
	return &Points{string(append(b, "]}"...)), at}
}

// parsePoints reads the text of Points.
func parsePoints(text string) (*Points, error) {
	var m struct {
		Type        string
		Coordinates [][]float64
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil || m.Type != "MultiPoint" {
		return nil, damage("expected a MultiPoint of GeoJSON, found %.40q", text)
	}
	if n := len(m.Coordinates); n < 1 || n > maxPoints {
		return nil, damage("expected 1 to %d points, found %d", maxPoints, n)
	}
	p := &Points{text: text, at: make([][2]float64, len(m.Coordinates))}
	for i, c := range m.Coordinates {
		if len(c) != 2 || math.Abs(c[0]) > 180 || math.Abs(c[1]) > 90 {
			return nil, damage("expected a longitude and a latitude, found %v", c)
		}
		p.at[i] = [2]float64(c)
	}
	return p, nil
}

// places are the points of a latitude and a longitude, and the box around them.
type places struct {
	points   *Points // nil for one
	lat, lon *angleRange
}

// placesOf returns the places of a pair of coordinates, or nil if these are no single places or too many. A place
// needs both coordinates.
func (c *coverage) placesOf(lat, lon int) (*places, error) {
	key := [2]int{lat, lon}
	if p, ok := c.places[key]; ok {
		return p, nil
	}
	c.places[key] = nil
	if !c.atPoints(lat, lon) {
		return nil, nil
	}
	for _, k := range key {
		if v := &c.h.Vars[k]; v.Len/v.Type.Size() > maxPlaceValue {
			return nil, nil
		}
	}
	north, err := c.read(lat, false)
	if err != nil {
		return nil, err
	}
	east, err := c.read(lon, false)
	if err != nil || len(north) != len(east) {
		return nil, err
	}
	var set pointSet
	n := 0 // values of places
	for i := range north {
		if !isLatitude(north[i]) || !isLongitude(east[i]) {
			continue
		}
		if !set.add(point(north[i], east[i])) {
			return nil, nil
		}
		north[n], east[n] = north[i], east[i]
		n++
	}
	if n == 0 {
		return nil, nil
	}
	if len(set.at) == 1 {
		n = 1 // on any turn
	}
	p := &places{lat: latitudes(north[:n]), lon: longitudes(east[:n])}
	if len(set.at) > 1 {
		p.points = newPoints(set.at)
	}
	c.places[key] = p
	return p, nil
}

// pointTypes and trackTypes are the values of featureType (CF conventions, chapter 9) and of its older names in small
// letters. Data of the former are at single places, those of the latter between these, too.
var (
	pointTypes = []string{"point", "timeseries", "profile", "timeseriesprofile", "trajectoryprofile", "station", "stationprofile", "stationtimeseries", "section"}
	trackTypes = []string{"trajectory", "grid", "swath", "image", "radial", "curtain", "ugrid"}
)

// meshDimension matches the dimensions of cells and nodes of grids whose coordinates have one dimension.
var meshDimension = regexp.MustCompile(`(?i)(^|[^a-z])n?(node|cell|face|edge|elem|element|ele|col|vertex|vertice)s?$|^grid_?size$|lat.*lon`)

// atPoints reports whether the values with a pair of coordinates are at single places, rather than in the cells of a
// grid or along a track.
func (c *coverage) atPoints(lat, lon int) bool {
	return slices.Equal(c.h.Vars[lat].DimIDs, c.h.Vars[lon].DimIDs) && c.ofPoints(lat)
}

// ofPoints reports whether a latitude is that of single places. The file tells, or else these have one dimension, which
// is neither that of a time, as that of a track is, nor that of a mesh. It looks at each variable once, as kind does.
func (c *coverage) ofPoints(lat int) (found bool) {
	if found, ok := c.single[lat]; ok {
		return found
	}
	defer func() { c.single[lat] = found }()
	v := &c.h.Vars[lat]
	switch {
	case len(v.DimIDs) == 0:
		return false
	case slices.Contains(pointTypes, c.feature):
		return true
	case slices.Contains(trackTypes, c.feature) || c.mesh || len(v.DimIDs) > 1 || v.Attr("bounds") != nil:
		return false
	}
	axis, ok := c.axes[v.DimIDs[0]]
	return !meshDimension.MatchString(c.h.Dims[v.DimIDs[0]].Name) && (!ok || axis != lat && !c.isTime(axis))
}

// isTime reports whether a variable has units of time.
func (c *coverage) isTime(k int) bool {
	units := c.h.Vars[k].Attr("units")
	if units == nil || len(units.Values) > maxUnits {
		return false
	}
	_, err := cf.UnitsOf(c.h, k)
	return err == nil
}

// findFeature finds what the file tells about the kind of its places.
func (c *coverage) findFeature() {
	for _, name := range []string{"featureType", "CF:featureType", "CF:feature_type", "cdm_data_type", "thredds_data_type"} {
		for i := range c.h.Attrs {
			a := &c.h.Attrs[i]
			if c.feature == "" && strings.EqualFold(a.Name, name) && a.Type == cdf3.Char && len(a.Values) <= maxUnits {
				if kind := strings.ToLower(strings.TrimSpace(a.Text())); slices.Contains(pointTypes, kind) || slices.Contains(trackTypes, kind) {
					c.feature = kind
				}
			}
		}
	}
	for i := range c.h.Vars {
		v := &c.h.Vars[i]
		if v.Attr("mesh") != nil || v.Attr("cf_role").Text() == "mesh_topology" {
			c.mesh = true
			break
		}
	}
}
