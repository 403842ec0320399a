package trees

import (
	"bytes"
	"fmt"
	"math"

	"github.com/cdfz-format/cdfz/cdf3"
)

// profile is a profile of a float in the ocean: pressure, temperature and salinity, each
// with flags, adjusted values and their errors, and many short texts.
func profile(m *maker) {
	levels := 70 + m.r.IntN(430)
	m.Attr("title", "Argo float vertical profile")
	m.Attr("institution", "FR GDAC")
	m.Attr("source", "Argo float")
	m.Attr("history", "2020-01-01T00:00:00Z creation")
	m.Attr("references", "http://www.argodatamgt.org/Documentation")
	m.Attr("Conventions", "Argo-3.1 CF-1.6")
	m.Attr("featureType", "trajectoryProfile")
	one := m.Dim("N_PROF", 1)
	level := m.Dim("N_LEVELS", int64(levels))
	params := m.Dim("N_PARAM", 3)
	s8, s16, s64 := m.Dim("STRING8", 8), m.Dim("STRING16", 16), m.Dim("STRING64", 64)
	date := m.Dim("DATE_TIME", 14)
	pad := func(s string, n int) []byte { return append([]byte(s), bytes.Repeat([]byte{' '}, n-len(s))...) }
	chars := func(name, long string, dims []int, values []byte) {
		m.add(name, cdf3.Char, dims, values, " ", "long_name", long, "conventions", "Argo reference table")
	}
	chars("DATA_TYPE", "Data type", []int{s16}, pad("Argo profile", 16))
	chars("FORMAT_VERSION", "File format version", []int{s8}, pad("3.1", 8))
	chars("DATE_CREATION", "Date of file creation", []int{date}, []byte("20200101000000"))
	chars("PLATFORM_NUMBER", "Float unique identifier", []int{one, s8}, pad(fmt.Sprint(5900000+m.n/50), 8))
	chars("PROJECT_NAME", "Name of the project", []int{one, s64}, pad("ARGO PROJECT", 64))
	chars("PI_NAME", "Name of the principal investigator", []int{one, s64}, pad("Jane DOE", 64))
	chars("STATION_PARAMETERS", "List of available parameters for the station", []int{one, params, s16},
		append(append(pad("PRES", 16), pad("TEMP", 16)...), pad("PSAL", 16)...))
	m.add("JULD", cdf3.Double, []int{one}, []float64{25567 + float64(m.n%50)*10 + m.r.Float64()}, 999999.0,
		"long_name", "Julian day (UTC) of the station", "units", "days since 1950-01-01 00:00:00 UTC", "axis", "T")
	m.add("LATITUDE", cdf3.Double, []int{one}, []float64{round(m.r.Float64()*120-60, 1000)}, 99999.0, "units", "degree_north", "axis", "Y")
	m.add("LONGITUDE", cdf3.Double, []int{one}, []float64{round(m.r.Float64()*360-180, 1000)}, 99999.0, "units", "degree_east", "axis", "X")

	pres, temp, psal := make([]float32, levels), make([]float32, levels), make([]float32, levels)
	surface, mixed := 5+m.r.Float64()*22, 20+m.r.Float64()*80
	tn, sn := m.walk(levels, 0.02, 0.05), m.walk(levels, 0.004, 0.05)
	p := 4.0
	for i := range pres {
		p += 2 + 6*float64(i)/float64(levels) + 0.2*m.r.Float64()
		deep := math.Max(0, p-mixed)
		pres[i] = float32(round(p, 10))
		temp[i] = float32(round(2+(surface-2)*math.Exp(-deep/400)+tn[i], 1000))
		psal[i] = float32(round(34.6+0.8*math.Exp(-deep/300)+sn[i], 1000))
	}
	good := bytes.Repeat([]byte{'1'}, levels)
	for range m.r.IntN(4) {
		good[m.r.IntN(levels)] = '4'
	}
	for _, q := range []struct {
		name, long, units string
		values            []float32
		err               float32
	}{
		{"PRES", "Sea water pressure, equals 0 at sea-level", "decibar", pres, 2.4},
		{"TEMP", "Sea temperature in-situ ITS-90 scale", "degree_Celsius", temp, 0.002},
		{"PSAL", "Practical salinity", "psu", psal, 0.01},
	} {
		dims := []int{one, level}
		attrs := []string{"long_name", q.long, "units", q.units, "C_format", "%9.3f", "FORTRAN_format", "F9.3"}
		flag := []string{"long_name", "quality flag", "conventions", "Argo reference table 2"}
		m.add(q.name, cdf3.Float, dims, q.values, float32(99999), attrs...)
		m.add(q.name+"_QC", cdf3.Char, dims, good, " ", flag...)
		adjusted, errs := make([]float32, levels), make([]float32, levels)
		for i, x := range q.values {
			adjusted[i], errs[i] = x, q.err
			if good[i] != '1' {
				adjusted[i], errs[i] = 99999, 99999
			}
		}
		m.add(q.name+"_ADJUSTED", cdf3.Float, dims, adjusted, float32(99999), attrs...)
		m.add(q.name+"_ADJUSTED_QC", cdf3.Char, dims, good, " ", flag...)
		m.add(q.name+"_ADJUSTED_ERROR", cdf3.Float, dims, errs, float32(99999), attrs...)
	}
}

// station is a weather station with hourly values along the unlimited dimension.
func station(m *maker) {
	hours := 24 * (7 + m.r.IntN(25))
	m.Attr("Conventions", "CF-1.8")
	m.Attr("featureType", "timeSeries")
	m.Attr("title", fmt.Sprintf("hourly observations of station %05d", m.n))
	t := m.Dim("time", cdf3.Unlimited)
	length := m.Dim("name_strlen", 20)
	m.add("station_name", cdf3.Char, []int{length}, []byte(fmt.Sprintf("STATION %05d       ", m.n)), nil, "cf_role", "timeseries_id")
	m.add("lat", cdf3.Float, nil, []float32{float32(round(m.r.Float64()*140-70, 100))}, nil, "units", "degrees_north")
	m.add("lon", cdf3.Float, nil, []float32{float32(round(m.r.Float64()*360-180, 100))}, nil, "units", "degrees_east")
	times := make([]int32, hours)
	for i := range times {
		times[i] = int32(1577836800 + 3600*i)
	}
	m.add("time", cdf3.Int, []int{t}, times, nil, "units", "seconds since 1970-01-01", "standard_name", "time")
	for _, q := range []struct {
		name, standard, units  string
		mean, swing, step, per float64
		low                    float64
		missing                float64
	}{
		{"ta", "air_temperature", "degC", 12, 5, 0.4, 10, -60, 0.01},
		{"td", "dew_point_temperature", "degC", 7, 2, 0.4, 10, -70, 0.02},
		{"ps", "air_pressure", "hPa", 1010, 1, 0.5, 10, 800, 0.01},
		{"ff", "wind_speed", "m s-1", 3, 2, 0.8, 2, 0, 0.01},
		{"dd", "wind_from_direction", "degree", 180, 60, 20, 0.1, 0, 0.01},
		{"rr", "rainfall_amount", "mm", -1.5, 0.5, 0.6, 10, 0, 0.01},
		{"sw", "surface_downwelling_shortwave_flux_in_air", "W m-2", 100, 500, 20, 1, 0, 0.01},
	} {
		values := make([]float32, hours)
		flags := make([]int8, hours)
		noise := m.walk(hours, q.step, 0.1)
		for i := range values {
			day := -math.Cos(2 * math.Pi * float64(i-2) / 24)
			values[i] = float32(round(math.Max(q.low, q.mean+q.swing*day+noise[i]), q.per))
			if m.r.Float64() < q.missing {
				values[i], flags[i] = -9999, 9
			}
		}
		m.add(q.name, cdf3.Float, []int{t}, values, float32(-9999), "standard_name", q.standard, "units", q.units, "coordinates", "lat lon")
		m.add(q.name+"_qc", cdf3.Byte, []int{t}, flags, nil, "long_name", "quality flag of "+q.name)
	}
}

// sounding is the ascent of a balloon with a value each second, packed into integers.
func sounding(m *maker) {
	seconds := 1000 + m.r.IntN(2500)
	m.Attr("Conventions", "CF-1.8")
	m.Attr("title", fmt.Sprintf("radiosonde ascent %d", m.n))
	m.Attr("comment", "one level each second")
	obs := m.Dim("obs", int64(seconds))
	height, u, v := make([]int32, seconds), make([]int16, seconds), make([]int16, seconds)
	ta, hu, pa := make([]int16, seconds), make([]int16, seconds), make([]float32, seconds)
	wu, wv := m.walk(seconds, 0.2, 0.002), m.walk(seconds, 0.2, 0.002)
	wt, wh := m.walk(seconds, 0.04, 0.01), m.walk(seconds, 0.8, 0.01)
	z := 20 + m.r.Float64()*500
	for i := range height {
		z += 5 + 0.3*m.r.NormFloat64()
		height[i] = int32(z * 10)
		u[i], v[i] = int16(100*(z/2000+wu[i])), int16(100*wv[i])
		ta[i] = int16(100 * (15 - 6.5*math.Min(z, 11000)/1000 + wt[i]))
		hu[i] = int16(math.Min(1000, math.Max(10, 600+10*wh[i])))
		pa[i] = float32(round(1013.25*math.Pow(1-math.Min(z, 40000)*2.2e-5, 5.26), 100))
	}
	m.add("altitude", cdf3.Int, []int{obs}, height, nil, "units", "dm", "positive", "up")
	m.add("pa", cdf3.Float, []int{obs}, pa, float32(-9999), "units", "hPa", "standard_name", "air_pressure")
	for _, q := range []struct {
		name, units string
		values      []int16
	}{{"ta", "0.01 degC", ta}, {"hur", "0.1 %", hu}, {"ua", "0.01 m s-1", u}, {"va", "0.01 m s-1", v}} {
		m.add(q.name, cdf3.Short, []int{obs}, q.values, int16(-32768), "units", q.units)
	}
}
