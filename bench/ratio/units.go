package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
)

// The smallest measured units, in bytes.
const (
	minFile = 256 << 10
	minVar  = 64 << 10
)

// unit is a unit of compression: a file, or the values of one of its variables.
type unit struct {
	file    string
	num     int    // number of the variable in the header, or -1 for the whole file
	name    string // of the variable
	path    string // of the file
	typ     cdf3.Type
	shape   []int64
	size    int64
	sum     string           // checksum of the bytes
	classes []string         // of a file
	stored  map[string]int64 // size by preset and peer, except those that failed or do not apply
}

func (u *unit) whole() bool { return u.num < 0 }

func (u *unit) small() bool { return u.whole() && u.size < minFile }

func (u *unit) String() string {
	if u.whole() {
		return u.file
	}
	return u.file + " " + u.name
}

// newUnits returns the file and its large variables, or nothing if all are small.
func newUnits(f *archive.File, name, image string) ([]*unit, error) {
	h := f.Header()
	file := &unit{file: name, num: -1, path: image, size: f.Size(), classes: classes(h, f.Size())}
	units := []*unit{file}
	for i := range h.Vars {
		v := &h.Vars[i]
		if v.Len < minVar || v.Len > f.Size() {
			continue
		}
		units = append(units, &unit{file: name, num: i, name: v.Name, typ: v.Type, shape: v.Shape, size: v.Len})
	}
	if len(units) == 1 && file.small() {
		return nil, nil
	}
	for _, u := range units {
		u.stored = map[string]int64{}
		h := sha256.New()
		if _, err := io.Copy(h, u.bytes(f)); err != nil {
			return nil, err
		}
		u.sum = hex.EncodeToString(h.Sum(nil)[:16])
	}
	return units, nil
}

// bytes reads the data to compress.
func (u *unit) bytes(f *archive.File) io.Reader {
	if u.whole() {
		return io.NewSectionReader(f.Image(), 0, u.size)
	}
	for i, v := range f.Vars() {
		if i == u.num {
			return io.NewSectionReader(v.Values(), 0, u.size)
		}
	}
	panic(fmt.Sprintf("internal error: no variable %d", u.num))
}

// The classes of files with separate geometric means.
const (
	classSmall = "many small" // less than half of the file in variables of at least minVar
	classMesh  = "mesh"       // an unstructured mesh, or a tenth of the file are bounds of polygons
	classText  = "text"       // a tenth of the file is text
	classOther = "fields"     // none of these
)

func classes(h *cdf3.Header, size int64) []string {
	var large, text, polygons int64
	mesh := false
	bounds := map[string]bool{}
	for _, v := range h.Vars {
		for _, a := range v.Attrs {
			switch {
			case a.Name == "bounds":
				bounds[a.Text()] = true
			case a.Name == "cf_role" && a.Text() == "mesh_topology", a.Name == "elem_type":
				mesh = true // UGRID, Exodus
			}
		}
	}
	for _, v := range h.Vars {
		if v.Len >= minVar {
			large += v.Len
		}
		if v.Type == cdf3.Char {
			text += v.Len
		}
		scrip := strings.HasPrefix(v.Name, "grid_corner_")
		if n := len(v.Shape); (bounds[v.Name] || scrip) && n > 0 && v.Shape[n-1] > 2 {
			polygons += v.Len
		}
	}
	var c []string
	if large < size/2 {
		c = append(c, classSmall)
	}
	if mesh || polygons > size/10 {
		c = append(c, classMesh)
	}
	if text > size/10 {
		c = append(c, classText)
	}
	if c == nil {
		c = []string{classOther}
	}
	return c
}

// hasClass returns a filter for units.
func hasClass(class string) func(*unit) bool {
	return func(u *unit) bool { return slices.Contains(u.classes, class) }
}
