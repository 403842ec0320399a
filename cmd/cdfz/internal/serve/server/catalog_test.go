package server

import (
	"encoding/json"
	"encoding/xml"
	"html"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCatalog(t *testing.T) {
	files := classic(t, "cdf2_climate")
	image := files["cdf2_climate.nc"]
	files["sub 1/a&b.nc"] = image
	dir := folder(t, files)
	put(t, filepath.Join(dir, "notes.txt"), []byte("notes"))
	put(t, filepath.Join(dir, "bad.nc.cdfz"), damaged(t, filepath.Join(dir, "cdf2_climate.nc.cdfz"), 0))
	_, at := start(t, dir, nil)
	a := get(t, at+"/catalog.xml")
	require.Equal(t, "application/xml", a.Header.Get("Content-Type"))
	require.Equal(t, `<?xml version="1.0" encoding="UTF-8"?>
<catalog xmlns="http://www.unidata.ucar.edu/namespaces/thredds/InvCatalog/v1.0" xmlns:xlink="http://www.w3.org/1999/xlink" version="1.0.1" name="/">
  <service name="all" serviceType="Compound" base="">
    <service name="dap" serviceType="OPENDAP" base="dap/"></service>
    <service name="http" serviceType="HTTPServer" base="files/"></service>
    <service name="zarr" serviceType="Zarr" base="zarr/"></service>
  </service>
  <dataset name="/">
    <metadata inherited="true">
      <serviceName>all</serviceName>
    </metadata>
    <dataset name="cdf2_climate.nc" ID="cdf2_climate.nc" urlPath="cdf2_climate.nc">
      <serviceName>all</serviceName>
      <property name="viewer" value="page/?file=cdf2_climate.nc,cdfz,Maps and series,Browser"></property>
      <dataSize units="bytes">305104</dataSize>
      <date type="modified">2001-09-09T01:46:40Z</date>
    </dataset>
    <dataset name="notes.txt" ID="notes.txt" urlPath="notes.txt">
      <serviceName>http</serviceName>
      <dataSize units="bytes">5</dataSize>
      <date type="modified">2001-09-09T01:46:40Z</date>
    </dataset>
    <catalogRef xlink:href="catalog/sub%201/catalog.xml" xlink:title="sub 1" name="sub 1"></catalogRef>
  </dataset>
</catalog>`, a.body)
	var c struct {
		Dataset struct {
			Refs []struct {
				Href string `xml:"href,attr"`
			} `xml:"catalogRef"`
			Datasets []struct {
				Path string `xml:"urlPath,attr"`
			} `xml:"dataset"`
		} `xml:"dataset"`
	}
	require.NoError(t, xml.Unmarshal([]byte(get(t, at+"/catalog/catalog.xml").body), &c))
	require.Equal(t, "../catalog/sub%201/catalog.xml", c.Dataset.Refs[0].Href)
	c.Dataset.Datasets = nil
	require.NoError(t, xml.Unmarshal([]byte(get(t, at+"/catalog/sub%201/catalog.xml").body), &c))
	require.Equal(t, "sub%201/a&b.nc", c.Dataset.Datasets[0].Path)
	require.Equal(t, string(image), get(t, at+"/files/"+c.Dataset.Datasets[0].Path).body)

	var j jsonCatalog
	require.NoError(t, json.Unmarshal([]byte(get(t, at+"/catalog.json").body), &j))
	require.Equal(t, "/", j.Path)
	require.Equal(t, []jsonFolder{{"sub 1", "catalog/sub%201/catalog.json"}}, j.Folders)
	require.Len(t, j.Datasets, 2)
	require.Equal(t, `"`+j.Datasets[0].SHA256+`"`, get(t, at+"/"+j.Datasets[0].Files).Header.Get("ETag"))
	require.Equal(t, "dap/cdf2_climate.nc", j.Datasets[0].DAP)
	require.Equal(t, 200, get(t, at+"/"+j.Datasets[0].DAP+".dds").StatusCode)
	require.Equal(t, 200, get(t, at+"/"+j.Datasets[0].Zarr+".zmetadata").StatusCode)
	require.Equal(t, 200, get(t, at+"/"+j.Datasets[0].Page).StatusCode)
	require.Empty(t, j.Datasets[1].DAP+j.Datasets[1].Zarr+j.Datasets[1].Page)
	require.NoError(t, json.Unmarshal([]byte(get(t, at+"/catalog/sub%201/catalog.json").body), &j))
	require.Equal(t, "a&b.nc", j.Datasets[0].Name)
	require.Equal(t, "../../files/sub%201/a&b.nc", j.Datasets[0].Files)
	require.Contains(t, get(t, at+"/catalog.json").body, `"closed":[{"name":"bad.nc","why":"damaged"}]`)
	for _, p := range []string{"/catalog/", "/catalog/none/catalog.xml", "/catalog/notes.txt/catalog.xml", "/catalog/../catalog.xml", "/catalog/sub%201"} {
		require.Equal(t, 404, get(t, at+p).StatusCode, p)
	}
}

// TestCatalogOther lists files that are named like netCDF files: those that are none are data sets of no service.
func TestCatalogOther(t *testing.T) {
	files := classic(t, "climate_small")
	dir := folder(t, files)
	for name, b := range map[string][]byte{
		"plain.nc": files["cdf1_climate_small.nc"], "plain.cdf": files["cdf5_climate_small.nc"], "cut.nc": files["cdf1_climate_small.nc"][:100],
		"four.nc": []byte("\x89HDF\r\n\x1a\n and more"), "four.cdf": []byte("\x89HDF\r\n\x1a\n and more"), "empty.nc": nil, "short.nc": []byte("CDF"), "later.nc": []byte("CDF\x03"),
	} {
		put(t, filepath.Join(dir, name), b)
	}
	_, at := start(t, dir, nil)
	sets := func() (names []string) {
		var c jsonCatalog
		require.NoError(t, json.Unmarshal([]byte(get(t, at+"/catalog.json").body), &c))
		require.Len(t, c.Datasets, 10)
		for _, d := range c.Datasets {
			require.Equal(t, "files/"+d.Name, d.Files)
			require.Equal(t, d.DAP != "", d.Zarr != "")
			require.Equal(t, d.DAP != "", d.Page != "")
			if d.DAP != "" {
				names = append(names, d.Name)
			}
		}
		return names
	}
	want := []string{"cdf1_climate_small.nc", "cdf5_climate_small.nc", "cut.nc", "plain.cdf", "plain.nc"}
	require.Equal(t, want, sets())
	require.Equal(t, want, sets(), "remembered")
	require.Contains(t, get(t, at+"/catalog.xml").body, `urlPath="four.nc">
      <serviceName>http</serviceName>
      <dataSize`)
	list := get(t, at+"/dap/").body
	require.Contains(t, list, "plain.nc")
	require.NotContains(t, list, "four")
	for _, name := range []string{"four.nc", "empty.nc", "later.nc", "cut.nc"} {
		a := get(t, at+"/dap/"+name+".dds")
		require.Equal(t, 404, a.StatusCode, name)
		require.Contains(t, a.body, "not a classic netCDF file, or a damaged one", name)
		require.Equal(t, 200, get(t, at+"/files/"+name).StatusCode, name)
	}
	a := get(t, at+"/zarr/four.nc/.zmetadata")
	require.Equal(t, 404, a.StatusCode)
	require.Equal(t, "not a classic netCDF file, or a damaged one\n", a.body)
	// A file that was replaced is read again.
	put(t, filepath.Join(dir, "four.nc"), files["cdf1_climate_small.nc"])
	require.Contains(t, sets(), "four.nc")
}

// TestClosed lists files named as archives that cannot be opened: in JSON, and in the list of the folder
// with their reasons. An archive next to its original is an ordinary file.
func TestClosed(t *testing.T) {
	files := classic(t, "climate_small")
	dir := folder(t, files)
	name := filepath.Join(dir, "cdf1_climate_small.nc.cdfz")
	ar, err := os.ReadFile(name)
	require.NoError(t, err)
	for name, b := range map[string][]byte{
		"both.nc": files["cdf1_climate_small.nc"], "both.nc.cdfz": ar, "pair.nc": files["cdf1_climate_small.nc"], "pair.nc.cdfz": ar[:len(ar)-1], "empty.nc.cdfz": nil, "junk.nc.cdfz": []byte("junk\n"),
		"start.nc.cdfz": ar[:5], "cut.nc.cdfz": ar[:len(ar)/2], "text.cdfz": []byte("text that is no archive, and longer than the end of one would be"), "sub.cdfz/notes.txt": nil,
	} {
		put(t, filepath.Join(dir, name), b)
	}
	_, at := start(t, dir, nil)
	var c jsonCatalog
	require.NoError(t, json.Unmarshal([]byte(get(t, at+"/catalog.json").body), &c))
	var names []string
	for _, d := range c.Datasets {
		names = append(names, d.Name)
	}
	require.Equal(t, []string{"both.nc", "both.nc.cdfz", "cdf1_climate_small.nc", "cdf5_climate_small.nc", "pair.nc"}, names)
	require.Equal(t, []jsonFolder{{"sub.cdfz", "catalog/sub.cdfz/catalog.json"}}, c.Folders)
	require.Equal(t, []jsonClosed{{"cut.nc", "damaged"}, {"empty.nc.cdfz", "not an archive"}, {"junk.nc.cdfz", "not an archive"}, {"pair.nc.cdfz", "damaged"},
		{"start.nc.cdfz", "not an archive"}, {"text.cdfz", "not an archive"}}, c.Closed)
	list := get(t, at+"/files/").body
	for _, closed := range c.Closed {
		require.Regexp(t, `>`+regexp.QuoteMeta(closed.Name)+`</a></td><td>[0-9 :-]*</td><td>`+closed.Why+`</td></tr>`, list)
		require.NotContains(t, get(t, at+"/catalog.xml").body, closed.Name)
	}
	require.Equal(t, "junk\n", get(t, at+"/files/junk.nc.cdfz").body)
}

// TestDAP reads data through the server, and what it refuses.
func TestDAP(t *testing.T) {
	files := classic(t, "climate_small")
	dir := folder(t, files)
	put(t, filepath.Join(dir, "classic.nc"), files["cdf1_climate_small.nc"])
	put(t, filepath.Join(dir, "notes.txt"), []byte("notes"))
	put(t, filepath.Join(dir, "bad.nc.cdfz"), damaged(t, filepath.Join(dir, "cdf1_climate_small.nc.cdfz"), 0))
	_, at := start(t, dir, &Options{Bytes: 2000})
	at += "/dap/"
	a := get(t, at+"cdf1_climate_small.nc.dds?time")
	require.Equal(t, "Dataset {\n    Float64 time[time = 3];\n} cdf1_climate_small.nc;\n", a.body)
	require.Equal(t, "dods_dds", a.Header.Get("Content-Description"))
	require.Contains(t, get(t, at+"classic.nc.das").body, `String Unlimited_Dimension "time";`)
	a = get(t, at+"cdf1_climate_small.nc.dods?time")
	require.Equal(t, int64(len(a.body)), a.ContentLength)
	require.Contains(t, a.body, "\nData:\n\x00\x00\x00\x03\x00\x00\x00\x03\x40\x2e")
	require.Equal(t, a.ContentLength, request(t, "HEAD", at+"cdf1_climate_small.nc.dods?time").ContentLength)
	require.Contains(t, get(t, at+"cdf1_climate_small.nc.ascii?time").body, "time[3]\n15, 45, 75\n")
	for p, want := range map[string]struct {
		status int
		text   string
	}{
		"cdf1_climate_small.nc.dods":       {403, "the limit is 2000: ask for a part"},
		"cdf1_climate_small.nc.dods?f(x)":  {400, "functions are not supported"},
		"cdf1_climate_small.nc.dds?none":   {400, "no variable"},
		"cdf1_climate_small.nc":            {404, "expected a name that ends in .dds"},
		"notes.txt.dds":                    {404, "not a classic netCDF file, or a damaged one"},
		"none.nc.dds":                      {404, "no such file"},
		"..%2fcdf1_climate_small.nc.dds":   {404, "no such file"},
		"bad.nc.dods":                      {500, "the archive cannot be read"},
		"cdf1_climate_small.nc.nc.ver.dds": {404, "no such file"},
		"none.nc.html":                     {404, "no such file"},
		"bad.nc.html":                      {500, "the archive cannot be read"},
		"cdf1_climate_small.nc.html?none":  {400, "no variable"},
	} {
		a := get(t, at+p)
		require.Equal(t, want.status, a.StatusCode, p)
		require.Contains(t, a.body, "Error {\n    code = ", p)
		require.Contains(t, a.body, want.text, p)
		require.Equal(t, "dods_error", a.Header.Get("Content-Description"))
	}
}

// TestDAPPages reads the pages for people under /dap/: the lists of folders, and the forms of
// data sets with the links in them.
func TestDAPPages(t *testing.T) {
	files := classic(t, "climate_small")
	image := files["cdf1_climate_small.nc"]
	files["sub 1/a&b%,:.nc"] = image
	dir := folder(t, files)
	put(t, filepath.Join(dir, "classic.nc"), image)
	put(t, filepath.Join(dir, "notes.txt"), []byte("notes"))
	_, at := start(t, dir, nil)
	a := get(t, at+"/dap/")
	require.Equal(t, "text/html; charset=utf-8", a.Header.Get("Content-Type"))
	require.Contains(t, a.body, `<a href="./cdf1_climate_small.nc.html">cdf1_climate_small.nc</a>`)
	require.Contains(t, a.body, `<a href="./classic.nc.html">classic.nc</a>`)
	require.Contains(t, a.body, `<a href="./sub%201/">sub 1/</a>`)
	require.NotContains(t, a.body, "notes")
	a = get(t, at+"/dap/sub%201")
	require.Equal(t, 301, a.StatusCode)
	require.Equal(t, "./sub%201/", a.Header.Get("Location"))
	require.Contains(t, get(t, at+"/dap/sub%201/").body, `<a href="./a&amp;b%25,:.nc.html">a&amp;b%,:.nc</a>`)
	for _, p := range []string{"/dap/none/", "/dap/classic.nc/", "/dap/../"} {
		require.Equal(t, 404, get(t, at+p).StatusCode, p)
	}

	for _, page := range []string{"/dap/cdf1_climate_small.nc.html", "/dap/classic.nc.html", "/dap/sub%201/a&b%25,:.nc.html"} {
		a := get(t, at+page)
		require.Equal(t, 200, a.StatusCode)
		require.Equal(t, "text/html; charset=utf-8", a.Header.Get("Content-Type"))
		require.Equal(t, "dods_form", a.Header.Get("Content-Description"))
		require.Contains(t, a.body, "    Float64 time[time = 3];\n")
		require.Contains(t, a.body, `        String Unlimited_Dimension &#34;time&#34;;`)
		require.Contains(t, a.body, "time[0:1:2]")
		base, err := url.Parse(at + page)
		require.NoError(t, err)
		links := regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(a.body, -1)
		require.Greater(t, len(links), 10)
		for _, m := range links {
			to, err := base.Parse(html.UnescapeString(m[1]))
			require.NoError(t, err)
			require.Equal(t, 200, get(t, to.String()).StatusCode, to)
		}
		a = get(t, at+page+"?expression=time%5B1%3A2%5D&service=ascii")
		require.Equal(t, 303, a.StatusCode)
		to, err := base.Parse(a.Header.Get("Location"))
		require.NoError(t, err)
		require.Contains(t, get(t, to.String()).body, "time[2]\n45, 75\n")
		require.Contains(t, get(t, at+page+"?time%5B1%5D").body, "    Float64 time[time = 1];\n")
		require.Contains(t, get(t, at+page+"?time%5B1%5D").body, `value="time[1]"`)
	}
	require.Contains(t, get(t, at+"/dap/sub%201/a&b%25,:.nc.html").body, `href="../../page/?file=sub+1%2Fa%26b%25%2C%3A.nc"`)
}
