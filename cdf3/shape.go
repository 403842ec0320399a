package cdf3

import (
	"fmt"
	"math"
)

// These functions return a message, or "" for success, because Read and Layout put it
// in different errors.

// setShape sets Record, Shape and RecLen of v from its dimensions and type. shape is memory for
// the field Shape, as long as DimIDs.
func (h *Header) setShape(v *Var, shape []int64) (msg string) {
	v.Record = false
	v.Shape = shape
	v.RecLen = v.Type.Size()
	for i, id := range v.DimIDs {
		n := h.Dims[id].Len
		v.Shape[i] = n
		if i == 0 && n == 0 {
			v.Record = true
			continue
		}
		var ok bool
		if v.RecLen, ok = mul(v.RecLen, n); !ok {
			return fmt.Sprintf("the length of shape %v overflows", shapeText(v.Shape[:i+1]))
		}
	}
	v.Len = v.RecLen
	return ""
}

// setNumRecs sets NumRecs, unless the header is Streaming, and the Shape and Len of
// record variables, which depend on it.
func (h *Header) setNumRecs() (msg string) {
	if !h.Streaming {
		if h.NumRecsField > math.MaxInt64 {
			return fmt.Sprintf("%d records, expected at most %d", h.NumRecsField, int64(math.MaxInt64))
		}
		h.NumRecs = int64(h.NumRecsField)
	}
	if _, ok := mul(h.RecSize, h.NumRecs); !ok {
		return fmt.Sprintf("the length of %d records of %d bytes overflows", h.NumRecs, h.RecSize)
	}
	for i := range h.Vars {
		v := &h.Vars[i]
		if !v.Record {
			continue
		}
		// RecLen <= RecSize, so the product cannot overflow.
		v.Len = v.RecLen * h.NumRecs
		v.Shape[0] = h.NumRecs
		if h.NumRecs > 0 && v.Begin+v.RecLen > math.MaxInt64-(h.NumRecs-1)*h.RecSize {
			return fmt.Sprintf("the end of variable %d %s overflows: begin %d, %d records of %d bytes",
				i, quote(v.Name), v.Begin, h.NumRecs, h.RecSize)
		}
	}
	return ""
}

// wholeRecords returns the number of records whose values lie entirely in a file of
// size bytes. It is not size divided by RecSize, since the padding after the last value
// may be missing.
func (h *Header) wholeRecords(size int64) int64 {
	var end int64 // of the first record's values
	for i := range h.Vars {
		if v := &h.Vars[i]; v.Record {
			end = max(end, v.Begin+v.RecLen)
		}
	}
	if h.RecSize == 0 || size < end {
		return 0
	}
	return (size-end)/h.RecSize + 1
}

// recordSum adds up the size of a record.
type recordSum struct {
	vars   int
	only   int64 // RecLen of the first record variable
	padded int64 // sum of RecLen rounded up
	over   bool  // the sum overflows
}

func (s *recordSum) add(v *Var) (ok bool) {
	if !v.Record {
		return true
	}
	if s.vars++; s.vars == 1 {
		s.only = v.RecLen
	}
	n, ok := pad4(v.RecLen)
	if !ok || s.padded > math.MaxInt64-n {
		s.over = true
	} else {
		s.padded += n
	}
	return !s.over || s.vars == 1 // a single one is not padded
}

// size returns RecSize. The specification (Note on padding) omits padding "in the
// special case when there is only one record variable and it is of type character,
// byte, or short". "Only one" refers to the whole file. Of the other types, only
// UByte and UShort would need padding. They are treated alike.
func (s *recordSum) size() int64 {
	if s.vars == 1 {
		return s.only
	}
	return s.padded
}

// mul multiplies two non-negative numbers.
func mul(a, b int64) (int64, bool) {
	if b != 0 && a > math.MaxInt64/b {
		return 0, false
	}
	return a * b, true
}

// pad4 rounds n up to a multiple of 4.
func pad4(n int64) (int64, bool) {
	if n > math.MaxInt64-3 {
		return 0, false
	}
	return (n + 3) &^ 3, true
}

// shapeText formats a shape for an error message and shortens it.
func shapeText(shape []int64) string {
	if len(shape) > 8 {
		return fmt.Sprintf("%v... (%d dimensions)", shape[:8], len(shape))
	}
	return fmt.Sprint(shape)
}
