package cataloguefile

import (
	"crypto/sha256"
	"fmt"
	"math"
	"net/url"
	"path"
	"strings"
	"time"
)

// Item is a file as an item of a SpatioTemporal Asset Catalog, version 1.0.0
// (https://github.com/radiantearth/stac-spec/blob/v1.0.0/item-spec/item-spec.md). Add adds variables of
// the file; the exported fields are JSON.
type Item struct {
	Type       string           `json:"type"`
	Version    string           `json:"stac_version"`
	Extensions []string         `json:"stac_extensions"`
	ID         string           `json:"id"`
	Geometry   *geometry        `json:"geometry"`
	Box        []float64        `json:"bbox,omitempty"`
	Properties properties       `json:"properties"`
	Links      []struct{}       `json:"links"`
	Assets     map[string]asset `json:"assets"`

	start, end date
	lat, lon   *angleRange
	points     pointSet // the places of all variables, unless one has others
	last       *Points  // that were added
	hasArea    bool     // a variable has more than single places, or there are too many of these
	held       int      // bytes of the variables
}

// fileExtension is the STAC extension for the sizes of files.
const fileExtension = "https://stac-extensions.github.io/file/v2.1.0/schema.json"

type properties struct {
	Title     string         `json:"title"`
	Time      *string        `json:"datetime"`
	Start     string         `json:"start_datetime"`
	End       string         `json:"end_datetime"`
	Calendar  string         `json:"cdfz:calendar,omitempty"`
	Image     string         `json:"cdfz:image,omitempty"`
	SHA256    string         `json:"cdfz:sha256,omitempty"`
	ImageSize int64          `json:"cdfz:image_size"`
	Variables []itemVariable `json:"cdfz:variables"`
	Omitted   int            `json:"cdfz:variables_omitted,omitempty"`
}

// itemVariable describes a variable.
type itemVariable struct {
	Name         string   `json:"name"`
	Type         string   `json:"type"`
	Dimensions   []string `json:"dimensions"`
	Shape        []int64  `json:"shape"`
	StandardName string   `json:"standard_name,omitempty"`
	LongName     string   `json:"long_name,omitempty"`
	Units        string   `json:"units,omitempty"`
}

type asset struct {
	Href  string   `json:"href"`
	Title string   `json:"title"`
	Type  string   `json:"type"`
	Roles []string `json:"roles"`
	Size  int64    `json:"file:size"`
}

type geometry struct {
	Type        string `json:"type"`
	Coordinates any    `json:"coordinates"`
}

// maxItem bounds the bytes of the variables in an item. A file can have any number of variables.
const maxItem = 16 << 20

// NewItem returns an item of the file of a row, without variables.
func NewItem(r *Row) *Item {
	name := r.Name()
	base := validUTF8(path.Base(strings.ReplaceAll(name, `\`, "/")))
	a := asset{Href: href(name), Title: base, Type: "application/x-netcdf", Roles: []string{"data"}, Size: r.ImageSize}
	if r.ArchiveSize > 0 {
		a.Type, a.Size = "application/zip", r.ArchiveSize
	}
	return &Item{
		Type: "Feature", Version: "1.0.0", Extensions: []string{fileExtension},
		// Names of files are not unique, and paths are not allowed in ids by all catalogues.
		ID:         fmt.Sprintf("%s-%.6x", base, sha256.Sum256([]byte(name))),
		Properties: properties{Title: base, Image: r.Image, SHA256: r.SHA256, ImageSize: r.ImageSize, Variables: []itemVariable{}},
		Links:      []struct{}{}, Assets: map[string]asset{"data": a},
	}
}

// href returns a path or URL as a reference to a URI.
func href(name string) string {
	if u, err := url.Parse(name); err == nil && len(u.Scheme) > 1 && u.Host != "" {
		if u.RawQuery == "" && u.Fragment == "" && !strings.ContainsAny(name, "?#%") {
			return u.String() // encodes the path
		}
		if scheme, rest, _ := strings.Cut(name, "://"); scheme == "s3" || scheme == "gs" { // keys are any text
			host, key, _ := strings.Cut(rest, "/")
			return (&url.URL{Scheme: scheme, Host: host, Path: "/" + key}).String()
		}
		return name
	}
	return (&url.URL{Path: name}).String()
}

// Add adds a variable of the file, and completes the item. The variable of a row without one is not added.
func (m *Item) Add(r *Row) {
	const each = 128 // bytes besides the texts
	n := each + len(r.Variable) + len(r.StandardName) + len(r.LongName) + len(r.Units) + 8*len(r.Shape)
	for _, d := range r.Dimensions {
		n += len(d) + 16
	}
	switch {
	case r.Variable == "" && r.Type == "":
	case m.held+n > maxItem:
		m.Properties.Omitted++
	default:
		m.held += n
		m.Properties.Variables = append(m.Properties.Variables, itemVariable{r.Variable, r.Type, append([]string{}, r.Dimensions...), append([]int64{}, r.Shape...), r.StandardName, r.LongName, r.Units})
	}
	m.addTimes(r)
	if r.LatMin != nil && r.LatMax != nil && r.LonMin != nil && r.LonMax != nil {
		m.addBox(&angleRange{lo: *r.LatMin, hi: *r.LatMax}, &angleRange{*r.LonMin, *r.LonMax, r.LonCircle}, r.Points)
	}
}

// addTimes extends the times. A file without times is valid at all times, as its fields are.
func (m *Item) addTimes(r *Row) {
	start, err1 := parseDate(r.TimeStart)
	end, err2 := parseDate(r.TimeEnd)
	if err1 == nil && err2 == nil && len(start) >= 6 && len(end) >= 6 {
		if m.start == nil || start.compare(m.start) < 0 {
			m.start = start
		}
		if m.end == nil || end.compare(m.end) > 0 {
			m.end = end
		}
		m.Properties.Calendar = r.Calendar
	}
	m.Properties.Start, m.Properties.End = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"
	if m.start != nil {
		m.Properties.Start, m.Properties.End = instant(m.start), instant(m.end)
	}
}

// instant returns a date as one of RFC 3339, which is in the Gregorian calendar. A day that its month
// does not have there becomes the last one of the month, and a year that RFC 3339 cannot write the
// nearest that it can.
func instant(d date) string {
	switch year := d[0]; {
	case year < 1:
		return "0001-01-01T00:00:00Z"
	case year > 9999:
		return "9999-12-31T23:59:59Z"
	}
	last := time.Date(int(d[0]), time.Month(d[1])+1, 0, 0, 0, 0, 0, time.UTC).Day()
	s := fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:%02d", d[0], d[1], min(d[2], int64(last)), d[3], d[4], d[5])
	if len(d) > 6 && d[6] > 0 {
		s += strings.TrimRight(fmt.Sprintf(".%06d", d[6]), "0")
	}
	return s + "Z"
}

// addPlaces adds the points of a variable, or the box of one that has none.
func (m *Item) addPlaces(lat, lon *angleRange, points *Points) {
	switch {
	case m.hasArea || points != nil && points == m.last:
	case points != nil:
		m.last = points
		for _, p := range points.at {
			m.hasArea = m.hasArea || !m.points.add(p)
		}
	case lat.lo == lat.hi && lon.lo == lon.hi:
		m.hasArea = !m.points.add(point(lat.lo, lon.lo))
	default:
		m.hasArea = true
	}
}

// addBox extends the box and the geometry. Points are nil for a variable that has a box alone.
func (m *Item) addBox(lat, lon *angleRange, points *Points) {
	for _, x := range []float64{lat.lo, lat.hi, lon.lo, lon.hi} {
		if math.IsNaN(x) || math.Abs(x) > 1080 {
			return // no angles on a map
		}
	}
	if lat.lo > 90 || lat.hi < -90 {
		return
	}
	m.addPlaces(lat, lon, points)
	if m.lat == nil {
		m.lat, m.lon = lat, lon
	} else {
		m.lat.lo, m.lat.hi = min(m.lat.lo, lat.lo), max(m.lat.hi, lat.hi)
		turn := 360 * math.Round((m.lon.lo-lon.lo)/360)
		m.lon.lo, m.lon.hi = min(m.lon.lo, lon.lo+turn), max(m.lon.hi, lon.hi+turn)
		m.lon.circle = m.lon.circle || lon.circle
	}
	south, north := max(-90, m.lat.lo), min(90, m.lat.hi)
	west, east := -180.0, 180.0
	if !m.lon.circle && m.lon.hi-m.lon.lo < 360 {
		west, east = onMap(m.lon.lo), onMap(m.lon.hi)
		if east == -180 && m.lon.hi > m.lon.lo {
			east = 180
		}
	}
	m.Box = []float64{west, south, east, north}
	switch {
	case west == east && south == north:
		m.Geometry = &geometry{"Point", []float64{west, south}}
		return
	case !m.hasArea && len(m.points.at) == 1:
		m.Geometry = &geometry{"Point", m.points.at[0]}
		return
	case !m.hasArea:
		m.Geometry = &geometry{"MultiPoint", m.points.at}
		return
	}
	m.Geometry = &geometry{Type: "MultiPolygon"}
	if west <= east {
		m.Geometry.Coordinates = [][][][]float64{rectangle(west, south, east, north)}
		return
	}
	// A box across the date line is cut there (RFC 7946, 3.1.9).
	m.Geometry.Coordinates = [][][][]float64{rectangle(west, south, 180, north), rectangle(-180, south, east, north)}
}

// onMap returns a longitude from -180 to 180, without 180.
func onMap(x float64) float64 { return x - 360*math.Floor((x+180)/360) }

// rectangle returns the coordinates of a polygon, counterclockwise.
func rectangle(w, s, e, n float64) [][][]float64 {
	return [][][]float64{{{w, s}, {e, s}, {e, n}, {w, n}, {w, s}}}
}
