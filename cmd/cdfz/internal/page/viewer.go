package page

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/cdfz-format/cdfz/js"
)

// viewerPolicy allows the page its own files, the decoder, and archives on any server.
const viewerPolicy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self' http: https:; base-uri 'none'; form-action 'none'"

var footer = regexp.MustCompile(`(?s)<footer>.*</footer>`)

// aliases are modules that stand for others: the source of the page, and what both sources and the page use.
var aliases = map[string]string{"page/data/api.js": "viewer/archive.js", "../cmd/cdfz/internal/page/static/data/calendar.js": "page/data/calendar.js", "../cmd/cdfz/internal/page/static/panels/format.js": "page/panels/format.js"}

// Viewer returns the files of the page without a server, by name: index.html opens archives at any address and
// those that are dropped on it. It also works from file://.
func Viewer() (map[string][]byte, error) {
	read := func(name string) (string, error) {
		var b []byte
		var err error
		if own, ok := strings.CutPrefix(name, "page/"); ok {
			b, err = static.ReadFile("static/" + own)
		} else {
			b, err = js.Files.ReadFile(name)
		}
		return string(b), err
	}
	out := map[string][]byte{}
	for name, entry := range map[string]string{"viewer.js": "page/main.js", "worker.js": "src/worker.js"} {
		script, err := bundle(entry, aliases, read)
		if err != nil {
			return nil, err
		}
		out[name] = []byte(script)
	}
	license, err := js.Files.ReadFile("vendor/fzstd-license.txt")
	if err != nil {
		return nil, err
	}
	out["fzstd-license.txt"] = license
	for _, name := range []string{"land-110m", "land-50m"} {
		b, err := static.ReadFile("static/vendor/" + name + ".json")
		if err != nil {
			return nil, err
		}
		// A script, because pages from file:// can load nothing else.
		out[name+".js"] = fmt.Appendf(nil, "(globalThis.cdfzResources ??= {})[%q] = %s;\n", name, bytes.TrimSpace(b))
	}
	for _, name := range []string{"style.css", "vendor/uplot.css", "vendor/uplot.js", "vendor/uplot-license.txt", "vendor/gifenc-license.txt", "vendor/world-atlas-license.txt"} {
		b, err := static.ReadFile("static/" + name)
		if err != nil {
			return nil, err
		}
		out[path.Base(name)] = b
	}
	index, err := fs.ReadFile(static, "static/index.html")
	if err != nil {
		return nil, err
	}
	for from, to := range map[string]string{
		`<meta charset="utf-8">`: `<meta charset="utf-8">` + "\n" + `<meta http-equiv="Content-Security-Policy" content="` + viewerPolicy + `">`,
		mainScript:               `<script src="viewer.js" defer></script>`,
		"Selections are those of <code>cdfz get</code>: <code>SST[0, :, 10:20]</code> by index, <code>SST[lat=30:60, time=2001-05]</code> by coordinates.": "Selections are by index: <code>SST[0, :, 10:20]</code>.",
		`href="./"`:          `href="index.html"`,
		`"vendor/uplot.css"`: `"uplot.css"`,
		`"vendor/uplot.js"`:  `"uplot.js"`,
		"This page shows maps and series of the netCDF files on this server, and how archives store them. Choose a file under <b>Files</b>.": "This page shows maps and series of netCDF files in cdfz archives. Drop an archive here, choose one, or type its address. " +
			"Only the parts that are shown are read, and nothing is sent anywhere.",
	} {
		if bytes.Count(index, []byte(from)) != 1 {
			return nil, fmt.Errorf("page: expected one %s in the page", from)
		}
		index = bytes.Replace(index, []byte(from), []byte(to), 1)
	}
	out["index.html"] = footer.ReplaceAll(index, []byte(`<footer>Made by cdfz, which needs no server. Lines drawn by uPlot (<a href="uplot-license.txt">licence</a>), coasts of Natural Earth by world-atlas (<a href="world-atlas-license.txt">licence</a>), GIF by gifenc (<a href="gifenc-license.txt">licence</a>), Zstandard by fzstd (<a href="fzstd-license.txt">licence</a>)</footer>`))
	return out, nil
}
