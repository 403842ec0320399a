package bench

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stop"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// benchPoints is the number of random values read.
const benchPoints = 50

// cell measures one chain with one block size.
func (v *bencher) cell(ctx context.Context, in *fileio.Input, h *cdf3.Header, c benchChain, block int64, repeat int, step func() func(int64)) (benchRow, error) {
	row := benchRow{Chain: c.name, Block: block}
	opts := archive.WriteOptions{Name: "bench.nc", Block: block, Workers: v.Workers, Preset: c.preset, Zarr: archive.ZarrAlways}
	if c.preset == "" {
		opts.Filters = []archive.VarFilter{{Vars: []string{"*"}, Chain: c.chain}}
	}
	var write, read, point []float64
	for range repeat {
		opts.Progress = step()
		err := v.once(ctx, in, h, &opts, &row, func(w, r, p float64) {
			write, read, point = append(write, w), append(read, r), append(point, p)
		}, step())
		if err != nil {
			return row, err
		}
	}
	row.Ratio = display.Ratio(in.Size, row.ArchiveSize)
	row.Write, row.Read, row.Point = display.Round(median(write), 2), display.Round(median(read), 2), display.Round(median(point), 4)
	return row, nil
}

// once writes and reads one archive and adds its speeds and the time of a point.
func (v *bencher) once(ctx context.Context, in *fileio.Input, h *cdf3.Header, opts *archive.WriteOptions, row *benchRow, add func(w, r, p float64), step func(int64)) error {
	stop.Catch()
	f, err := atomicfile.Temp()
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<18)
	start := time.Now()
	res, err := archive.Write(ctx, w, in.R, in.Size, opts)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return err
	}
	wrote := time.Since(start)
	row.ArchiveSize = res.Size
	r, err := archive.New(f, res.Size, &archive.OpenOptions{Cache: -1})
	if err != nil {
		return err
	}
	start = time.Now()
	if err := r.Image().Copy(ctx, nil, &archive.CopyOptions{Workers: v.Workers, Progress: step}); err != nil {
		return err
	}
	took := time.Since(start)
	point, err := points(ctx, r, h)
	if err != nil {
		return err
	}
	mb := float64(in.Size) / 1e6
	add(mb/wrote.Seconds(), mb/took.Seconds(), point)
	return nil
}

// points returns the median time of reading single values at random places, in
// milliseconds. The places are the same every time.
func points(ctx context.Context, r *archive.File, h *cdf3.Header) (float64, error) {
	n := r.Image().Size() - h.Len
	if n <= 0 {
		return 0, nil
	}
	random := rand.New(rand.NewPCG(1, 2))
	image := r.Image()
	var took []float64
	var b [1]byte
	for range benchPoints {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		off := h.Len + random.Int64N(n)
		start := time.Now()
		if _, err := image.ReadAt(b[:], off); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		took = append(took, time.Since(start).Seconds()*1000)
	}
	return median(took), nil
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	if n := len(x) / 2; len(x)%2 == 1 {
		return x[n]
	} else {
		return (x[n-1] + x[n]) / 2
	}
}
