package repair

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/image"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/observer"
	"github.com/cdfz-format/cdfz/unlimited"
)

// WriteImage writes the image to w, which is empty: the values that were found, and fill
// values in place of the lost ones (the variable's _FillValue, or else netCDF's default).
// Lost padding and gaps are zero. It adds the blocks that do not decode to Lost.
//
// workers is the number of goroutines that decode; 0 means GOMAXPROCS. progress, if not
// nil, is called with the number of image bytes done so far, from one goroutine at a time.
func (s *Salvaged) WriteImage(ctx context.Context, w io.WriterAt, workers int, progress func(done int64)) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	const copies = 3 // of a block in memory: stored, decoded, between filters
	workers = int(min(int64(workers), max(1, image.DefaultMemory/(copies*s.l.MaxBlockLen()))))
	s.vars = s.variables()
	var mu sync.Mutex
	var gaps []unlimited.Run // lost bytes of the rest
	lost := map[int64]error{}
	done := int64(0)
	next := int64(0)
	g, ctx := errgroup.WithContext(ctx)
	for range workers {
		g.Go(func() error {
			d := &salvageDecoder{s: s, r: ioat.Bind(ctx, s.r), coders: map[int]*filters.Coder{}, observer: observer.Of[filters.Observer](ctx)}
			for {
				mu.Lock()
				n := next
				if n == s.l.Blocks {
					mu.Unlock()
					return nil
				}
				next++
				row, err := s.table.Row(n)
				mu.Unlock()
				if err != nil {
					return err
				}
				b := s.l.BlockAt(n)
				raw, err := d.block(b, row)
				if ctx.Err() != nil {
					return ctx.Err()
				}
				rest, werr := s.place(w, b, raw)
				if werr != nil {
					return fmt.Errorf("archive: writing: %w", werr)
				}
				mu.Lock()
				gaps = append(gaps, rest...)
				if err != nil {
					lost[n] = err
				}
				if _, n := s.l.RawAt(b); progress != nil {
					done += n
					progress(done)
				}
				mu.Unlock()
			}
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := s.fillGaps(w, gaps); err != nil {
		return fmt.Errorf("archive: writing: %w", err)
	}
	numbers := make([]int64, 0, len(lost))
	for n := range lost {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		row, err := s.table.Row(n)
		if err != nil {
			return err
		}
		if row.Off > 0 {
			s.lose(s.l.BlockAt(n), row.Off, lost[n])
		}
	}
	return nil
}

// salvageDecoder decodes blocks. Each goroutine has one.
type salvageDecoder struct {
	s      *Salvaged
	r      io.ReaderAt
	coders map[int]*filters.Coder
	raw    []byte

	observer filters.Observer
}

// block decodes a block. An error means that it is lost.
func (d *salvageDecoder) block(b plan.Block, row blockidx.Row) ([]byte, error) {
	if row.Off == 0 {
		return nil, fault.Corruptf("not found")
	}
	stored, err := ioat.ReadBytes(d.r, row.Off, row.Len)
	if err != nil {
		return nil, opening.Corrupt(err)
	}
	chain := d.s.l.Filters[b.Chain]
	if len(chain) < 32 && row.Mask>>len(chain) != 0 {
		return nil, fault.Corruptf("mask %x for %d filters", row.Mask, len(chain))
	}
	c := d.coders[b.Chain]
	if c == nil {
		if c, err = filters.NewDecoder(chain); err != nil {
			return nil, opening.Corrupt(err)
		}
		c = c.Observed(d.observer, "")
		d.coders[b.Chain] = c
	}
	if int64(cap(d.raw)) < b.Len {
		d.raw = make([]byte, b.Len)
	}
	if err := c.Decode(d.raw[:b.Len], stored, row.Mask); err != nil {
		return nil, opening.Corrupt(err)
	}
	return d.raw[:b.Len], nil
}

// place writes a decoded block to its runs in the image, or fill values if raw is nil. It
// returns the runs of lost bytes of the rest.
func (s *Salvaged) place(w io.WriterAt, b plan.Block, raw []byte) (rest []unlimited.Run, err error) {
	off, n := s.l.RawAt(b)
	s.l.Perm.RawRuns(off, off+n, func(r unlimited.Run) bool {
		var p []byte
		switch {
		case raw != nil:
			p = raw[r.RawOff-off:][:r.Len]
		case r.Seg == s.l.Perm.Segments():
			rest = append(rest, r)
			p = make([]byte, r.Len)
		default:
			p = s.fill(s.vars[r.Seg], r.RawOff-s.l.Perm.RawOff(r.Seg), r.Len)
		}
		_, err = w.WriteAt(p, r.ImageOff)
		return err == nil
	})
	return rest, err
}

// variables returns the numbers of the variables with the segments.
func (s *Salvaged) variables() []int {
	out := make([]int, 0, s.l.Perm.Segments())
	for i := range s.l.Vars {
		out = append(out, s.l.Vars[i].Var)
	}
	for i := range s.l.Pools {
		out = append(out, s.l.Pools[i].Vars...)
	}
	return out
}

// fill returns n bytes of fill values of a variable, from byte off of its values on.
func (s *Salvaged) fill(v int, off, n int64) []byte {
	one := fillValue(&s.header.Vars[v])
	p := make([]byte, n)
	for i := range p {
		p[i] = one[(off+int64(i))%int64(len(one))]
	}
	return p
}

// fillValue returns one fill value of a variable, big-endian.
func fillValue(v *cdf3.Var) []byte {
	for i := range v.Attrs {
		if a := &v.Attrs[i]; a.Name == "_FillValue" && a.Type == v.Type && a.Len == 1 {
			return a.Values
		}
	}
	return v.Type.Fill()
}

// fillGaps writes the fill values of variables in the rest, whose values may lie in the
// given runs.
func (s *Salvaged) fillGaps(w io.WriterAt, gaps []unlimited.Run) error {
	if len(gaps) == 0 {
		return nil
	}
	slices.SortFunc(gaps, func(a, b unlimited.Run) int { return int(min(1, max(-1, a.ImageOff-b.ImageOff))) })
	inPlan := map[int]bool{}
	for _, v := range s.vars {
		inPlan[v] = true
	}
	for v := range s.header.Vars {
		if inPlan[v] || s.header.Vars[v].Len == 0 {
			continue
		}
		var err error
		seg, done := unlimited.SegmentOf(s.header, &s.header.Vars[v]), int64(0)
		seg.Runs(0, seg.Size(), func(at, n int64) bool {
			i, _ := slices.BinarySearchFunc(gaps, at, func(g unlimited.Run, at int64) int {
				if g.ImageOff+g.Len <= at {
					return -1
				}
				return 1
			})
			for ; i < len(gaps) && gaps[i].ImageOff < at+n && err == nil; i++ {
				from, to := max(at, gaps[i].ImageOff), min(at+n, gaps[i].ImageOff+gaps[i].Len)
				_, err = w.WriteAt(s.fill(v, done+from-at, to-from), from)
			}
			done += n
			return err == nil && at < s.Size
		})
		if err != nil {
			return err
		}
	}
	return nil
}
