package main

import (
	"github.com/cdfz-format/cdfz/cdf3"
)

func ordinaryTraits() []trait {
	return []trait{
		{"climate", "a small climate model: coordinates, packed and plain fields, characters, masks; about 300 kB", "2", climate(24, 5, 16, 30)},
		{"climate_small", "the same, a few kB", "15", climate(3, 2, 6, 8)},
		{"bits", "values of all bit patterns: NaN with payloads, infinities, zeros, least and most", "", bits},
		{"constant", "a constant, a ramp and noise, each larger than some blocks", "5", func(m *maker) ([]byte, int64) {
			x := m.dim("x", 1024)
			m.add("constant", cdf3.Float, x)
			m.add("ramp", cdf3.Int, x)
			m.add("noise", cdf3.Int64, x)
			m.values[0] = func(int64) int64 { return 640 }
			m.values[1] = func(i int64) int64 { return 7 * i }
			m.values[2] = func(int64) int64 { return int64(m.rnd.next()) }
			m.layout(0)
			return m.image(), 0
		}},
		{"fill_holes", "values of which half are the fill value of their type", "", func(m *maker) ([]byte, int64) {
			t, x := m.dim("t", 0), m.dim("x", 20)
			m.add("s", cdf3.Short, t, x)
			m.add("i", cdf3.Int, t, x)
			for v, fill := range map[int]int64{0: -32767, 1: -2147483647} {
				m.values[v] = func(i int64) int64 {
					if i/5%2 == 0 {
						return fill
					}
					return 100 + i
				}
			}
			m.layout(5)
			return m.image(), 5
		}},
	}
}

// wave is a smooth function of i with period n, between about -4*amp and 4*amp. It
// consists of two integer parabolas, so that all machines agree.
func wave(i, n, amp int64) int64 {
	i = (i%n + n) % n
	half := (n + 1) / 2
	sign := int64(1)
	if i >= half {
		i, sign = i-half, -1
	}
	return sign * 16 * amp * i * (half - i) / (half * half)
}

func climate(nt, nlev, nlat, nlon int64) func(m *maker) ([]byte, int64) {
	return func(m *maker) ([]byte, int64) {
		m.Attrs = []cdf3.Attr{
			text("title", "output of a small climate model"),
			text("Conventions", "CF-1.8"),
			text("institution", "made for tests"),
			text("history", "2001-01-01T00:00:00Z: made\n2001-01-02T00:00:00Z: packed\n"),
			number("realization", cdf3.Int, []int32{1}),
		}
		t, lev, lat, lon := m.dim("time", 0), m.dim("lev", nlev), m.dim("lat", nlat), m.dim("lon", nlon)
		nv, strlen := m.dim("nv", 2), m.dim("strlen", 10)
		add := func(name string, ty cdf3.Type, dims []int, value func(i int64) int64, attrs ...cdf3.Attr) {
			m.add(name, ty, dims...).Attrs = attrs
			m.values[len(m.Vars)-1] = value
		}
		noise := func(n int64) int64 { return int64(m.rnd.next() % uint64(n)) }
		cell := nlat * nlon
		temp := func(i int64) int64 { // 1/64 K
			x, y, r := i%nlon, i/nlon%nlat, i/cell
			return 18000 + wave(y, 2*nlat, 400) + wave(x+r, nlon, 60) + wave(r, 12, 100) + noise(16)
		}
		add("time", cdf3.Double, []int{t}, func(i int64) int64 { return 1024 * (15 + 30*i) },
			text("units", "days since 2001-01-01"), text("calendar", "360_day"), text("bounds", "time_bnds"))
		add("time_bnds", cdf3.Double, []int{t, nv}, func(i int64) int64 { return 1024 * 30 * (i/2 + i%2) })
		add("lat", cdf3.Float, []int{lat}, func(i int64) int64 { return 64*180*i/nlat - 64*90 },
			text("units", "degrees_north"), text("axis", "Y"))
		add("lon", cdf3.Float, []int{lon}, func(i int64) int64 { return 64 * 360 * i / nlon },
			text("units", "degrees_east"), text("axis", "X"))
		add("lev", cdf3.Double, []int{lev}, func(i int64) int64 { return 1024 * (1000 - 100*i) },
			text("units", "hPa"), text("positive", "down"))
		add("crs", cdf3.Int, nil, func(int64) int64 { return 0 }, text("grid_mapping_name", "latitude_longitude"))
		add("orog", cdf3.Float, []int{lat, lon}, func(i int64) int64 { return max(0, 64*wave(i%nlon, nlon, 100)+64*wave(i/nlon, nlat, 100)) },
			text("units", "m"))
		add("landmask", cdf3.Byte, []int{lat, lon}, func(i int64) int64 { return (wave(i%nlon, nlon, 9)+wave(i/nlon, nlat, 9))>>63 + 1 },
			number("flag_values", cdf3.Byte, []int8{0, 1}), text("flag_meanings", "sea land"))
		add("stamp", cdf3.Char, []int{t, strlen}, func(i int64) int64 {
			return int64([]byte{'2', '0', '0', '1' + byte(i/10/12%9), '-', '0' + byte((i/10%12+1)/10), '0' + byte((i/10%12+1)%10), '-', '1', '5'}[i%10])
		})
		add("tas", cdf3.Float, []int{t, lat, lon}, temp,
			text("units", "K"), text("long_name", "near-surface air temperature"), number("_FillValue", cdf3.Float, []float32{1e20}),
			text("coordinates", "time lat lon"))
		add("ta", cdf3.Float, []int{t, lev, lat, lon}, func(i int64) int64 {
			r, l := i/cell/nlev, i/cell%nlev
			return temp(r*cell+i%cell) - 400*l
		}, text("units", "K"), text("long_name", "air temperature"), number("_FillValue", cdf3.Float, []float32{1e20}))
		add("pr", cdf3.Short, []int{t, lat, lon}, func(i int64) int64 {
			if i%11 == 3 {
				return -32767
			}
			return max(-32000, wave(i%nlon+i/cell, nlon, 500)+noise(100)-1000)
		}, text("units", "kg m-2 s-1"), number("scale_factor", cdf3.Double, []float64{1.0 / 1048576}), number("add_offset", cdf3.Double, []float64{0.03125}),
			number("_FillValue", cdf3.Short, []int16{-32767}), number("missing_value", cdf3.Short, []int16{-32767}))
		add("quality", cdf3.Byte, []int{t, lat}, func(int64) int64 { return noise(4) })
		m.layout(uint64(nt))
		return m.image(), nt
	}
}

func bits(m *maker) ([]byte, int64) {
	x, n := m.dim("x", 12), m.dim("n", 256)
	floats := []uint32{0, 1 << 31, 1, 0x007fffff, 0x00800000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7fa00001, 0xffffffff}
	m.add("f", cdf3.Float, x)
	m.add("d", cdf3.Double, x)
	m.add("b", cdf3.Byte, n)
	m.add("c", cdf3.Char, n)
	m.add("s", cdf3.Short, n)
	for _, v := range []int{2, 3} {
		m.values[v] = func(i int64) int64 { return i }
	}
	m.values[4] = func(i int64) int64 { return i * 257 }
	m.layout(0)
	b := m.image()
	for i, u := range floats {
		copy(b[m.Vars[0].Begin+4*int64(i):], number("", cdf3.UInt, u).Values)
		// The same sign and exponent class as in 64 bits: the high word of the double
		// keeps 20 bits of the significand.
		d := uint64(u)<<32 | uint64(u)
		if u&0x7f800000 == 0x7f800000 {
			d = uint64(u&0xfff00000)<<32 | uint64(u&0x000fffff)<<29 | uint64(u&1)
			d |= 0x7ff0000000000000
		}
		copy(b[m.Vars[1].Begin+8*int64(i):], number("", cdf3.UInt64, d).Values)
	}
	return b, 0
}
