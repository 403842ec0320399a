// Package page is the web page of cdfz serve: a map of any slice of a netCDF file, series,
// histograms, the blocks of archives, and downloads of parts.
//
// [Handler.Static] answers with the page itself, which is embedded and needs nothing from
// elsewhere. [Handler.Data] answers the requests that the page makes about a file. It knows
// neither folders nor names: its caller finds and opens files.
package page

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/archive"
)

//go:embed static
var static embed.FS

// policy allows the page its own files and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const (
	// most is the number of requests for data that are answered at the same time. Each
	// takes up to 40 MB.
	most = 16
	// patience is how long other requests wait.
	patience = 20 * time.Second
)

// Handler answers requests of the page. It is safe for concurrent use.
type Handler struct {
	slots chan struct{}
	bytes int64
	index []byte            // index.html
	tags  map[string]string // ETags of the static files
}

// New makes a handler. Downloads of more than the given number of bytes are refused.
func New(bytes int64) *Handler {
	h := &Handler{slots: make(chan struct{}, most), bytes: bytes, tags: map[string]string{}}
	err := fs.WalkDir(static, "static", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := strings.TrimPrefix(p, "static/")
		b, err := static.ReadFile(p)
		if err == nil && name == "index.html" {
			b, err = preloaded(b)
			h.index = b
		}
		sum := sha256.Sum256(b)
		h.tags[name] = `"` + hex.EncodeToString(sum[:16]) + `"`
		return err
	})
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return h
}

// Static answers with a file of the page. The empty name is that of the page.
func (h *Handler) Static(w http.ResponseWriter, r *http.Request, name string) {
	if name == "" {
		name = "index.html"
	}
	tag, ok := h.tags[name]
	if !ok {
		refuse(w, http.StatusNotFound, "no such file of the page")
		return
	}
	head := w.Header()
	head.Set("Content-Security-Policy", policy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cache-Control", "no-cache") // a newer server has a newer page
	head.Set("ETag", tag)
	if kind := map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".json": "application/json"}[path.Ext(name)]; kind != "" {
		head.Set("Content-Type", kind)
	} else {
		head.Set("Content-Type", "text/plain; charset=utf-8")
	}
	if name == "index.html" {
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(h.index))
		return
	}
	http.ServeFileFS(w, r, static, "static/"+name)
}

// mainScript is the script of the page.
const mainScript = `<script src="main.js" type="module"></script>`

// preloaded adds all modules to the page that its script imports, so that a browser asks for them at once.
func preloaded(index []byte) ([]byte, error) {
	if bytes.Count(index, []byte(mainScript)) != 1 {
		return nil, errors.New("page: expected one " + mainScript)
	}
	var links strings.Builder
	seen := map[string]bool{"main.js": true}
	for left := []string{"main.js"}; len(left) > 0; left = left[1:] {
		text, err := static.ReadFile("static/" + left[0])
		if err != nil {
			return nil, err
		}
		for _, m := range importLine.FindAllSubmatch(text, -1) {
			name := path.Join(path.Dir(left[0]), string(m[4]))
			if !seen[name] {
				seen[name] = true
				left = append(left, name)
				fmt.Fprintf(&links, "<link rel=\"modulepreload\" href=\"%s\">\n", name)
			}
		}
	}
	return bytes.Replace(index, []byte(mainScript), []byte(links.String()+mainScript), 1), nil
}

// File is an open netCDF file.
type File struct {
	*archive.File
	Stored io.ReaderAt // the file as it is stored
	Path   string      // its name for users, with slashes
}

// Data answers a request about a file. The services are:
//
//   - meta: dimensions, variables and attributes, as JSON
//   - values?var=N&at=…: a slice or a series, see the comment in values.go
//   - blocks?var=N: the blocks of a variable and their filters, as JSON
//   - get?select=VAR[…]&format=csv: a part of the file
//
// Wrong requests get an answer. Other errors are those of reading the file, and then
// nothing was answered unless the error wraps ErrCut.
func (h *Handler) Data(w http.ResponseWriter, r *http.Request, service string, f *File) error {
	serve := map[string]func(http.ResponseWriter, *http.Request, *File) error{
		"meta": h.meta, "values": h.values, "blocks": h.blocks, "get": h.get,
	}[service]
	if serve == nil {
		refuse(w, http.StatusNotFound, "no such service")
		return nil
	}
	release, err := h.wait(r.Context())
	if err == nil {
		defer release()
		err = serve(w, r, f)
	}
	var e *refusal
	if errors.As(err, &e) {
		refuse(w, e.status, e.text)
		return nil
	}
	return err
}

// wait waits for a slot.
func (h *Handler) wait(ctx context.Context) (release func(), err error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case h.slots <- struct{}{}:
		return func() { <-h.slots }, nil
	case <-timer.C:
		return nil, &refusal{http.StatusServiceUnavailable, "too many requests in flight"}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
