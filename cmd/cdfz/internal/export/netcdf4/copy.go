package netcdf4

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/export/hdf5"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// piece bounds the contiguous data that are read at once, in bytes.
const piece = 1 << 20

// job is a chunk, or a piece of contiguous data, on its way to the file.
type job struct {
	from *source
	n    int64 // number of the chunk, or offset of the data
	len  int64 // of contiguous data
	out  []byte
	mask uint32
	err  error
	done chan struct{}
}

// copyValues writes the data of all datasets. Workers read and encode, and a single
// goroutine writes, in order.
func copyValues(ctx context.Context, w *hdf5.Writer, d *description, o *Options, res *Result) error {
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	pool := sync.Pool{New: func() any { return &job{} }} // with buffers
	work, ordered := make(chan *job, workers), make(chan *job, 2*workers)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(work)
		defer close(ordered)
		return d.each(func(next job) error {
			j := pool.Get().(*job)
			next.out, next.done = j.out[:0], make(chan struct{})
			*j = next
			select {
			case ordered <- j:
			case <-ctx.Done():
				return ctx.Err()
			}
			work <- j // workers drain it to the end
			return nil
		})
	})
	for range workers {
		g.Go(func() error {
			for j := range work {
				j.err = j.read(ctx)
				close(j.done)
			}
			return nil
		})
	}
	g.Go(func() error {
		done := int64(0)
		for j := range ordered {
			<-j.done
			if j.err == nil {
				j.err = j.write(w, res)
			}
			if j.err != nil {
				return j.err
			}
			if o.Progress != nil {
				done += j.bytes()
				o.Progress(done)
			}
			pool.Put(j)
		}
		return nil
	})
	return g.Wait()
}

// each passes all jobs, in the order of the file.
func (d *description) each(do func(job) error) error {
	for i := range d.sources {
		s := &d.sources[i]
		if s.chunks != nil {
			for n := range s.chunks.Len() {
				if err := do(job{from: s, n: n}); err != nil {
					return err
				}
			}
			continue
		}
		all := s.bytes()
		for at := int64(0); at < all; at += piece {
			if err := do(job{from: s, n: at, len: min(piece, all-at)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// bytes returns the length of the values.
func (s *source) bytes() int64 {
	n := s.v.Type().Size()
	for _, k := range s.v.Shape() {
		n *= k
	}
	return n
}

// read reads the data.
func (j *job) read(ctx context.Context) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c := j.from.chunks; c != nil {
		j.out, j.mask, err = c.Append(ctx, j.out, j.n)
		return err
	}
	j.out = slices.Grow(j.out, int(j.len))[:j.len]
	return ioat.ReadFull(ioat.Bind(ctx, j.from.v.Values()), j.out, j.n)
}

// write writes the data.
func (j *job) write(w *hdf5.Writer, res *Result) error {
	c := j.from.chunks
	if c == nil {
		return w.Data(j.out)
	}
	res.Chunks++
	if c.Kept() {
		res.Copied++
	}
	return w.Chunk(j.out, j.mask)
}

// bytes returns the length of the values of the job.
func (j *job) bytes() int64 {
	if c := j.from.chunks; c != nil {
		return j.from.bytes() / max(1, c.Len())
	}
	return j.len
}
