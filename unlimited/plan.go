package unlimited

import (
	"cmp"
	"math"
	"slices"

	"github.com/cdfz-format/cdfz/cdf3"
)

// Reason is the reason why a variable is not blocked. "" means that it is blocked.
type Reason string

// The reasons of Plan; see docs/FORMAT.md, "Which variables can be blocked".
const (
	Blocked      Reason = ""
	outsideFile  Reason = "its values lie outside the file"
	overlaps     Reason = "its values overlap other data"
	notInRecord  Reason = "the record variables do not lie within one record"
	recordsMixed Reason = "the records overlap other data"
)

// Overlaps reports whether values share bytes with other values or with the header. netCDF-C does not open such
// files.
func (r Reason) Overlaps() bool { return r == overlaps || r == recordsMixed }

// extent is an interval of the image claimed by a variable (number), by the
// header or by the record section (negative).
type extent struct {
	start, end int64
	who        int
}

const (
	byHeader  = -1
	byRecords = -2
)

// SegmentOf returns the place of a variable's values according to the header.
func SegmentOf(h *cdf3.Header, v *cdf3.Var) Segment {
	switch {
	case v.Len == 0:
		return Segment{}
	case !v.Record, h.NumRecs == 1:
		return Segment{Off: v.Begin, Len: v.RecLen, Count: 1}
	}
	return Segment{Off: v.Begin, Len: v.RecLen, Stride: h.RecSize, Count: h.NumRecs}
}

// Plan decides which variables of a header are blocked in an image of size bytes. It
// returns a segment and a reason for each variable. The segment is meaningful iff the
// reason is Blocked. Plan sorts the variables and never iterates over records.
func Plan(h *cdf3.Header, size int64) ([]Segment, []Reason) {
	segs := make([]Segment, len(h.Vars))
	why := make([]Reason, len(h.Vars))
	extents := append(make([]extent, 0, len(h.Vars)+2), extent{0, h.Len, byHeader})
	var records []int
	for i := range h.Vars {
		v := &h.Vars[i]
		segs[i] = SegmentOf(h, v)
		switch {
		case v.Len == 0:
		case v.Record:
			records = append(records, i)
		default:
			extents = append(extents, extent{v.Begin, satAdd(v.Begin, v.RecLen), i})
			if v.RecLen > size || v.Begin > size-v.RecLen {
				why[i] = outsideFile
			}
		}
	}
	extents = append(extents, planRecords(h, size, records, why)...)
	markOverlaps(extents, func(who int) {
		switch {
		case who >= 0:
			why[who] = overlaps
		case who == byRecords:
			for _, i := range records {
				why[i] = recordsMixed
			}
		}
	})
	return segs, why
}

// planRecords checks the record variables against each other and returns the extents
// that they claim against all others.
func planRecords(h *cdf3.Header, size int64, records []int, why []Reason) []extent {
	if len(records) == 0 {
		return nil
	}
	b0 := int64(math.MaxInt64)
	for _, i := range records {
		b0 = min(b0, h.Vars[i].Begin)
	}
	last := h.NumRecs - 1
	lastOff := int64(math.MaxInt64) // of the last record from the first
	if h.RecSize == 0 || last <= math.MaxInt64/h.RecSize {
		lastOff = last * h.RecSize
	}
	section := extent{b0, 0, byRecords}
	inRecord := make([]extent, 0, len(records))
	window := true
	for _, i := range records {
		v := &h.Vars[i]
		end := satAdd(v.Begin, v.RecLen)
		if end > satAdd(b0, h.RecSize) {
			window = false
		}
		inRecord = append(inRecord, extent{v.Begin, end, i})
		section.end = max(section.end, satAdd(end, lastOff))
		if satAdd(end, lastOff) > size {
			why[i] = outsideFile
		}
	}
	if !window {
		for _, i := range records {
			why[i] = notInRecord
		}
		// Their values may be anywhere in the section, so it still conflicts with
		// everything that it overlaps.
		return []extent{section}
	}
	markOverlaps(inRecord, func(who int) { why[who] = overlaps })
	return []extent{section}
}

// markOverlaps calls mark for each party of an overlap, at least once. A sweep
// that remembers the extent with the farthest end finds all of them: two
// extents that both reach beyond the start of a third overlap each other there.
func markOverlaps(extents []extent, mark func(who int)) {
	slices.SortStableFunc(extents, func(a, b extent) int { return cmp.Compare(a.start, b.start) })
	for i, far := 1, 0; i < len(extents); i++ {
		if extents[i].start < extents[far].end {
			mark(extents[i].who)
			mark(extents[far].who)
		}
		if extents[i].end > extents[far].end {
			far = i
		}
	}
}
