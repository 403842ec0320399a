package fields

import (
	"encoding/binary"
	"math"

	"github.com/cdfz-format/cdfz/cdf3"
)

// The grid of Synthetic.
const (
	synLon, synLat, synLev = 144, 72, 5
	synDays                = 0.25
	synFill                = float32(1e20)
	synShortFill           = -32767
)

// Synthetic returns a computed file of at least size bytes: smooth fields with
// simulated weather. It has the features of files of models and reanalyses:
// full-mantissa floats, a field on levels, one with many exact zeros, a masked one, one
// of packed shorts, flags in bytes, and fixed fields.
func Synthetic(size int64) (*File, error) {
	b := newBuilder("computed fields with weather")
	b.h.Attrs = append(b.h.Attrs, text("source", "no measurement: a test file"))
	b.time(synDays)
	lev := b.axis("lev", "hPa", []float64{1000, 850, 500, 250, 100})
	lat := b.axis("lat", "degrees_north", steps(synLat, -90+1.25, 2.5))
	lon := b.axis("lon", "degrees_east", steps(synLon, 0, 2.5))
	surface := []int{0, lat, lon}

	height := noiseField(synLon, synLat, 1)
	land := func(k int) bool { return height[k] > 0.2 }
	s := &synth{}
	for i := range s.sky {
		s.sky[i] = newWeather(synLon, synLat, uint64(i+2)<<32)
	}
	s.field, s.above = make([]float32, synLon*synLat), make([]float32, synLon*synLat)

	b.add("orog", cdf3.Float, []int{lat, lon}, func(dst []byte, _ int) {
		for k := range height {
			v := float32(0)
			if land(k) {
				v = float32(math.Round(float64(height[k]-0.2) * 2000))
			}
			binary.BigEndian.PutUint32(dst[4*k:], math.Float32bits(v))
		}
	}, text("units", "m"))
	b.add("sftlf", cdf3.Byte, []int{lat, lon}, func(dst []byte, _ int) {
		for k := range dst {
			dst[k] = 0
			if land(k) {
				dst[k] = 100
			}
		}
	}, text("units", "%"))
	b.add("ta", cdf3.Float, []int{0, lev, lat, lon}, s.levels(func(k, rec int, w float32) float32 {
		level, y := k/(synLat*synLon), k/synLon%synLat
		return 300 - float32(22*float32(level)) + s.season(y, rec) + float32(4*w)
	}), text("units", "K"))
	b.add("tas", cdf3.Float, surface, s.floats(1, func(k, rec int, w float32) float32 {
		return 288 + float32(1.5*s.season(k/synLon, rec)) + float32(5*w)
	}), text("units", "K"))
	b.add("psl", cdf3.Float, surface, s.floats(2, func(k, _ int, w float32) float32 {
		return 101325 + float32(900*w)
	}), text("units", "Pa"))
	b.add("uas", cdf3.Float, surface, s.floats(3, func(k, _ int, w float32) float32 { return float32(9 * w) }), text("units", "m s-1"))
	b.add("pr", cdf3.Float, surface, s.floats(4, func(k, _ int, w float32) float32 {
		return max(0, w-0.3) * 1e-4
	}), text("units", "kg m-2 s-1"))
	b.add("tos", cdf3.Float, surface, s.floats(1, func(k, rec int, w float32) float32 {
		if land(k) {
			return synFill
		}
		v := 15 + s.season(k/synLon, rec) + w
		return float32(math.Round(float64(v)*100) / 100)
	}), text("units", "degC"), floatAttr("_FillValue", synFill))
	b.add("hus", cdf3.Short, surface, s.shorts(5, func(k, _ int, w float32) int16 {
		if land(k) && height[k] > 0.8 {
			return synShortFill
		}
		return int16(9000 * w)
	}), text("units", "1"), floatAttr("scale_factor", 1e-6), floatAttr("add_offset", 0.01),
		cdf3.Attr{Name: "_FillValue", Type: cdf3.Short, Len: 1, Values: binary.BigEndian.AppendUint16(nil, 0x8001)})
	b.add("quality", cdf3.Byte, surface, s.bytes(4, func(w float32) byte {
		if w > 0.6 {
			return 2
		}
		return 0
	}), text("units", "1"))
	return b.file(size)
}

func steps(n int, first, step float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = first + float64(float64(i)*step)
	}
	return out
}

// synth holds shared data of the variables of a synthetic file.
type synth struct {
	sky          [6]*weather
	field, above []float32
}

// season returns a temperature by latitude and time of the year.
func (s *synth) season(y, rec int) float32 {
	phi := (float64(y)+0.5)/synLat - 0.5 // -0.5 at the south pole
	year := float64(rec) * synDays / 365
	return float32(float64(25*math.Cos(2*math.Pi*phi)) + float64(10*phi*math.Sin(2*math.Pi*year)))
}

func (s *synth) floats(sky int, f func(k, rec int, w float32) float32) values {
	return func(dst []byte, rec int) {
		s.sky[sky].at(s.field, rec)
		for k := range len(dst) / 4 {
			binary.BigEndian.PutUint32(dst[4*k:], math.Float32bits(f(k, rec, s.field[k%len(s.field)])))
		}
	}
}

// levels returns float values on levels. The weather changes gradually from the ground
// upwards.
func (s *synth) levels(f func(k, rec int, w float32) float32) values {
	return func(dst []byte, rec int) {
		s.sky[1].at(s.field, rec)
		s.sky[0].at(s.above, rec)
		for k := range len(dst) / 4 {
			i, up := k%len(s.field), float32(k/len(s.field))/synLev
			w := float32((1-up)*s.field[i]) + float32(up*s.above[i])
			binary.BigEndian.PutUint32(dst[4*k:], math.Float32bits(f(k, rec, w)))
		}
	}
}

func (s *synth) shorts(sky int, f func(k, rec int, w float32) int16) values {
	return func(dst []byte, rec int) {
		s.sky[sky].at(s.field, rec)
		for k := range s.field {
			binary.BigEndian.PutUint16(dst[2*k:], uint16(f(k, rec, s.field[k])))
		}
	}
}

func (s *synth) bytes(sky int, f func(w float32) byte) values {
	return func(dst []byte, rec int) {
		s.sky[sky].at(s.field, rec)
		for k, w := range s.field {
			dst[k] = f(w)
		}
	}
}
