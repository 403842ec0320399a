//go:build judge && linux

package main

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// numbers writes n values of CDL.
func numbers(n int, f func(i int) float64) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		if x := f(i); math.IsNaN(x) {
			b.WriteByte('_')
		} else {
			b.WriteString(strconv.FormatFloat(x, 'g', 6, 64))
		}
	}
	return b.String()
}

const degree = math.Pi / 180

// sphere is a triangulation of the sphere: the corners as unit vectors, and three of them for each triangle.
func sphere(levels int) (corners [][3]float64, triangles [][3]int) {
	corners = [][3]float64{{0, 0, 1}}
	for i := range 10 {
		lat := []float64{26.565, -26.565}[i/5] * degree
		lon := float64(72*(i%5)+36*(i/5)) * degree
		corners = append(corners, [3]float64{math.Cos(lat) * math.Cos(lon), math.Cos(lat) * math.Sin(lon), math.Sin(lat)})
	}
	corners = append(corners, [3]float64{0, 0, -1})
	for i := range 5 {
		a, b, c, d := 1+i, 1+(i+1)%5, 6+i, 6+(i+1)%5
		triangles = append(triangles, [3]int{0, a, b}, [3]int{a, c, b}, [3]int{b, c, d}, [3]int{11, d, c})
	}
	for range levels {
		middles := map[[2]int]int{}
		middle := func(a, b int) int {
			key := [2]int{min(a, b), max(a, b)}
			if m, ok := middles[key]; ok {
				return m
			}
			var v [3]float64
			length := 0.0
			for k := range v {
				v[k] = corners[a][k] + corners[b][k]
				length += v[k] * v[k]
			}
			for k := range v {
				v[k] /= math.Sqrt(length)
			}
			corners = append(corners, v)
			middles[key] = len(corners) - 1
			return len(corners) - 1
		}
		var finer [][3]int
		for _, t := range triangles {
			a, b, c := middle(t[0], t[1]), middle(t[1], t[2]), middle(t[2], t[0])
			finer = append(finer, [3]int{t[0], a, c}, [3]int{a, t[1], b}, [3]int{c, b, t[2]}, [3]int{a, b, c})
		}
		triangles = finer
	}
	return corners, triangles
}

func lonLat(v [3]float64) (lon, lat float64) {
	return math.Atan2(v[1], v[0]) / degree, math.Asin(max(-1, min(1, v[2]))) / degree
}

// wave is a field on the sphere.
func wave(lon, lat float64) float64 {
	return 15 + 14*math.Cos(2*lat*degree) + 4*math.Sin(3*lon*degree)*math.Cos(lat*degree) + 2*math.Sin(5*(lon+lat)*degree)
}

// kinds are kinds of netCDF files as CDL, by name.
var kinds = map[string]func() string{
	"rotated": func() string { // a regional model on a rotated pole
		const rows, columns = 60, 70
		at := func(i int) (rlon, rlat, lon, lat float64) {
			rlon, rlat = -18+0.4*float64(i%columns), -14+0.4*float64(i/columns)
			// The pole is at 162°W, 39.25°N.
			sin, cos := math.Sincos(39.25 * degree)
			x, y := rlon*degree, rlat*degree
			lat = math.Asin(sin*math.Sin(y)+cos*math.Cos(y)*math.Cos(x)) / degree
			lon = 18 + math.Atan2(math.Sin(x)*math.Cos(y), cos*-math.Sin(y)+sin*math.Cos(y)*math.Cos(x))/degree
			return rlon, rlat, lon, lat
		}
		n := rows * columns
		return fmt.Sprintf(`netcdf rotated { dimensions: time = UNLIMITED ; rlat = %d ; rlon = %d ; variables:
			double time(time) ; time:units = "hours since 2005-06-01" ; time:standard_name = "time" ; time:calendar = "standard" ;
			float rlat(rlat) ; rlat:units = "degrees" ; rlat:standard_name = "grid_latitude" ; rlat:axis = "Y" ;
			float rlon(rlon) ; rlon:units = "degrees" ; rlon:standard_name = "grid_longitude" ; rlon:axis = "X" ;
			float lat(rlat, rlon) ; lat:units = "degrees_north" ; lat:standard_name = "latitude" ;
			float lon(rlat, rlon) ; lon:units = "degrees_east" ; lon:standard_name = "longitude" ;
			int rotated_pole ; rotated_pole:grid_mapping_name = "rotated_latitude_longitude" ; rotated_pole:grid_north_pole_latitude = 39.25 ; rotated_pole:grid_north_pole_longitude = -162. ;
			float tas(time, rlat, rlon) ; tas:units = "K" ; tas:long_name = "Near-surface air temperature" ; tas:standard_name = "air_temperature" ; tas:coordinates = "lon lat" ; tas:grid_mapping = "rotated_pole" ;
			:Conventions = "CF-1.8" ; :title = "A regional model" ; data: time = 0, 6, 12 ; rlat = %s ; rlon = %s ; lat = %s ; lon = %s ; tas = %s ; }`, rows, columns,
			numbers(rows, func(i int) float64 { return -14 + 0.4*float64(i) }), numbers(columns, func(i int) float64 { return -18 + 0.4*float64(i) }),
			numbers(n, func(i int) float64 { _, _, _, lat := at(i); return lat }), numbers(n, func(i int) float64 { _, _, lon, _ := at(i); return lon }),
			numbers(3*n, func(i int) float64 { _, _, lon, lat := at(i % n); return 273 + float64(i/n) + wave(4*lon, 2*lat) }))
	},
	"ocean": func() string { // a curvilinear grid with land, as those of ocean models
		const rows, columns = 60, 90
		at := func(i int) (lon, lat float64) {
			x, y := 4*float64(i%columns), -78+2.7*float64(i/columns)
			bend := max(0, y-30) / 51
			return math.Mod(x+73+20*bend*math.Sin(2*x*degree), 360), y - 8*bend*math.Cos(2*x*degree)
		}
		n := rows * columns
		land := func(lon, lat float64) bool {
			return math.Sin(lon*degree*2)+0.7*math.Sin(lat*degree*3+1) > 0.9 || lat < -74
		}
		return fmt.Sprintf(`netcdf ocean { dimensions: time = UNLIMITED ; depth = 5 ; j = %d ; i = %d ; variables:
			double time(time) ; time:units = "days since 1990-01-01" ; time:calendar = "noleap" ;
			float depth(depth) ; depth:units = "m" ; depth:positive = "down" ; depth:axis = "Z" ;
			float nav_lat(j, i) ; nav_lat:units = "degrees_north" ; float nav_lon(j, i) ; nav_lon:units = "degrees_east" ;
			float thetao(time, depth, j, i) ; thetao:units = "degC" ; thetao:long_name = "Sea water potential temperature" ; thetao:coordinates = "nav_lon nav_lat" ; thetao:_FillValue = 1.e20f ;
			:title = "An ocean model" ; data: time = 15.5, 45 ; depth = 5, 15, 50, 200, 1000 ; nav_lat = %s ; nav_lon = %s ; thetao = %s ; }`, rows, columns,
			numbers(n, func(i int) float64 { _, lat := at(i); return lat }), numbers(n, func(i int) float64 { lon, _ := at(i); return lon }),
			numbers(10*n, func(i int) float64 {
				lon, lat := at(i % n)
				if land(lon, lat) {
					return math.NaN()
				}
				return wave(lon, lat) / (1 + float64(i/n%5)/2)
			}))
	},
	"icon": func() string { // triangles of the sphere, with the corners of each
		corners, triangles := sphere(4)
		at := func(i int) (lon, lat float64) {
			var v [3]float64
			for _, c := range triangles[i] {
				for k := range v {
					v[k] += corners[c][k] / 3
				}
			}
			length := math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2])
			for k := range v {
				v[k] /= length
			}
			return lonLat(v)
		}
		n := len(triangles)
		vertex := func(i int) (lon, lat float64) { return lonLat(corners[triangles[i/3][i%3]]) }
		return fmt.Sprintf(`netcdf icon { dimensions: time = UNLIMITED ; cell = %d ; nv = 3 ; variables:
			double time(time) ; time:units = "days since 2000-01-01" ; time:calendar = "proleptic_gregorian" ;
			double clon(cell) ; clon:units = "radian" ; clon:standard_name = "longitude" ; clon:bounds = "clon_bnds" ; double clon_bnds(cell, nv) ;
			double clat(cell) ; clat:units = "radian" ; clat:standard_name = "latitude" ; clat:bounds = "clat_bnds" ; double clat_bnds(cell, nv) ;
			float ts(time, cell) ; ts:units = "degC" ; ts:long_name = "Surface temperature" ; ts:coordinates = "clat clon" ; ts:CDI_grid_type = "unstructured" ;
			:title = "Triangles of the sphere" ; data: time = 0, 1 ; clon = %s ; clat = %s ; clon_bnds = %s ; clat_bnds = %s ; ts = %s ; }`, n,
			numbers(n, func(i int) float64 { lon, _ := at(i); return lon * degree }), numbers(n, func(i int) float64 { _, lat := at(i); return lat * degree }),
			numbers(3*n, func(i int) float64 { lon, _ := vertex(i); return lon * degree }), numbers(3*n, func(i int) float64 { _, lat := vertex(i); return lat * degree }),
			numbers(2*n, func(i int) float64 { lon, lat := at(i % n); return wave(lon, lat) + float64(i/n) }))
	},
	"exodus": func() string { // a mesh of finite elements in a plane
		const rows, columns = 24, 40
		at := func(i int) (x, y float64) {
			r, a := 1+2*float64(i/(columns+1))/rows, math.Pi*float64(i%(columns+1))/columns
			return r * math.Cos(a), r * math.Sin(a)
		}
		n := (rows + 1) * (columns + 1)
		connect := numbers(4*rows*columns, func(i int) float64 {
			e := i / 4
			return float64((e/columns+[]int{0, 0, 1, 1}[i%4])*(columns+1) + e%columns + []int{0, 1, 1, 0}[i%4] + 1)
		})
		return fmt.Sprintf(`netcdf exodus { dimensions: len_string = 33 ; len_line = 81 ; four = 4 ; time_step = UNLIMITED ; num_dim = 2 ; num_nodes = %d ; num_elem = %d ; num_el_blk = 1 ; num_el_in_blk1 = %d ; num_nod_per_el1 = 4 ; num_nod_var = 1 ; num_elem_var = 1 ;
			variables: double time_whole(time_step) ; int eb_status(num_el_blk) ; int eb_prop1(num_el_blk) ; eb_prop1:name = "ID" ; double coordx(num_nodes) ; double coordy(num_nodes) ;
			char coor_names(num_dim, len_string) ; int connect1(num_el_in_blk1, num_nod_per_el1) ; connect1:elem_type = "QUAD4" ; char name_nod_var(num_nod_var, len_string) ; double vals_nod_var1(time_step, num_nodes) ;
			char name_elem_var(num_elem_var, len_string) ; double vals_elem_var1eb1(time_step, num_el_in_blk1) ;
			:api_version = 4.98f ; :version = 4.98f ; :floating_point_word_size = 8 ; :title = "A bent plate" ;
			data: time_whole = 0, 0.1 ; eb_status = 1 ; eb_prop1 = 1 ; coordx = %s ; coordy = %s ; coor_names = "x", "y" ; connect1 = %s ; name_nod_var = "temperature" ; vals_nod_var1 = %s ; name_elem_var = "stress" ; vals_elem_var1eb1 = %s ; }`,
			n, rows*columns, rows*columns, numbers(n, func(i int) float64 { x, _ := at(i); return x }), numbers(n, func(i int) float64 { _, y := at(i); return y }), connect,
			numbers(2*n, func(i int) float64 { x, y := at(i % n); return 300 + 40*x + 20*y*y + float64(10*(i/n)) }), numbers(2*rows*columns, func(i int) float64 { return math.Sin(float64(i%(rows*columns))/50) * 1e6 }))
	},
	"ugrid": func() string { // a coast of triangles
		const rows, columns = 30, 40
		n := (rows + 1) * (columns + 1)
		at := func(i int) (lon, lat float64) {
			x, y := float64(i%(columns+1))/columns, float64(i/(columns+1))/rows
			return -71 + 1.5*x + 0.3*math.Sin(5*y), 41 + 1.6*y + 0.15*math.Sin(7*x)
		}
		faces := numbers(6*rows*columns, func(i int) float64 {
			square, k := i/6, i%6
			a := square/columns*(columns+1) + square%columns
			return float64([]int{a, a + 1, a + columns + 2, a, a + columns + 2, a + columns + 1}[k])
		})
		return fmt.Sprintf(`netcdf ugrid { dimensions: time = UNLIMITED ; node = %d ; face = %d ; three = 3 ; variables:
			double time(time) ; time:units = "seconds since 2012-10-29 00:00:00" ;
			int mesh ; mesh:cf_role = "mesh_topology" ; mesh:topology_dimension = 2 ; mesh:node_coordinates = "node_lon node_lat" ; mesh:face_node_connectivity = "face_nodes" ;
			double node_lon(node) ; node_lon:units = "degrees_east" ; node_lon:standard_name = "longitude" ; double node_lat(node) ; node_lat:units = "degrees_north" ; node_lat:standard_name = "latitude" ;
			int face_nodes(face, three) ; face_nodes:cf_role = "face_node_connectivity" ; face_nodes:start_index = 0 ;
			float zeta(time, node) ; zeta:units = "m" ; zeta:long_name = "Water level" ; zeta:mesh = "mesh" ; zeta:location = "node" ; zeta:coordinates = "node_lon node_lat" ;
			float depth(face) ; depth:units = "m" ; depth:long_name = "Depth of the bottom" ; depth:mesh = "mesh" ; depth:location = "face" ;
			:Conventions = "CF-1.8 UGRID-1.0" ; :title = "A storm surge" ; data: time = 0, 3600, 7200 ; node_lon = %s ; node_lat = %s ; face_nodes = %s ; zeta = %s ; depth = %s ; }`, n, 2*rows*columns,
			numbers(n, func(i int) float64 { lon, _ := at(i); return lon }), numbers(n, func(i int) float64 { _, lat := at(i); return lat }), faces,
			numbers(3*n, func(i int) float64 {
				lon, lat := at(i % n)
				return 2*math.Exp(-8*((lon+70)*(lon+70)+(lat-41.9)*(lat-41.9))) - 0.4*float64(i/n)*math.Sin(4*lon)
			}),
			numbers(2*rows*columns, func(i int) float64 { return 5 + float64(i%(2*columns))/2 + 10*math.Sin(float64(i)/300) }))
	},
	"radar": func() string { // a sweep
		const rays, gates = 120, 100
		return fmt.Sprintf(`netcdf radar { dimensions: time = %d ; range = %d ; variables:
			double time(time) ; time:units = "seconds since 2013-05-20T20:00:00Z" ; time:standard_name = "time" ; float range(range) ; range:units = "meters" ; range:standard_name = "projection_range_coordinate" ;
			float azimuth(time) ; azimuth:units = "degrees" ; azimuth:axis = "radial_azimuth_coordinate" ; float elevation(time) ; elevation:units = "degrees" ; double latitude ; latitude:units = "degrees_north" ; double longitude ; longitude:units = "degrees_east" ;
			short DBZ(time, range) ; DBZ:units = "dBZ" ; DBZ:long_name = "Reflectivity" ; DBZ:scale_factor = 0.01f ; DBZ:add_offset = 20.f ; DBZ:_FillValue = -32768s ; DBZ:coordinates = "elevation azimuth range" ;
			:Conventions = "CF/Radial" ; :title = "A sweep of a radar" ; data: time = %s ; range = %s ; azimuth = %s ; elevation = %s ; latitude = 35.3 ; longitude = -97.3 ; DBZ = %s ; }`, rays, gates,
			numbers(rays, func(i int) float64 { return float64(i) / 6 }), numbers(gates, func(i int) float64 { return 2125 + 250*float64(i) }),
			numbers(rays, func(i int) float64 { return 3 * float64(i) }), numbers(rays, func(int) float64 { return 0.5 }),
			numbers(rays*gates, func(i int) float64 {
				a, r := 3*float64(i/gates)*degree, float64(i%gates)/gates
				z := 4500*math.Exp(-20*math.Pow(r-0.5-0.2*math.Sin(a), 2))*math.Abs(math.Cos(a)) - 1800
				if z < -1500 {
					return math.NaN()
				}
				return math.Round(z)
			}))
	},
	"profile": func() string { // a float of Argo
		const levels = 80
		pressure := func(i int) float64 { return 5 + float64(i*i)*0.3 }
		return fmt.Sprintf(`netcdf profile { dimensions: N_PROF = 1 ; N_LEVELS = %d ; variables:
			double JULD(N_PROF) ; JULD:units = "days since 1950-01-01 00:00:00 UTC" ; JULD:axis = "T" ; double LATITUDE(N_PROF) ; LATITUDE:units = "degree_north" ; LATITUDE:axis = "Y" ; double LONGITUDE(N_PROF) ; LONGITUDE:units = "degree_east" ; LONGITUDE:axis = "X" ;
			float PRES(N_PROF, N_LEVELS) ; PRES:units = "decibar" ; PRES:axis = "Z" ; PRES:long_name = "Sea water pressure" ; float TEMP(N_PROF, N_LEVELS) ; TEMP:units = "degree_Celsius" ; TEMP:long_name = "Sea temperature" ; TEMP:_FillValue = 99999.f ;
			char TEMP_QC(N_PROF, N_LEVELS) ; float PSAL(N_PROF, N_LEVELS) ; PSAL:units = "psu" ; PSAL:long_name = "Practical salinity" ; :featureType = "trajectoryProfile" ; :title = "Argo float vertical profile" ;
			data: JULD = 25000.5 ; LATITUDE = -31.2 ; LONGITUDE = 74.1 ; PRES = %s ; TEMP = %s ; TEMP_QC = "%s" ; PSAL = %s ; }`, levels,
			numbers(levels, pressure), numbers(levels, func(i int) float64 { return 3 + 18*math.Exp(-pressure(i)/300) }), strings.Repeat("1", levels), numbers(levels, func(i int) float64 { return 34.5 + 0.8*math.Exp(-pressure(i)/500) }))
	},
	"trajectory": func() string { // the track of a ship
		const n = 400
		return fmt.Sprintf(`netcdf trajectory { dimensions: obs = %d ; variables: double time(obs) ; time:units = "seconds since 2019-10-01" ; time:standard_name = "time" ;
			float lat(obs) ; lat:units = "degrees_north" ; lat:standard_name = "latitude" ; float lon(obs) ; lon:units = "degrees_east" ; lon:standard_name = "longitude" ;
			char trajectory ; trajectory:cf_role = "trajectory_id" ; float sst(obs) ; sst:units = "degC" ; sst:long_name = "Sea surface temperature under way" ; sst:coordinates = "time lat lon" ;
			:featureType = "trajectory" ; :title = "A cruise" ; data: time = %s ; lat = %s ; lon = %s ; trajectory = "P" ; sst = %s ; }`, n,
			numbers(n, func(i int) float64 { return 3600 * float64(i) }), numbers(n, func(i int) float64 { return 60 + 12*math.Sin(float64(i)/60) }),
			numbers(n, func(i int) float64 { return -40 + float64(i)/6 }), numbers(n, func(i int) float64 { return 8 - 6*math.Sin(float64(i)/60) + math.Sin(float64(i)/9)/2 }))
	},
	"stations": func() string { // series of stations
		const n, times = 40, 48
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprintf(`"station %02d"`, i+1)
		}
		return fmt.Sprintf(`netcdf stations { dimensions: station = %d ; time = %d ; length = 12 ; variables: double time(time) ; time:units = "hours since 2021-07-14" ; time:standard_name = "time" ;
			float lat(station) ; lat:units = "degrees_north" ; lat:standard_name = "latitude" ; float lon(station) ; lon:units = "degrees_east" ; lon:standard_name = "longitude" ;
			char name(station, length) ; name:cf_role = "timeseries_id" ; float rain(station, time) ; rain:units = "mm h-1" ; rain:long_name = "Rain" ; rain:coordinates = "time lat lon name" ; rain:_FillValue = -999.f ;
			:featureType = "timeSeries" ; :title = "Rain at stations" ; data: time = %s ; lat = %s ; lon = %s ; name = %s ; rain = %s ; }`, n, times,
			numbers(times, func(i int) float64 { return float64(i) }), numbers(n, func(i int) float64 { return 49.5 + math.Mod(float64(i)*0.618, 1)*2 }), numbers(n, func(i int) float64 { return 5.5 + math.Mod(float64(i)*0.414, 1)*3 }), strings.Join(names, ", "),
			numbers(n*times, func(i int) float64 {
				if i%97 == 0 {
					return math.NaN()
				}
				return max(0, 9*math.Sin(float64(i%times)/8)*math.Sin(float64(i/times)/5))
			}))
	},
	"hovmoeller": func() string { // longitudes and times
		const times, columns = 120, 144
		return fmt.Sprintf(`netcdf hovmoeller { dimensions: time = %d ; lon = %d ; variables: double time(time) ; time:units = "days since 2015-01-01" ; float lon(lon) ; lon:units = "degrees_east" ;
			float u(time, lon) ; u:units = "m s-1" ; u:long_name = "Zonal wind at the equator" ; :title = "A wave that travels" ; data: time = %s ; lon = %s ; u = %s ; }`, times, columns,
			numbers(times, func(i int) float64 { return float64(i) }), numbers(columns, func(i int) float64 { return 2.5 * float64(i) }),
			numbers(times*columns, func(i int) float64 {
				return 8 * math.Sin(2.5*float64(i%columns)*degree-float64(i/columns)/8) * math.Exp(-math.Pow(float64(i/columns)-60, 2)/1500)
			}))
	},
	"many": func() string { // 1,000 variables
		var vars strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&vars, "float q%03d(y, x) ; q%03d:long_name = \"Quantity %d of cells\" ; q%03d:units = \"kg m-2\" ; ", i, i, i, i)
		}
		return "netcdf many { dimensions: y = 12 ; x = 16 ; variables: " + vars.String() + "data: q000 = " + numbers(192, func(i int) float64 { return math.Sin(float64(i) / 9) }) + " ; }"
	},
	"empty": func() string { return `netcdf empty { dimensions: time = UNLIMITED ; :title = "Nothing yet" ; }` },
}

// kindArchives makes an archive of each of some kinds, and returns their folder. global is a file of ferret-datasets.
func kindArchives(t *testing.T, names ...string) string {
	t.Helper()
	files := map[string]string{}
	for _, name := range names {
		if name != "global" {
			files[name+".nc"] = kinds[strings.Replace(name, "damaged", "hovmoeller", 1)]()
		}
	}
	dir := generated(t, files)
	if len(files) < len(names) {
		coads, err := os.ReadFile(ferret + "coads_climatology.cdf")
		require.NoError(t, err, "install ferret-datasets")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "global.nc"), coads, 0o644))
	}
	for _, name := range names {
		path := filepath.Join(dir, name+".nc")
		out, err := self(t, "archive", "-q", path).CombinedOutput()
		require.NoError(t, err, string(out))
		require.NoError(t, os.Remove(path))
		if name == "damaged" { // in the block of its field
			b, err := os.ReadFile(path + ".cdfz")
			require.NoError(t, err)
			at := bytes.Index(b, []byte("u/0.0"))
			require.Positive(t, at)
			b[at+1000] ^= 1
			require.NoError(t, os.WriteFile(path+".cdfz", b, 0o644))
		}
	}
	return dir
}

// TestJudgePageKinds opens fourteen kinds of files. With CDFZ_SCREENSHOTS, it writes pictures of each to that folder,
// wide and narrow, light and dark.
func TestJudgePageKinds(t *testing.T) {
	t.Parallel()
	names := append(slices.Sorted(maps.Keys(kinds)), "global", "damaged")
	at := serveQuietly(t, kindArchives(t, names...))
	b := openBrowser(t, 1280, 900)
	said := map[string]string{
		"damaged": "a block of the archive is damaged. Other variables, and other parts of this one, may be intact: choose one. cdfz verify lists the damage, and cdfz repair may heal it.",
		"empty":   "The file has no variables.",
	}
	widths, themes := []int64{390}, []string{"light"}
	if os.Getenv("CDFZ_SCREENSHOTS") != "" {
		widths, themes = []int64{1280, 390}, []string{"light", "dark"}
	}
	for _, name := range names {
		for _, width := range widths {
			for _, theme := range themes {
				b.theme(theme)
				b.do(chromedp.EmulateViewport(width, 900), chromedp.Navigate(at+"/page/?file="+name+".nc"))
				b.settled()
				require.Equal(t, said[name], strings.TrimSpace(b.text("message")), name)
				require.LessOrEqual(t, eval[int64](b, `document.documentElement.scrollWidth`), width, name)
				if len(widths) > 1 {
					eval[bool](b, `new Promise((r) => setTimeout(() => r(true), 500))`) // coastlines and finer values come later
				}
				b.shot(fmt.Sprintf("%s-%d-%s", name, width, theme))
			}
		}
	}
}
