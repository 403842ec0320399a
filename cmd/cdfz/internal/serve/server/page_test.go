package server

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/page"
	"github.com/cdfz-format/cdfz/internal/faultio"
)

// slice is an answer to values.
type slice struct {
	Type  string
	Shape []int
	Axes  []struct {
		Name        string
		Start, Step int64
		At          []int64
		Values      []*float64
		Dates       []string
	}
	Fixed   []struct{ Dates []string }
	Missing int
	data    []float64
}

func parseSlice(t *testing.T, body string) *slice {
	t.Helper()
	line, rest, ok := strings.Cut(body, "\n")
	require.True(t, ok, body)
	require.Zero(t, (len(line)+1)%8)
	var s slice
	require.NoError(t, json.Unmarshal([]byte(line), &s))
	b := []byte(rest)
	for len(b) > 0 {
		if s.Type == "float32" {
			s.data = append(s.data, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
			b = b[4:]
		} else {
			s.data = append(s.data, math.Float64frombits(binary.LittleEndian.Uint64(b)))
			b = b[8:]
		}
	}
	return &s
}

// climateTas is the number of variable tas in cdf2_climate.nc.
const climateTas = 9

// TestPageLatin checks that names, attributes and characters in Latin-1 are shown as text, and that UTF-8 stays UTF-8
// where it is cut.
func TestPageLatin(t *testing.T) {
	long := "a" + strings.Repeat("é", 35000)
	values := []string{"na\xefve\x00\x00\xc3\xa9t\xc3\xa9\x00", long}
	attr := func(name, text string) cdf3.Attr {
		return cdf3.Attr{Name: name, Type: cdf3.Char, Len: int64(len(text)), Values: []byte(text)}
	}
	h := &cdf3.Header{
		Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "n", Len: 2}, {Name: "w", Len: 7}, {Name: "l", Len: int64(len(long))}},
		Attrs: []cdf3.Attr{attr("latin#", "temp\xe9rature en \xb0C"), attr("utf8", "m²"), attr("long", long)},
		Vars: []cdf3.Var{
			{Name: "c#", Type: cdf3.Char, DimIDs: []int{0, 1}, Attrs: []cdf3.Attr{attr("units", "\xb0C"), attr("long_name", "\xe9t\xe9")}},
			{Name: "d", Type: cdf3.Char, DimIDs: []int{2}},
		},
	}
	require.NoError(t, h.Layout())
	var image bytes.Buffer
	require.NoError(t, cdf3.WriteFile(t.Context(), &image, h, func(i int) cdf3.Data {
		return cdf3.Data{Values: strings.NewReader(values[i]), Len: int64(len(values[i]))}
	}))
	// Layout refuses such names.
	named := bytes.ReplaceAll(image.Bytes(), []byte("#"), []byte{0xb9})
	_, at := start(t, folder(t, map[string][]byte{"x.nc": named}), nil)
	type attribute struct{ Name, Type, Value string }
	var d struct {
		Attributes []attribute
		Variables  []struct {
			Name, Title, Units string
			Attributes         []attribute
		}
	}
	require.NoError(t, json.Unmarshal([]byte(get(t, at+"/api/meta/x.nc").body), &d))
	require.Equal(t, []attribute{
		{"latin¹", "char", "température en °C"}, {"utf8", "char", "m²"}, {"long", "char", "a" + strings.Repeat("é", 2047) + "…"},
	}, d.Attributes)
	require.Equal(t, "c¹", d.Variables[0].Name)
	require.Equal(t, "°C", d.Variables[0].Units)
	require.Equal(t, "été", d.Variables[0].Title)
	require.Equal(t, []attribute{{"units", "char", "°C"}, {"long_name", "char", "été"}}, d.Variables[0].Attributes)
	for i, want := range [][]string{{"naïve", "été"}, {"a" + strings.Repeat("é", 32767)}} {
		var c struct {
			Lines []string
			Cut   bool
		}
		require.NoError(t, json.Unmarshal([]byte(get(t, at+"/api/values/x.nc?var="+strconv.Itoa(i)).body), &c))
		require.Equal(t, want, c.Lines)
		require.Equal(t, i == 1, c.Cut)
	}
}

// TestPageCharacters checks that all rows of text are shown that an archive has in blocks of several.
func TestPageCharacters(t *testing.T) {
	const rows, width = 5000, 3
	text := make([]byte, rows*width)
	for i := range text {
		text[i] = 'a' + byte(i*i%23)
	}
	h := &cdf3.Header{Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "row", Len: rows}, {Name: "w", Len: width}},
		Vars: []cdf3.Var{{Name: "c", Type: cdf3.Char, DimIDs: []int{0, 1}}}}
	require.NoError(t, h.Layout())
	var image bytes.Buffer
	require.NoError(t, cdf3.WriteFile(t.Context(), &image, h, func(int) cdf3.Data { return cdf3.Data{Values: bytes.NewReader(text), Len: int64(len(text))} }))
	_, at := start(t, folder(t, map[string][]byte{"x.nc": image.Bytes()}), nil)
	var c struct{ Lines []string }
	require.NoError(t, json.Unmarshal([]byte(get(t, at+"/api/values/x.nc?var=0").body), &c))
	require.Len(t, c.Lines, rows)
	require.Equal(t, string(text), strings.Join(c.Lines, ""))
}

func TestPageData(t *testing.T) {
	image, err := os.ReadFile("../../../../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	dir := folder(t, map[string][]byte{"a b/x.nc": image})
	put(t, dir+"/plain.nc", image)
	_, at := start(t, dir, nil)
	f, err := archive.New(t.Context(), bytes.NewReader(image), int64(len(image)), nil)
	require.NoError(t, err)

	for _, name := range []string{"a%20b/x.nc", "plain.nc"} {
		var d struct {
			Path, Format string
			Size         int64
			Archive      *struct{ SHA256 string }
			Dimensions   []struct {
				Name, Axis string
				Coordinate int
			}
			Variables []struct {
				Name, Title, Units string
				Shape              []int64
			}
			Cut bool
		}
		a := get(t, at+"/api/meta/"+name)
		require.Equal(t, 200, a.StatusCode, a.body)
		require.NoError(t, json.Unmarshal([]byte(a.body), &d))
		require.Equal(t, int64(len(image)), d.Size)
		require.Len(t, d.Variables, len(f.Header().Vars))
		require.False(t, d.Cut)
		require.Equal(t, "tas", d.Variables[climateTas].Name)
		require.Equal(t, "K", d.Variables[climateTas].Units)
		require.Equal(t, name != "plain.nc", d.Archive != nil)
		axes := ""
		for _, i := range f.Header().Vars[climateTas].DimIDs {
			axes += d.Dimensions[i].Axis
		}
		require.Equal(t, "TYX", axes)

		values := func(query string) *slice {
			a := get(t, at+"/api/values/"+name+"?"+query)
			require.Equal(t, 200, a.StatusCode, a.body)
			return parseSlice(t, a.body)
		}
		want := values("var=9&at=3,y,x")
		require.Equal(t, []int{16, 30}, want.Shape)
		require.Len(t, want.data, 480)
		require.Regexp(t, `^2001-04-`, want.Fixed[0].Dates[0])
		turned := values("var=9&at=3,x,y")
		require.Equal(t, []int{30, 16}, turned.Shape)
		series := values("var=9&at=x,5,7")
		require.Equal(t, []int{24}, series.Shape)
		require.Equal(t, want.data[5*30+7], series.data[3])
		require.Equal(t, want.data[5*30+7], turned.data[7*16+5])
		point := values("var=9&at=3,5,7")
		require.Equal(t, []float64{want.data[5*30+7]}, point.data)
		coarse := values("var=9&at=3,y,x&max=10")
		require.Equal(t, []int{8, 10}, coarse.Shape)
		require.Equal(t, int64(3), coarse.Axes[1].Step)
		require.Equal(t, want.data[2*30+3], coarse.data[1*10+1])
		require.Len(t, coarse.Axes[1].Values, 10)
		narrow := values("var=9&at=3,y4:9,x10:30&max=10")
		require.Equal(t, []int{5, 10}, narrow.Shape)
		require.Equal(t, []int64{4, 10}, []int64{narrow.Axes[0].Start, narrow.Axes[1].Start})
		require.Equal(t, []int64{1, 2}, []int64{narrow.Axes[0].Step, narrow.Axes[1].Step})
		require.Equal(t, want.data[6*30+16], narrow.data[2*10+3])
		require.Equal(t, *want.Axes[1].Values[16], *narrow.Axes[1].Values[3])
		late := values("var=9&at=x6:22,5,7&max=4&extremes=1")
		require.Equal(t, int64(8), late.Axes[0].Step)
		for k, i := range late.Axes[0].At {
			require.Equal(t, series.data[i], late.data[k])
		}
		require.Contains(t, late.data, slices.Max(series.data[6:14]))
		require.Contains(t, late.data, slices.Min(series.data[14:22]))
		require.Equal(t, "float64", values("var=0&at=x").Type)
		thin := values("var=9&at=x,5,7&max=8&extremes=1")
		require.Equal(t, int64(6), thin.Axes[0].Step, "runs have the length of two steps")
		require.Len(t, thin.Axes[0].At, 8)
		times := values("var=9&at=x,5,7").Axes[0]
		for k, i := range thin.Axes[0].At {
			require.Equal(t, series.data[i], thin.data[k])
			require.Equal(t, times.Values[i], thin.Axes[0].Values[k])
			require.Equal(t, times.Dates[i], thin.Axes[0].Dates[k])
		}
		require.Equal(t, thin.Axes, values("var=9&at=x,5,7&max=8&extremes=1&by=0").Axes, "time is the coordinate variable")
		quality, thinned := values("var=12&at=x,5"), values("var=9&at=x,5,7&max=8&extremes=1&by=12").Axes[0]
		for k, i := range thinned.At {
			require.Equal(t, quality.data[i], *thinned.Values[k])
		}
		require.Equal(t, quality.data[2], *values("var=9&at=x2:9,5,7&by=12").Axes[0].Values[0])
		for from := 0; from < 24; from += 6 {
			require.Contains(t, thin.data, slices.Max(series.data[from:from+6]))
			require.Contains(t, thin.data, slices.Min(series.data[from:from+6]))
		}
		require.Empty(t, values("var=9&at=x,5,7&extremes=1").Axes[0].At, "all values fit")
		require.Len(t, values("var=5").data, 1)

		var text struct {
			Type  string
			Lines []string
		}
		require.NoError(t, json.Unmarshal([]byte(get(t, at+"/api/values/"+name+"?var=8").body), &text))
		require.Len(t, text.Lines, 24)

		var b struct {
			Archive     bool
			Blocks, Raw int64
			Filters     []struct{ Name string }
			Preset      string
			Modes       map[string]int64
			Listed      []struct{ Start, Count []int64 }
		}
		require.NoError(t, json.Unmarshal([]byte(get(t, at+"/api/blocks/"+name+"?var=9").body), &b))
		if name == "plain.nc" {
			require.False(t, b.Archive)
		} else {
			require.Equal(t, "default", b.Preset)
			require.Equal(t, "lorenz", b.Filters[0].Name)
			require.Equal(t, int64(24*16*30*4), b.Raw)
			require.Len(t, b.Listed, int(b.Blocks))
			require.NotEmpty(t, b.Modes)
		}

		part := get(t, at+"/api/get/"+name+"?format=nc&select="+url.QueryEscape("tas[3]"))
		require.Equal(t, 200, part.StatusCode)
		require.Equal(t, `attachment; filename=`+strings.TrimSuffix(name[strings.LastIndex(name, "/")+1:], ".nc")+`-tas.nc`, part.Header.Get("Content-Disposition"))
		sub, err := archive.New(t.Context(), strings.NewReader(part.body), int64(len(part.body)), nil)
		require.NoError(t, err)
		tas, err := sub.Var("tas")
		require.NoError(t, err)
		require.Equal(t, []int64{16, 30}, tas.Shape())
		csv := get(t, at+"/api/get/"+name+"?time=1&select="+url.QueryEscape("tas[:,5,7]"))
		require.Equal(t, 25, strings.Count(csv.body, "\n"))
		require.Equal(t, 24*4, len(get(t, at+"/api/get/"+name+"?format=raw&select="+url.QueryEscape("tas[:,5,7]")).body))
	}
}

func TestPageRefuses(t *testing.T) {
	image, err := os.ReadFile("../../../../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	dir := folder(t, map[string][]byte{"x.nc": image})
	put(t, dir+"/cut.nc", image[:300])
	put(t, dir+"/junk.nc", []byte("junk"))
	_, at := start(t, dir, &Options{Bytes: 4000})
	for _, c := range []struct {
		path   string
		status int
		text   string
	}{
		{"/api/", 404, "no such file"},
		{"/api/meta/y.nc", 404, "no such file"},
		{"/api/meta/cut.nc", 404, "not a classic netCDF file, or a damaged one"},
		{"/api/meta/junk.nc", 404, "not a classic netCDF file, or a damaged one"},
		{"/api/meta/../x.nc", 404, ""},
		{"/api/other/x.nc", 404, "no such service"},
		{"/page/none.js", 404, "no such file of the page"},
		{"/page/../paths.go", 404, ""},
		{"/api/values/x.nc", 400, `var: expected the number of a variable below`},
		{"/api/values/x.nc?var=99999999999999999999", 400, `found "9999`},
		{"/api/values/x.nc?var=-1", 400, "var"},
		{"/api/values/x.nc?var=9", 400, `at: expected 3 words, found ""`},
		{"/api/values/x.nc?var=9&at=x,x,0", 400, "expected x once"},
		{"/api/values/x.nc?var=9&at=x0:2,x,0", 400, "expected x once"},
		{"/api/values/x.nc?var=9&at=0,y3:3,x", 400, `expected a range within 0:16, found "y3:3"`},
		{"/api/values/x.nc?var=9&at=0,y3:17,x", 400, "range within 0:16"},
		{"/api/values/x.nc?var=9&at=0,y-1:2,x", 400, "range within 0:16"},
		{"/api/values/x.nc?var=9&at=0,y3,x", 400, "range within 0:16"},
		{"/api/values/x.nc?var=9&at=0,y,x&by=0", 400, "by: expected the number of a variable, and a series"},
		{"/api/values/x.nc?var=9&at=x,0,0&by=99", 400, "by: expected the number"},
		{"/api/values/x.nc?var=9&at=x,0,0&by=8", 400, "by: expected"},
		{"/api/values/x.nc?var=0&at=x&by=9", 400, "by: expected a variable along the series"},
		{"/api/values/x.nc?var=9&at=24,y,x", 400, "expected x, y or an index below 24"},
		{"/api/values/x.nc?var=9&at=-1,y,x", 400, "index below"},
		{"/api/values/x.nc?var=9&at=0,y,x&max=0", 400, "max: expected a number from 1 to"},
		{"/api/values/x.nc?var=9&at=" + strings.Repeat(",", 5000), 400, "at"},
		{"/api/blocks/x.nc?var=x", 400, "var"},
		{"/api/get/x.nc", 400, "select: expected 1 to 64 selections, found 0"},
		{"/api/get/x.nc?select=nothing", 400, "nothing"},
		{"/api/get/x.nc?select=tas[", 400, "expected"},
		{"/api/get/x.nc?select=tas[99]", 400, "99"},
		{"/api/get/x.nc?select=tas&format=exe", 400, "format"},
		{"/api/get/x.nc?select=tas[0]&select=time&format=npy", 400, "holds one variable"},
		{"/api/get/x.nc?select=tas", 403, "the answer is longer than the limit, 4000 bytes"},
		{"/api/get/x.nc?" + strings.Repeat("select=tas&", 65), 400, "found 65"},
	} {
		a := get(t, at+c.path)
		require.Equal(t, c.status, a.StatusCode, "%.80s: %s", c.path, a.body)
		require.Contains(t, a.body, c.text, "%.80s", c.path)
	}
	// Without a limit in the way, HEAD has no body.
	a := request(t, http.MethodHead, at+"/api/get/x.nc?select="+url.QueryEscape("tas[0,0]"))
	require.Equal(t, 200, a.StatusCode)
	require.Empty(t, a.body)
}

// TestPageUnreadable checks that a coordinate that cannot be read is not an error of the request.
func TestPageUnreadable(t *testing.T) {
	image, err := os.ReadFile("../../../../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	file := faultio.NewFile(image)
	f, err := archive.New(t.Context(), file, file.Size(), nil)
	require.NoError(t, err)
	file.FailAt(1, false)
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/?select=tas[lat=10]", nil)
	err = page.New(1<<20).Data(w, r, "get", &page.File{File: f, Stored: file, Path: "x.nc"})
	require.ErrorIs(t, err, faultio.ErrFault)
	require.Empty(t, w.Body.String())
}

// TestPageStatic checks that the page is complete and asks for nothing from elsewhere.
func TestPageStatic(t *testing.T) {
	_, at := start(t, t.TempDir(), nil)
	a := get(t, at+"/")
	require.Equal(t, 302, a.StatusCode)
	require.Equal(t, "page/", a.Header.Get("Location"))
	a = get(t, at+"/page/")
	require.Equal(t, 200, a.StatusCode)
	require.Equal(t, "text/html; charset=utf-8", a.Header.Get("Content-Type"))
	require.Contains(t, a.Header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; style-src 'self'")
	require.NotContains(t, a.body, "://")
	require.NotContains(t, a.body, "style=")
	for _, name := range []string{"main.js", "vendor/uplot.js", "vendor/uplot-license.txt", "style.css"} {
		require.Equal(t, 200, get(t, at+"/page/"+name).StatusCode, name)
	}
	again := request(t, http.MethodGet, at+"/page/", "If-None-Match", a.Header.Get("Etag"))
	require.Equal(t, 304, again.StatusCode)
}

// TestPageDamage checks that a damaged block is an error of the requests that need it.
func TestPageDamage(t *testing.T) {
	image, err := os.ReadFile("../../../../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	dir := folder(t, map[string][]byte{"x.nc": image})
	b, err := os.ReadFile(dir + "/x.nc.cdfz")
	require.NoError(t, err)
	f, err := archive.New(t.Context(), bytes.NewReader(b), int64(len(b)), nil)
	require.NoError(t, err)
	for block, err := range f.Blocks(t.Context()) {
		require.NoError(t, err)
		if block.Var == climateTas {
			b[block.Off+block.Len/2] ^= 1
			break
		}
	}
	put(t, dir+"/x.nc.cdfz", b)
	var warned atomic.Int32
	_, at := start(t, dir, &Options{Warn: func(string, error) { warned.Add(1) }})
	require.Equal(t, 200, get(t, at+"/api/meta/x.nc").StatusCode)
	for _, path := range []string{"values/x.nc?var=9&at=0,y,x", "get/x.nc?format=raw&select=tas[0]"} {
		a := get(t, at+"/api/"+path)
		require.Equal(t, 500, a.StatusCode, path)
		require.Equal(t, "a block of the archive is damaged\n", a.body)
	}
	require.Equal(t, 200, get(t, at+"/api/values/x.nc?var=9&at=23,y,x").StatusCode)
	require.Equal(t, int32(1), warned.Load())
}
