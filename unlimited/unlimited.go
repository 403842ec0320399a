// Package unlimited is the permutation between the two forms of a classic netCDF file, its image and raw.
// [Plan] decides which variables are blocked, [New] checks their segments, and [Layout.Raw] and
// [Layout.Image] return one form of the other. In the image, the records of all record variables are
// interleaved. In raw, the values of each blocked variable are contiguous, and everything else (the rest:
// header, padding, gaps, tail) follows in image order. docs/FORMAT.md, "The permutation", specifies it.
//
// For passes over a whole image, Gather
// collects segments from it, Tail collects the last part of raw, and Scatter assembles
// the image again. Values reads a single variable. Apart from the bytes themselves,
// everything is arithmetic on the segments: nothing allocates in proportion to the
// number of records.
//
// A Layout is immutable. The views are safe for concurrent use if the underlying
// reader is.
package unlimited

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Layout is a checked set of segments over an image of known size.
type Layout struct {
	size   int64
	segs   []Segment
	rawOff []int64 // raw offset of each segment; the last element is that of the rest
	items  []item  // image order
}

// item is an interval of the image that consists of one segment or, for the record
// section, of segments that recur with a stride.
type item struct {
	start, end int64
	restBefore int64 // bytes of the rest before start
	seg        int   // the segment, or -1 for the record section
	*section         // of the record section only
}

// section is the record section: count records, one every stride bytes.
type section struct {
	stride  int64
	count   int64
	members []member // in the order of their offsets
	valLen  int64    // value bytes in one record
}

// member is a segment's run within a record.
type member struct {
	off, len int64 // within the record
	seg      int
	gapsTo   int64 // bytes of the rest in the record before off
}

// New checks that the segments lie in [header, size), do not overlap, and that those
// with several runs share one stride and count and fit in one record. The order of segs
// is the order of raw. New keeps segs, which must not change.
func New(size, header int64, segs []Segment) (*Layout, error) {
	if size < 0 || header < 0 || header > size {
		return nil, fmt.Errorf("unlimited: header of %d bytes in an image of %d", header, size)
	}
	fixed, recurring := 0, 0
	for _, s := range segs {
		switch {
		case s.Size() == 0:
		case s.Count == 1:
			fixed++
		default:
			recurring++
		}
	}
	l := &Layout{size: size, segs: segs, rawOff: make([]int64, len(segs)+1), items: make([]item, 0, fixed+1)}
	rec := item{seg: -1, section: &section{members: make([]member, 0, recurring)}}
	for i, s := range segs {
		if err := s.check(header, size); err != nil {
			return nil, fmt.Errorf("unlimited: segment %d: %w", i, err)
		}
		l.rawOff[i+1] = l.rawOff[i] + s.Size()
		if l.rawOff[i+1] > size {
			return nil, fmt.Errorf("unlimited: segments of more than the %d bytes of the image", size)
		}
		switch {
		case s.Size() == 0:
		case s.Count == 1:
			l.items = append(l.items, item{start: s.Off, end: s.Off + s.Len, seg: i})
		default:
			if len(rec.members) > 0 && (s.Stride != rec.stride || s.Count != rec.count) {
				return nil, fmt.Errorf("unlimited: segment %d: %d records every %d bytes, expected %d every %d",
					i, s.Count, s.Stride, rec.count, rec.stride)
			}
			rec.stride, rec.count = s.Stride, s.Count
			rec.members = append(rec.members, member{off: s.Off, len: s.Len, seg: i})
		}
	}
	if len(rec.members) > 0 {
		if err := rec.close(); err != nil {
			return nil, err
		}
		l.items = append(l.items, rec)
	}
	slices.SortFunc(l.items, func(a, b item) int { return cmp.Compare(a.start, b.start) })
	at, rest := int64(0), int64(0)
	for i := range l.items {
		it := &l.items[i]
		if it.start < at {
			return nil, fmt.Errorf("unlimited: segments overlap at byte %d", it.start)
		}
		rest += it.start - at
		it.restBefore = rest
		rest += it.restLen()
		at = it.end
	}
	return l, nil
}

// close turns collected members into an item of the record section.
func (it *item) close() error {
	slices.SortFunc(it.members, func(a, b member) int { return cmp.Compare(a.off, b.off) })
	it.start = it.members[0].off
	at, gaps := int64(0), int64(0)
	for i := range it.members {
		m := &it.members[i]
		m.off -= it.start
		if m.off < at || m.off > it.stride-m.len {
			return fmt.Errorf("unlimited: record runs overlap at byte %d", it.start+m.off)
		}
		gaps += m.off - at
		m.gapsTo = gaps
		it.valLen += m.len
		at = m.off + m.len
	}
	it.end = it.start + (it.count-1)*it.stride + at
	return nil
}

// restLen returns the number of bytes of the rest inside the item.
func (it *item) restLen() int64 {
	if it.seg >= 0 {
		return 0
	}
	return (it.end - it.start) - it.valLen*it.count
}

// Size returns the length of the image, which is also that of raw.
func (l *Layout) Size() int64 { return l.size }

// RawOff returns the raw offset of segment i, or that of the rest if i is the number of
// segments.
func (l *Layout) RawOff(i int) int64 { return l.rawOff[i] }

// RestOff returns the raw offset of the rest.
func (l *Layout) RestOff() int64 { return l.rawOff[len(l.segs)] }

// Segments returns the number of segments.
func (l *Layout) Segments() int { return len(l.segs) }

// Segment returns segment i.
func (l *Layout) Segment(i int) Segment { return l.segs[i] }

// satAdd adds two lengths, saturating at the largest offset.
func satAdd(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
