// Package fields makes classic netCDF files of gridded fields for benchmarks. Ferret
// repeats the climatologies of the Debian package ferret-datasets over many years with
// variations. Synthetic needs no input. The output depends only on the arguments, on
// every machine.
package fields

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/cdfz-format/cdfz/cdf3"
)

// File is a classic file computed while it is written.
type File struct {
	header *cdf3.Header
	values []values // by variable
}

// values computes the values of a variable into dst, big-endian: those of record rec,
// or all if it has no records.
type values func(dst []byte, rec int)

// Size returns the length of the file in bytes.
func (f *File) Size() int64 {
	h := f.header
	end := h.Len
	for i := range h.Vars {
		if v := &h.Vars[i]; v.Record {
			end = v.Begin - v.Begin%4 // the first record variable begins the record section
			return end + h.RecSize*h.NumRecs
		} else {
			end = max(end, pad4(v.Begin+v.RecLen))
		}
	}
	return end
}

// WriteTo writes the file.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	out := &countWriter{w: bufio.NewWriterSize(w, 1<<20)}
	head, err := f.header.Append(nil)
	if err != nil {
		return 0, err
	}
	out.write(head)
	var buf []byte
	put := func(i, rec int) {
		v := &f.header.Vars[i]
		n := int(pad4(v.RecLen))
		if cap(buf) < n {
			buf = make([]byte, n)
		}
		buf = buf[:n]
		clear(buf[v.RecLen:])
		f.values[i](buf[:v.RecLen], rec)
		out.write(buf)
	}
	for i := range f.header.Vars {
		if !f.header.Vars[i].Record {
			put(i, 0)
		}
	}
	for rec := range int(f.header.NumRecs) {
		for i := range f.header.Vars {
			if f.header.Vars[i].Record {
				put(i, rec)
			}
		}
		if out.err != nil {
			break
		}
	}
	if out.err == nil {
		out.err = out.w.Flush()
	}
	if out.err == nil && out.n != f.Size() {
		out.err = fmt.Errorf("fields: internal error: %d bytes written, expected %d", out.n, f.Size())
	}
	return out.n, out.err
}

func pad4(n int64) int64 { return (n + 3) &^ 3 }

type countWriter struct {
	w   *bufio.Writer
	n   int64
	err error
}

func (c *countWriter) write(b []byte) {
	if c.err != nil {
		return
	}
	n, err := c.w.Write(b)
	c.n += int64(n)
	c.err = err
}

// builder assembles a File.
type builder struct {
	h      cdf3.Header
	values []values
}

func newBuilder(title string) *builder {
	b := &builder{h: cdf3.Header{Version: cdf3.Offset64, Dims: []cdf3.Dim{{Name: "time"}}}}
	b.h.Attrs = []cdf3.Attr{text("Conventions", "CF-1.6"), text("title", title)}
	return b
}

// dim adds a dimension and returns its number. The number of time is 0.
func (b *builder) dim(name string, n int) int {
	b.h.Dims = append(b.h.Dims, cdf3.Dim{Name: name, Len: int64(n)})
	return len(b.h.Dims) - 1
}

func (b *builder) add(name string, t cdf3.Type, dims []int, f values, attrs ...cdf3.Attr) {
	b.h.Vars = append(b.h.Vars, cdf3.Var{Name: name, Type: t, DimIDs: dims, Attrs: attrs})
	b.values = append(b.values, f)
}

// axis adds a dimension with its coordinate variable.
func (b *builder) axis(name, units string, coords []float64) int {
	d := b.dim(name, len(coords))
	b.add(name, cdf3.Double, []int{d}, func(dst []byte, _ int) {
		for i, c := range coords {
			binary.BigEndian.PutUint64(dst[8*i:], math.Float64bits(c))
		}
	}, text("units", units))
	return d
}

// time adds the coordinate of the record dimension, a value every step days.
func (b *builder) time(step float64) {
	b.add("time", cdf3.Double, []int{0}, func(dst []byte, rec int) {
		binary.BigEndian.PutUint64(dst, math.Float64bits(float64(rec)*step))
	}, text("units", "days since 1980-01-01 00:00:00"), text("calendar", "noleap"))
}

// file adds the records needed to reach size bytes, at least one.
func (b *builder) file(size int64) (*File, error) {
	if err := b.h.Layout(); err != nil {
		return nil, err
	}
	f := &File{&b.h, b.values}
	n := max(1, (size-f.Size()+b.h.RecSize-1)/b.h.RecSize)
	if n > math.MaxInt32 {
		return nil, fmt.Errorf("fields: %d records", n)
	}
	b.h.NumRecsField = uint64(n)
	return f, b.h.Layout()
}

func text(name, value string) cdf3.Attr {
	return cdf3.Attr{Name: name, Type: cdf3.Char, Len: int64(len(value)), Values: []byte(value)}
}

func floatAttr(name string, v float32) cdf3.Attr {
	return cdf3.Attr{Name: name, Type: cdf3.Float, Len: 1, Values: binary.BigEndian.AppendUint32(nil, math.Float32bits(v))}
}

// putFloats returns a values function for a fixed field.
func putFloats(field []float32) values {
	return func(dst []byte, _ int) {
		for i, v := range field {
			binary.BigEndian.PutUint32(dst[4*i:], math.Float32bits(v))
		}
	}
}
