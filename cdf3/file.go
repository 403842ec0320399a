package cdf3

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// Data are the values of a variable for [WriteFile]: Len bytes, big-endian, in row-major
// order with the records one after the other. Len is a multiple of the size of the type, and at
// most Var.Len. Values that follow, up to the length of the variable, are fill values. The
// zero value stands for a variable without values.
type Data struct {
	Values io.ReaderAt
	Len    int64
	// NoFill makes padding zero, and all values of a variable that has none (Len 0), as
	// programs do that turn filling off.
	NoFill bool
}

// Sizes of the buffers of WriteFile. Tests change them.
var (
	copyLen   int64 = 1 << 20
	recordLen int64 = 8 << 20 // records that are assembled at a time
)

// WriteFile writes a whole classic file to w, from the first byte to the last, with the
// padding that the C library writes: fill values after variables of one- and two-byte
// types. Layout must have placed the variables. data returns the values of variable
// number v; it may be called several times.
//
// WriteFile fails before it writes anything if the header was changed since Layout, or data has
// more values than a variable, as for records that NumRecsField does not count.
//
// Memory is bounded by 16 MiB, whatever the size of the file. Errors of w, of reads and
// of ctx are returned unchanged.
func WriteFile(ctx context.Context, w io.Writer, h *Header, data func(v int) Data) error {
	b, err := h.Append(nil)
	if err != nil {
		return err
	}
	f := &fileWriter{ctx: ctx, w: w, h: h, data: data}
	if err := f.checkAll(); err != nil {
		return err
	}
	// Layout begins the first variable at a multiple of 4, as headers always end.
	f.write(b)
	for i := range h.Vars {
		if v := &h.Vars[i]; !v.Record {
			f.run(i, 0, v.RecLen, -v.RecLen&3)
		}
	}
	f.records()
	return f.err
}

// fileWriter writes until the first error.
type fileWriter struct {
	ctx  context.Context
	w    io.Writer
	h    *Header
	data func(int) Data
	buf  []byte
	out  []byte // records
	err  error
}

func (f *fileWriter) write(b []byte) {
	if f.err == nil {
		f.err = f.ctx.Err()
	}
	if f.err == nil {
		_, f.err = f.w.Write(b)
	}
}

// checkAll checks that the header is as Layout made it and that the values fit it.
func (f *fileWriter) checkAll() error {
	h := *f.h
	h.Vars = slices.Clone(h.Vars)
	if err := h.LayoutRead(); err != nil {
		return err
	}
	if f.h.NumRecs != h.NumRecs || f.h.RecSize != h.RecSize {
		return fmt.Errorf("cdf3: cannot write %d records of %d bytes: expected %d of %d as Layout sets them for NumRecsField %d", f.h.NumRecs, f.h.RecSize, h.NumRecs, h.RecSize, h.NumRecsField)
	}
	for i := range h.Vars {
		v, want := &f.h.Vars[i], &h.Vars[i]
		fail := func(format string, args ...any) error {
			return fmt.Errorf("cdf3: cannot write variable %d %s: %s", i, quote(v.Name), fmt.Sprintf(format, args...))
		}
		if v.Begin != want.Begin || v.RecLen != want.RecLen || v.Len != want.Len || v.Record != want.Record {
			return fail("%d bytes at byte %d, expected %d at %d as Layout sets them", v.Len, v.Begin, want.Len, want.Begin)
		}
		switch d := f.data(i); {
		case d.Len < 0 || d.Len%v.Type.Size() != 0:
			return fail("expected a multiple of %d bytes of values, found %d", v.Type.Size(), d.Len)
		case d.Len > v.Len && v.Record:
			return fail("expected at most %d bytes of values in %d records (NumRecsField), found %d", v.Len, h.NumRecs, d.Len)
		case d.Len > v.Len:
			return fail("expected at most %d bytes of values for shape %s, found %d", v.Len, shapeText(v.Shape), d.Len)
		case d.Len > 0 && d.Values == nil:
			return fail("expected a reader of %d bytes of values, found none", d.Len)
		}
	}
	return nil
}

// run writes n bytes of the values of variable i, from byte at of them, and padding.
func (f *fileWriter) run(i int, at, n, pad int64) {
	d, fill := f.data(i), f.fill(i)
	if f.buf == nil {
		f.buf = make([]byte, copyLen)
	}
	for end := at + n; at < end && f.err == nil; {
		b := f.buf[:min(copyLen, end-at)]
		f.read(b, &d, fill, at)
		f.write(b)
		at += int64(len(b))
	}
	if pad > 0 && f.err == nil {
		b := f.buf[:pad]
		f.pad(b, &d, fill, at)
		f.write(b)
	}
}

// pad fills in padding after byte at of the values.
func (f *fileWriter) pad(b []byte, d *Data, fill []byte, at int64) {
	if d.NoFill {
		clear(b)
	} else {
		f.fillIn(b, d, fill, at)
	}
}

// read reads values, from byte at of them.
func (f *fileWriter) read(b []byte, d *Data, fill []byte, at int64) {
	n := min(max(d.Len-at, 0), int64(len(b)))
	if n > 0 {
		if err := readFull(d.Values, b[:n], at); err != nil && f.err == nil {
			f.err = err
		}
	}
	f.fillIn(b[n:], d, fill, at+n)
}

// fillIn fills b, which begins with byte at of the values.
func (f *fileWriter) fillIn(b []byte, d *Data, fill []byte, at int64) {
	if d.NoFill && d.Len == 0 {
		clear(b)
		return
	}
	size := int64(len(fill))
	for k := range min(size, int64(len(b))) {
		b[k] = fill[(at+k)%size]
	}
	for k := int(size); k < len(b); {
		k += copy(b[k:], b[:k])
	}
}

// fill returns the fill value of variable i.
func (f *fileWriter) fill(i int) []byte {
	v := &f.h.Vars[i]
	if k := slices.IndexFunc(v.Attrs, func(a Attr) bool { return a.Name == "_FillValue" }); k >= 0 && v.Attrs[k].Type == v.Type && v.Attrs[k].Len == 1 {
		return v.Attrs[k].Values
	}
	return v.Type.Fill()
}

// records writes the record section, several records at a time if they are short.
func (f *fileWriter) records() {
	h := f.h
	if h.RecSize == 0 || h.NumRecs == 0 {
		return
	}
	batch := recordLen / h.RecSize
	for at := int64(0); at < h.NumRecs && f.err == nil; {
		n := min(batch, h.NumRecs-at)
		if n > 1 {
			f.batch(at, n)
		} else {
			n = 1
			for i := range h.Vars {
				if v := &h.Vars[i]; v.Record {
					f.run(i, at*v.RecLen, v.RecLen, f.slot(v)-v.RecLen)
				}
			}
		}
		at += n
	}
}

// slot returns the bytes that a variable takes in a record. The only record variable of
// a file is not padded.
func (f *fileWriter) slot(v *Var) int64 { return min(v.RecLen+(-v.RecLen&3), f.h.RecSize) }

// batch writes n records from record at on. It reads each variable once.
func (f *fileWriter) batch(at, n int64) {
	h := f.h
	if f.out == nil {
		f.out = make([]byte, min(recordLen, h.NumRecs*h.RecSize))
	}
	out := f.out[:n*h.RecSize]
	off := int64(0)
	for i := range h.Vars {
		v := &h.Vars[i]
		if !v.Record {
			continue
		}
		d, fill, slot := f.data(i), f.fill(i), f.slot(v)
		if int64(cap(f.buf)) < n*v.RecLen {
			f.buf = make([]byte, max(copyLen, n*v.RecLen))
		}
		b := f.buf[:n*v.RecLen]
		f.read(b, &d, fill, at*v.RecLen)
		for r := range n {
			dst := out[r*h.RecSize+off:][:slot]
			copy(dst, b[r*v.RecLen:][:v.RecLen])
			f.pad(dst[v.RecLen:], &d, fill, v.RecLen)
		}
		off += slot
	}
	f.write(out)
}
