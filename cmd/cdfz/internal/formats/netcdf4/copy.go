package netcdf4

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats/hdf5"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/pipeline"
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
}

// copyValues writes the data of all datasets. Workers read and encode, and a single
// goroutine writes, in order.
func copyValues(ctx context.Context, w *hdf5.Writer, d *description, o *Options, res *Result) error {
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	pool := sync.Pool{New: func() any { return &job{} }} // with buffers
	done := int64(0)
	return pipeline.Run(ctx, workers, 2*workers, pipeline.Steps[*job]{
		Make: func(_ context.Context, submit func(*job) error) error {
			return d.each(func(next job) error {
				j := pool.Get().(*job)
				next.out = j.out[:0]
				*j = next
				return submit(j)
			})
		},
		Work: func(ctx context.Context) func(*job) error {
			return func(j *job) error { return j.read(ctx) }
		},
		Pass: func(j *job) error {
			if err := j.write(w, res); err != nil {
				return err
			}
			if o.Progress != nil {
				done += j.bytes()
				o.Progress(done)
			}
			return nil
		},
		Free: func(j *job) { pool.Put(j) },
	})
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
