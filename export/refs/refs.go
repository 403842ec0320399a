// Package refs writes references to the chunks of an archive: kerchunk's format. With
// them, fsspec, zarr and xarray read ranges of the archive itself as a Zarr v2 store.
package refs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/filters"
)

// MaxInline bounds the values in the references of one archive, in bytes.
const MaxInline = 64 << 20

// Errors of WriteJSON.
var (
	// ErrClassic reports a file that is not an archive and so has no blocks.
	ErrClassic = errors.New("refs: only archives have blocks to refer to")
	// ErrInline reports an archive with more than MaxInline bytes of values without blocks.
	ErrInline = errors.New("refs: too many values without blocks")
)

// Result describes written references.
type Result struct {
	Chunks   int64
	Referred int64    // chunks that are ranges of the archive. The values of others are in the references.
	Packages []string // of Python, besides numcodecs, whose codecs readers need
}

// WriteJSON writes the references of an archive that readers find at url, a URL or a path,
// as JSON, version 1. Chunks that are not blocks, those of small variables, are in the
// references themselves. Variables are those of File.Zarr.
func WriteJSON(ctx context.Context, w io.Writer, f *archive.File, url string) (*Result, error) {
	if _, ok := f.Info(); !ok {
		return nil, ErrClassic
	}
	z, err := f.Zarr(ctx, nil)
	if err != nil {
		return nil, err
	}
	out := &members{w: bufio.NewWriterSize(w, 1<<16)}
	out.w.WriteString(`{"version":1,"refs":{`)
	for name, b := range z.Metadata() {
		out.text(name, b)
	}
	res := &Result{}
	if err := out.inline(ctx, z, res); err != nil {
		return nil, err
	}
	if err := out.blocks(ctx, f, z, url, res); err != nil {
		return nil, err
	}
	out.w.WriteString("}}\n")
	return res, out.w.Flush()
}

// members writes the members of a JSON object. Errors stay in the buffered writer.
type members struct {
	w     *bufio.Writer
	begun bool
}

func (m *members) key(name string) {
	if m.begun {
		m.w.WriteByte(',')
	}
	m.begun = true
	m.w.WriteByte('\n')
	m.json(name)
	m.w.WriteByte(':')
}

// json writes a string.
func (m *members) json(s string) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // strings have no errors
	m.w.Write(bytes.TrimRight(b.Bytes(), "\n"))
}

func (m *members) text(name string, b []byte) {
	m.key(name)
	m.json(string(b))
}

// inline writes the chunks that are not blocks.
func (m *members) inline(ctx context.Context, z *archive.Zarr, res *Result) error {
	left := int64(MaxInline)
	for path, c := range z.Arrays() {
		if c.Kept() {
			continue
		}
		each := c.Var().Type().Size()
		for _, n := range c.Shape() {
			each *= n
		}
		if c.Len() > 0 && each > left/c.Len() {
			return fmt.Errorf("%w: expected at most %d bytes, found more in variable %q", ErrInline, int64(MaxInline), c.Var().Name())
		}
		left -= each * c.Len()
		for n := range c.Len() {
			b, err := c.Zarr(ctx, nil, n)
			if err != nil {
				return err
			}
			m.text(path+"/"+string(c.AppendKey(nil, n)), append([]byte("base64:"), base64.StdEncoding.EncodeToString(b)...))
			res.Chunks++
		}
	}
	return nil
}

// blocks writes the places of blocks.
func (m *members) blocks(ctx context.Context, f *archive.File, z *archive.Zarr, url string, res *Result) error {
	type array struct {
		path string
		c    *archive.Chunks
		next int64 // chunk
	}
	arrays := map[int]*array{} // by number of the variable
	for path, c := range z.Arrays() {
		if c.Kept() {
			arrays[c.Var().Num()] = &array{path: path, c: c}
			res.need(c.Chain())
		}
	}
	for b, err := range f.Blocks(ctx) {
		if err != nil {
			return err
		}
		a := arrays[b.Var]
		if a == nil {
			continue
		}
		m.key(a.path + "/" + string(a.c.AppendKey(nil, a.next)))
		m.w.WriteByte('[')
		m.json(url)
		fmt.Fprintf(m.w, ",%d,%d]", b.Off, b.Len)
		a.next++
		res.Chunks++
		res.Referred++
	}
	return nil
}

// need adds the packages of a chain.
func (r *Result) need(c filters.Chain) {
	for _, f := range c {
		m, ok := filters.Lookup(f.ID)
		if !ok || m.Codec == nil || m.Codec.Package == "" {
			continue
		}
		known := false
		for _, p := range r.Packages {
			known = known || p == m.Codec.Package
		}
		if !known {
			r.Packages = append(r.Packages, m.Codec.Package)
		}
	}
}
