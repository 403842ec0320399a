package ioat

import "iter"

// Span is the range [Off, Off+Len) of bytes of a file. Neither is negative, and their
// sum does not overflow.
type Span struct{ Off, Len int64 }

// End returns the offset of the first byte after the span.
func (s Span) End() int64 { return s.Off + s.Len }

// Joiner decides which spans are read together.
type Joiner struct {
	Gap int64 // spans are joined if fewer bytes lie between them
	Max int64 // longest result of joining, in bytes
	// Enough, if not 0, is the length from which a run is not extended, even if the
	// result would not exceed Max.
	Enough int64
}

// Join returns the run extended by the next span, which must not begin before the run.
// It returns false if the two are better read separately.
func (j Joiner) Join(run, next Span) (Span, bool) {
	end := max(run.End(), next.End())
	if next.Off-run.End() >= j.Gap || end-run.Off > j.Max || j.Enough > 0 && run.Len >= j.Enough {
		return run, false
	}
	return Span{run.Off, end - run.Off}, true
}

// Runs groups items that are read together. The spans of the items must be sorted by
// offset. Each run is yielded with its items.
func Runs[T any](j Joiner, items []T, span func(T) Span) iter.Seq2[Span, []T] {
	return func(yield func(Span, []T) bool) {
		for len(items) > 0 {
			run, n := span(items[0]), 1
			for n < len(items) {
				longer, ok := j.Join(run, span(items[n]))
				if !ok {
					break
				}
				run = longer
				n++
			}
			if !yield(run, items[:n:n]) {
				return
			}
			items = items[n:]
		}
	}
}
