package unlimited

import "sort"

// Run is a contiguous piece of the permutation: the image bytes
// [ImageOff, ImageOff+Len) are the raw bytes [RawOff, RawOff+Len).
type Run struct {
	ImageOff, RawOff, Len int64
	Seg                   int // number of the segment; Segments() for the rest
}

// ImageRuns calls yield for the runs of the image bytes [off, end), in image
// order, until it returns false. The range must lie in the image.
func (l *Layout) ImageRuns(off, end int64, yield func(Run) bool) {
	i := sort.Search(len(l.items), func(i int) bool { return l.items[i].end > off })
	for off < end {
		if i == len(l.items) || l.items[i].start >= end {
			l.restRun(off, end, i, yield)
			return
		}
		it := &l.items[i]
		if off < it.start {
			if !l.restRun(off, it.start, i, yield) {
				return
			}
			off = it.start
		}
		to := min(end, it.end)
		if it.seg >= 0 {
			if !yield(Run{off, l.rawOff[it.seg] + off - it.start, to - off, it.seg}) {
				return
			}
		} else if !l.recordRuns(it, off, to, yield) {
			return
		}
		off = to
		i++
	}
}

// restRun yields the image bytes [off, end) that lie between items, before item i.
func (l *Layout) restRun(off, end int64, i int, yield func(Run) bool) bool {
	before, at := int64(0), int64(0)
	if i > 0 {
		p := &l.items[i-1]
		before, at = p.restBefore+p.restLen(), p.end
	}
	n := len(l.segs)
	return yield(Run{off, l.rawOff[n] + before + off - at, end - off, n})
}

// recordRuns yields the runs of [off, end) inside the record section.
func (l *Layout) recordRuns(it *item, off, end int64, yield func(Run) bool) bool {
	rec := (off - it.start) / it.stride
	in := (off - it.start) % it.stride
	gapsPer := it.stride - it.valLen
	restOff := l.rawOff[len(l.segs)] + it.restBefore
	// m is the first member that ends after in.
	m := sort.Search(len(it.members), func(i int) bool { return it.members[i].off+it.members[i].len > in })
	for off < end {
		base := it.start + rec*it.stride
		if m == len(it.members) {
			// The gap after the last member of a record.
			to := min(end, base+it.stride)
			last := it.members[m-1]
			gap := rec*gapsPer + last.gapsTo + (off - base) - (last.off + last.len)
			if to > off && !yield(Run{off, restOff + gap, to - off, len(l.segs)}) {
				return false
			}
			off, rec, m = to, rec+1, 0
			continue
		}
		mem := it.members[m]
		if off < base+mem.off {
			to := min(end, base+mem.off)
			gap := rec*gapsPer + mem.gapsTo - (base + mem.off - off)
			if !yield(Run{off, restOff + gap, to - off, len(l.segs)}) {
				return false
			}
			off = to
			continue
		}
		to := min(end, base+mem.off+mem.len)
		if !yield(Run{off, l.rawOff[mem.seg] + rec*mem.len + off - base - mem.off, to - off, mem.seg}) {
			return false
		}
		off, m = to, m+1
	}
	return true
}

// RawRuns calls yield for the runs of the raw bytes [off, end), in raw order,
// until it returns false. The range must lie in raw.
func (l *Layout) RawRuns(off, end int64, yield func(Run) bool) {
	n := len(l.segs)
	i := l.segmentOf(off)
	for ; i < n && off < end; i++ {
		s := l.segs[i]
		stop := min(end, l.rawOff[i+1])
		for off < stop {
			run, in := (off-l.rawOff[i])/s.Len, (off-l.rawOff[i])%s.Len
			to := min(stop, off+s.Len-in)
			if !yield(Run{s.Off + run*s.Stride + in, off, to - off, i}) {
				return
			}
			off = to
		}
	}
	if off < end {
		l.rawRestRuns(off, end, yield)
	}
}

// segmentOf returns the segment that holds raw byte off, or the number of segments for
// the rest. It is not empty.
func (l *Layout) segmentOf(off int64) int {
	return sort.Search(len(l.segs), func(i int) bool { return l.rawOff[i+1] > off })
}

// rawRestRuns yields the runs of the rest: raw bytes [off, end) after all segments.
func (l *Layout) rawRestRuns(off, end int64, yield func(Run) bool) {
	n := len(l.segs)
	base := l.rawOff[n]
	// i is the item that contains the byte or follows it: the first whose rest ends
	// after it.
	rest := off - base
	i := sort.Search(len(l.items), func(i int) bool { return l.items[i].restBefore+l.items[i].restLen() > rest })
	for off < end {
		rest = off - base
		if i == len(l.items) {
			at, before := int64(0), int64(0)
			if i > 0 {
				p := &l.items[i-1]
				at, before = p.end, p.restBefore+p.restLen()
			}
			yield(Run{at + rest - before, off, end - off, n})
			return
		}
		it := &l.items[i]
		if rest < it.restBefore {
			to := min(end, base+it.restBefore)
			if !yield(Run{it.start - (it.restBefore - rest), off, to - off, n}) {
				return
			}
			off = to
			continue
		}
		inItem := rest - it.restBefore
		if inItem >= it.restLen() {
			i++
			continue
		}
		imageOff, length := it.gapAt(inItem)
		to := min(end, off+length)
		if !yield(Run{imageOff, off, to - off, n}) {
			return
		}
		off = to
	}
}

// gapAt finds byte rest of the gaps of a record section. It returns its image offset
// and how many bytes of the same gap remain, including this one. The gap after the last
// member and the one before the first member of the next record are separate.
func (it *item) gapAt(rest int64) (imageOff, length int64) {
	gapsPer := it.stride - it.valLen
	rec, in := rest/gapsPer, rest%gapsPer
	m := sort.Search(len(it.members), func(i int) bool { return it.members[i].gapsTo > in })
	base := it.start + rec*it.stride
	if m == len(it.members) {
		last := it.members[m-1]
		off := last.off + last.len + in - last.gapsTo
		return base + off, it.stride - off
	}
	mem := it.members[m]
	return base + mem.off - (mem.gapsTo - in), mem.gapsTo - in
}
