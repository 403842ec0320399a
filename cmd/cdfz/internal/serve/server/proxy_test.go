package server

import (
	"encoding/json"
	"encoding/xml"
	"html"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// below puts a server below a path, as a proxy does that strips it, and returns the address with the slash at its end.
func below(t *testing.T, at, prefix string) string {
	t.Helper()
	to, err := url.Parse(at)
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle(prefix, http.StripPrefix(strings.TrimSuffix(prefix, "/"), httputil.NewSingleHostReverseProxy(to)))
	proxy := httptest.NewServer(mux)
	t.Cleanup(proxy.Close)
	return proxy.URL + prefix
}

var htmlLink = regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)

// linksOf returns the addresses in an answer, as they are written there.
func linksOf(t *testing.T, a answer) []string {
	t.Helper()
	var list []string
	switch kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";"); kind {
	case "text/html":
		for _, m := range htmlLink.FindAllStringSubmatch(a.body, -1) {
			list = append(list, html.UnescapeString(m[1]))
		}
	case "application/json":
		var c jsonCatalog
		require.NoError(t, json.Unmarshal([]byte(a.body), &c))
		for _, f := range c.Folders {
			list = append(list, f.Catalog)
		}
		for _, d := range c.Datasets {
			list = append(list, d.Files)
			if d.DAP != "" {
				list = append(list, d.DAP+".dds", d.Zarr+".zmetadata", d.Page)
			}
		}
	case "application/xml":
		var c struct {
			Services []struct {
				Name string `xml:"name,attr"`
				Base string `xml:"base,attr"`
			} `xml:"service>service"`
			Refs []struct {
				Href string `xml:"href,attr"`
			} `xml:"dataset>catalogRef"`
			Datasets []struct {
				Path    string `xml:"urlPath,attr"`
				Service string `xml:"serviceName"`
				Viewer  struct {
					Value string `xml:"value,attr"`
				} `xml:"property"`
			} `xml:"dataset>dataset"`
		}
		require.NoError(t, xml.Unmarshal([]byte(a.body), &c))
		require.Len(t, c.Services, 3)
		for _, r := range c.Refs {
			list = append(list, r.Href)
		}
		for _, d := range c.Datasets {
			for _, s := range c.Services {
				switch {
				case s.Name == "http":
					list = append(list, s.Base+d.Path)
				case d.Service == "all":
					list = append(list, s.Base+d.Path+map[string]string{"dap": ".das", "zarr": "/.zmetadata"}[s.Name])
				}
			}
			if viewer, _, ok := strings.Cut(d.Viewer.Value, ","); ok {
				list = append(list, viewer)
			}
		}
	}
	return list
}

// TestBelowPath follows all links of lists, forms, catalogues and the page behind a proxy that strips a path. Each
// leads to something, and no link or redirect leaves the path.
func TestBelowPath(t *testing.T) {
	files := classic(t, "cdf2_climate")
	image := files["cdf2_climate.nc"]
	files["sub 1/deep/a&b%:.nc"] = image
	dir := folder(t, files)
	put(t, filepath.Join(dir, "sub 1", "notes:1.txt"), []byte("notes"))
	_, at := start(t, dir, nil)
	for _, prefix := range []string{"/", "/data/", "/data/files/dap/"} {
		root := at + "/"
		if prefix != "/" {
			root = below(t, at, prefix)
		}
		queue := []string{root, root + "catalog.xml", root + "catalog.json", root + "catalog/catalog.xml", root + "catalog/catalog.json", root + "dap/",
			root + "files/sub%201", root + "dap/sub%201/deep", root + "dap/cdf2_climate.nc.html?expression=lat&service=ascii"}
		seen := map[string]bool{}
		for len(queue) > 0 {
			here := queue[0]
			queue = queue[1:]
			if seen[here] {
				continue
			}
			seen[here] = true
			require.True(t, strings.HasPrefix(here, root), "%s is not below %s", here, root)
			a := get(t, here)
			links := linksOf(t, a)
			switch a.StatusCode {
			case 200:
			case 301, 302, 303:
				links = []string{a.Header.Get("Location")}
			default:
				t.Fatalf("%s: status %d", here, a.StatusCode)
			}
			from, err := url.Parse(here)
			require.NoError(t, err)
			for _, link := range links {
				require.False(t, strings.HasPrefix(link, "/"), "%s has %s", here, link)
				to, err := from.Parse(link)
				require.NoError(t, err, link)
				if to.Fragment = ""; to.Scheme != "data" {
					queue = append(queue, to.String())
				}
			}
		}
		for _, want := range []string{"page/", "page/main.js", "page/?file=sub+1%2Fdeep%2Fa%26b%25%3A.nc", "files/sub%201/deep/", "dap/sub%201/deep/",
			"files/sub%201/deep/a&b%25:.nc", "dap/sub%201/deep/a&b%25:.nc.html", "dap/sub%201/deep/a&b%25:.nc.dds", "zarr/sub%201/deep/a&b%25:.nc/.zmetadata",
			"catalog/sub%201/deep/catalog.xml", "catalog/sub%201/deep/catalog.json", "files/sub%201/notes:1.txt", "dap/cdf2_climate.nc.ascii?lat"} {
			require.True(t, seen[root+want], "nothing leads to %s; seen %v", root+want, seen)
		}
	}
}

// TestBase has the address of the proxy in catalogues.
func TestBase(t *testing.T) {
	dir := folder(t, map[string][]byte{"sub/a.nc": classic(t, "cdf2_climate")["cdf2_climate.nc"]})
	_, at := start(t, dir, &Options{Base: "https://data.example.org/data/"})
	for _, name := range []string{"/catalog/sub/catalog.xml", "/catalog/sub/catalog.json", "/catalog.xml", "/catalog.json"} {
		links := linksOf(t, get(t, at+name))
		require.NotEmpty(t, links)
		for _, link := range links {
			require.True(t, strings.HasPrefix(link, "https://data.example.org/data/"), link)
		}
	}
}
