package fields

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// FerretDir is the folder of Debian's package ferret-datasets.
const FerretDir = "/usr/share/ferret-vis/data"

// A record is five days. A month of a climatology is stepsPerMonth records.
const (
	recordDays    = 5
	stepsPerMonth = 6
)

// ferretSources are the files and variables that Ferret uses. weather is the size of
// the variations, in standard deviations of the variable.
var ferretSources = []struct {
	file, prefix string
	vars         []string
	weather      float64
}{
	{"coads_climatology.cdf", "coads", []string{"SST", "AIRT", "SPEH", "WSPD", "UWND", "VWND", "SLP"}, 0.05},
	{"ocean_atlas_subset.nc", "atlas", []string{"TEMP"}, 0.01},
	{"monthly_navy_winds.cdf", "navy", []string{"UWND", "VWND"}, 0.05},
	{"esku_heat_budget.cdf", "esku", []string{"SPD", "SST", "CLD", "SLP", "FUL", "FDH", "KSST"}, 0.05},
	{"levitus_climatology.cdf", "levitus", []string{"TEMP", "SALT"}, 0},
	{"etopo5.cdf", "etopo5", []string{"ROSE"}, 0},
	{"etopo20.cdf", "etopo20", []string{"ROSE"}, 0},
}

// Ferret returns a file of at least size bytes. It has the monthly fields of dir's
// files as interleaved record variables, interpolated to five days and repeated year by
// year with simulated weather, and some of their fixed fields. Masked values stay
// exactly masked, and multiples of a decimal step stay such multiples.
//
// With maps it also has levitus_map, a map of 180 x 360 per record: the levels of an ocean
// climatology, as if they were months.
func Ferret(dir string, size int64, maps bool) (*File, error) {
	b := newBuilder("climatologies of ferret-datasets, repeated with weather")
	b.time(recordDays)
	for i, s := range ferretSources {
		if err := b.ferretFile(filepath.Join(dir, s.file), s.prefix, s.vars, s.weather, uint64(i)<<32); err != nil {
			return nil, err
		}
	}
	if maps {
		if err := b.ferretMaps(dir); err != nil {
			return nil, err
		}
	}
	return b.file(size)
}

// Open opens a classic file and reads its header.
func Open(name string) (*os.File, *cdf3.Header, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	st, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	h, err := cdf3.Read(f, st.Size())
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	return f, h, nil
}

// ferretMaps adds the variable levitus_map. Its dimensions are those of levitus_TEMP.
func (b *builder) ferretMaps(dir string) error {
	name := filepath.Join(dir, "levitus_climatology.cdf")
	f, h, err := Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	v := varNamed(h, "TEMP")
	like := varNamed(&b.h, "levitus_TEMP")
	if v == nil || like == nil || v.Type != cdf3.Float || len(v.Shape) != 3 {
		return fmt.Errorf("%s: no float variable TEMP with three dimensions", name)
	}
	all, err := readFloats(f, h, v)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	nx, ny := int(v.Shape[2]), int(v.Shape[1])
	levels := slices.Collect(slices.Chunk(all[0], nx*ny))
	c := newClimate(levels, missing(v), newWeather(nx, ny, 99<<32), 0.01)
	b.add("levitus_map", cdf3.Float, append([]int{0}, like.DimIDs[1:]...), c.values, v.Attrs...)
	return nil
}

func (b *builder) ferretFile(name, prefix string, vars []string, strength float64, seed uint64) error {
	f, h, err := Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	dims := map[int]int{} // output dimension by input dimension
	var sky *weather
	for _, want := range vars {
		v := varNamed(h, want)
		if v == nil || v.Type != cdf3.Float || len(v.Shape) < 2 {
			return fmt.Errorf("%s: no float variable %s with two dimensions", name, want)
		}
		months, err := readFloats(f, h, v)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		var ids []int
		for _, id := range v.DimIDs {
			if h.Dims[id].Len == 0 {
				ids = append(ids, 0)
				continue
			}
			if _, ok := dims[id]; !ok {
				d, err := b.copyAxis(f, h, id, prefix)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				dims[id] = d
			}
			ids = append(ids, dims[id])
		}
		if !v.Record {
			b.add(prefix+"_"+v.Name, cdf3.Float, ids, putFloats(months[0]), v.Attrs...)
			continue
		}
		nx, ny := int(v.Shape[len(v.Shape)-1]), int(v.Shape[len(v.Shape)-2])
		if sky == nil {
			sky = newWeather(nx, ny, seed)
		}
		if len(months[0])%(nx*ny) != 0 || sky.nx != nx || sky.ny != ny {
			return fmt.Errorf("%s: %s is on another grid than the variables before it", name, want)
		}
		c := newClimate(months, missing(v), sky, strength)
		b.add(prefix+"_"+v.Name, cdf3.Float, ids, c.values, v.Attrs...)
	}
	return nil
}

func varNamed(h *cdf3.Header, name string) *cdf3.Var {
	for i := range h.Vars {
		if h.Vars[i].Name == name {
			return &h.Vars[i]
		}
	}
	return nil
}

// copyAxis adds a dimension of the input with its coordinates.
func (b *builder) copyAxis(f *os.File, h *cdf3.Header, id int, prefix string) (int, error) {
	d := h.Dims[id]
	v := varNamed(h, d.Name)
	if v == nil || v.Type != cdf3.Double || v.Len != 8*d.Len {
		return 0, fmt.Errorf("dimension %s has no coordinates", d.Name)
	}
	buf := make([]byte, v.Len)
	if err := ioat.ReadFull(f, buf, v.Begin); err != nil {
		return 0, err
	}
	coords := make([]float64, d.Len)
	for i := range coords {
		coords[i] = math.Float64frombits(binary.BigEndian.Uint64(buf[8*i:]))
	}
	units := ""
	for _, a := range v.Attrs {
		if a.Name == "units" {
			units = string(a.Values)
		}
	}
	return b.axis(prefix+"_"+d.Name, units, coords), nil
}

// readFloats reads the records of a variable, or a whole fixed variable as one record.
func readFloats(f *os.File, h *cdf3.Header, v *cdf3.Var) ([][]float32, error) {
	n := int64(1)
	if v.Record {
		n = h.NumRecs
	}
	out := make([][]float32, n)
	buf := make([]byte, v.RecLen)
	for i := range out {
		if err := ioat.ReadFull(f, buf, v.Begin+int64(i)*h.RecSize); err != nil {
			return nil, err
		}
		out[i] = make([]float32, v.RecLen/4)
		for j := range out[i] {
			out[i][j] = math.Float32frombits(binary.BigEndian.Uint32(buf[4*j:]))
		}
	}
	return out, nil
}

// missing returns a function that reports masked values of a variable.
func missing(v *cdf3.Var) func(float32) bool {
	var masks []float32
	for _, a := range v.Attrs {
		if (a.Name == "missing_value" || a.Name == "_FillValue") && a.Type == cdf3.Float && a.Len == 1 {
			masks = append(masks, math.Float32frombits(binary.BigEndian.Uint32(a.Values)))
		}
	}
	return func(x float32) bool {
		for _, m := range masks {
			if x == m {
				return true
			}
		}
		return math.Abs(float64(x)) > 1e30
	}
}

// climate varies monthly fields.
type climate struct {
	months [][]float32
	masked func(float32) bool
	sky    *weather
	size   float32 // of the weather
	scale  float64 // values are multiples of 1/scale, unless 0
	lo, hi float32 // bounds of the values, which the weather respects
	field  []float32
}

func newClimate(months [][]float32, masked func(float32) bool, sky *weather, strength float64) *climate {
	c := &climate{months: months, masked: masked, sky: sky, field: make([]float32, sky.nx*sky.ny)}
	c.size = float32(strength * deviation(months[0], masked))
	c.scale = decimalScale(months, masked)
	c.lo, c.hi = math.MaxFloat32, -math.MaxFloat32
	for _, m := range months {
		for _, v := range m {
			if !masked(v) {
				c.lo, c.hi = min(c.lo, v), max(c.hi, v)
			}
		}
	}
	return c
}

// decimalScale returns the smallest power of ten whose reciprocal divides all values,
// within the precision of floats, or 0.
func decimalScale(months [][]float32, masked func(float32) bool) float64 {
search:
	for scale := 1.0; scale <= 1e4; scale *= 10 {
		for _, m := range months {
			for _, v := range m {
				if masked(v) {
					continue
				}
				near := math.Round(float64(v)*scale) / scale
				ulp := math.Abs(float64(v)) / (1 << 23)
				if math.Abs(near-float64(v)) > 2*ulp {
					continue search
				}
			}
		}
		return scale
	}
	return 0
}

// values computes a record by interpolating between the months before and after it.
func (c *climate) values(dst []byte, rec int) {
	i := rec / stepsPerMonth % len(c.months)
	w := float32(rec%stepsPerMonth) / stepsPerMonth
	a, b := c.months[i], c.months[(i+1)%len(c.months)]
	nearest := a
	if w > 0.5 {
		nearest = b
	}
	c.sky.at(c.field, rec)
	for k := range a {
		v := nearest[k]
		if !c.masked(v) {
			va, vb := a[k], b[k]
			switch {
			case c.masked(va):
				va = vb
			case c.masked(vb):
				vb = va
			}
			v = va + float32((vb-va)*w) + float32(c.size*c.field[k%len(c.field)])
			v = min(max(v, c.lo), c.hi)
			if c.scale > 0 {
				v = float32(math.Round(float64(v)*c.scale) / c.scale)
			}
		}
		binary.BigEndian.PutUint32(dst[4*k:], math.Float32bits(v))
	}
}
