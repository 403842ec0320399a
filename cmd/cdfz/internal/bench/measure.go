package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stop"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

const (
	maxPoints = 50                     // random values that a run reads
	pointTime = 100 * time.Millisecond // for which it reads them
)

const (
	minRuns  = 3                      // of each archive, by default
	maxRuns  = 25                     // of each archive, by default
	cellTime = 300 * time.Millisecond // for which small archives are measured again
	largeRun = 256 << 20              // bytes of a file whose archives are measured once
	probe    = 1 << 20                // bytes of a variable that tell how long all will take
)

// image is what is archived.
type image struct {
	r    io.ReaderAt
	size int64
}

// runs are the measurements of one chain with one block size.
type runs struct {
	chain              benchChain
	block              int64
	archive            int64         // size in bytes
	write, read, point []float64     // MB/s, MB/s and ms
	core               []float64     // MB/s, read by one core
	took               time.Duration // of all runs
}

// options returns the options that write the archive of a cell.
func (v *bencher) options(c benchChain, block int64) *archive.WriteOptions {
	o := &archive.WriteOptions{Name: "bench.nc", Block: block, Workers: v.run.Limits.Workers, Preset: c.preset, Zarr: archive.ZarrAlways}
	if c.preset == "" {
		o.Filters = []archive.VarFilter{{Vars: []string{"*"}, Chain: c.chain}}
	}
	return o
}

// row returns the medians of the runs.
func (c *runs) row(size int64) benchRow {
	row := benchRow{Chain: c.chain.name, Block: c.block, ArchiveSize: c.archive, Ratio: display.Ratio(size, c.archive)}
	row.Write, row.Read, row.Point = display.Round(median(c.write), 2), display.Round(median(c.read), 2), display.Round(median(c.point), 4)
	row.Core = display.Round(median(c.core), 2)
	row.noise = [...]float64{spread(c.write), spread(c.read), spread(c.point)}
	return row
}

// once writes and reads one archive.
func (v *bencher) once(ctx context.Context, in image, h *cdf3.Header, c *runs, writing, reading func(int64)) error {
	opts := v.options(c.chain, c.block)
	opts.Progress = writing
	stop.Catch()
	f, err := atomicfile.Temp()
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<18)
	start := time.Now()
	res, err := archive.Write(ctx, w, in.r, in.size, opts)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return err
	}
	wrote := time.Since(start)
	r, err := archive.New(ctx, f, res.Size, &archive.OpenOptions{Cache: -1})
	if err != nil {
		return err
	}
	again := time.Now()
	if err := r.Image().Copy(ctx, nil, &archive.CopyOptions{Workers: v.run.Limits.Workers, Progress: reading}); err != nil {
		return err
	}
	took := time.Since(again)
	alone := time.Now()
	if err := r.Image().Copy(ctx, nil, &archive.CopyOptions{Workers: 1}); err != nil {
		return err
	}
	tookAlone := time.Since(alone)
	point, err := points(ctx, r, h)
	if err != nil {
		return err
	}
	mb := float64(in.size) / 1e6
	c.archive = res.Size
	c.write, c.read, c.point = append(c.write, mb/wrote.Seconds()), append(c.read, mb/took.Seconds()), append(c.point, point)
	c.core = append(c.core, mb/tookAlone.Seconds())
	c.took += time.Since(start)
	return nil
}

// estimate returns how long the runs will take, as the start of the largest variable tells.
func (v *bencher) estimate(ctx context.Context, whole image, h *cdf3.Header, count int) (time.Duration, error) {
	in, h, err := firstValues(ctx, whole, h)
	if err != nil || in.size == 0 {
		return 0, err
	}
	seconds := 0.0 // for all chains and one block size
	for _, chain := range v.chains {
		c := runs{chain: chain, block: v.blocks[len(v.blocks)/2]}
		if err := v.once(ctx, in, h, &c, nil, nil); err != nil {
			return 0, err
		}
		seconds += float64(whole.size) / 1e6 * (1/c.write[0] + 1/c.read[0])
	}
	each := time.Duration(seconds*float64(time.Second)) + pointTime*time.Duration(len(v.chains))
	return each * time.Duration(len(v.blocks)*count), nil
}

// firstValues returns a file with the first values of the largest variable, of at most probe bytes. It
// is empty if there are no values.
func firstValues(ctx context.Context, in image, h *cdf3.Header) (image, *cdf3.Header, error) {
	var largest *cdf3.Var
	for i := range h.Vars {
		if v := &h.Vars[i]; largest == nil || v.Len > largest.Len {
			largest = v
		}
	}
	if largest == nil || largest.Len == 0 {
		return image{}, nil, nil
	}
	size := int64(largest.Type.Size())
	n := min(largest.RecLen, probe, max(in.size-largest.Begin, 0)) / size // values may lie beyond the end
	first := &cdf3.Header{
		Version: h.Version,
		Dims:    []cdf3.Dim{{Name: "n", Len: n}},
		Vars:    []cdf3.Var{{Name: "values", Type: largest.Type, DimIDs: []int{0}}},
	}
	if err := first.Layout(); err != nil {
		return image{}, nil, err
	}
	var b bytes.Buffer
	err := cdf3.WriteFile(ctx, &b, first, func(int) cdf3.Data {
		return cdf3.Data{Values: io.NewSectionReader(in.r, largest.Begin, n*size), Len: n * size}
	})
	return image{bytes.NewReader(b.Bytes()), int64(b.Len())}, first, err
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
	for begin := time.Now(); len(took) == 0 || len(took) < maxPoints && time.Since(begin) < pointTime; {
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

// spread returns the half of the range of measurements without the fastest and the slowest
// quarter, as a fraction of their median.
func spread(x []float64) float64 {
	m := median(x) // sorts x
	if m <= 0 {
		return 0
	}
	n := len(x)
	return (x[n-1-n/4] - x[n/4]) / 2 / m
}
