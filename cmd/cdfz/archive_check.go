package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
)

// passes is how many times the bytes of a file pass by: written and read back.
func (v *archiver) passes() int {
	if v.noCheck || v.Dest == cli.StdoutName {
		return 1
	}
	return 2
}

// write archives an input.
func (v *archiver) write(ctx context.Context, dst io.Writer, in *cli.Input, opts archive.WriteOptions) (*archiveReport, error) {
	opts.Progress = v.Step(in.Name, in.Size, 0, v.passes())
	start := time.Now()
	w := bufio.NewWriterSize(dst, 1<<18)
	res, err := archive.Write(ctx, w, in.R, in.Size, &opts)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return nil, err
	}
	return &archiveReport{
		Size: in.Size, ArchiveSize: res.Size, Ratio: cli.Ratio(in.Size, res.Size),
		Layout: string(res.Layout), Blocks: res.Blocks, SHA256: res.SHA256,
		WriteSeconds: cli.Round(time.Since(start).Seconds(), 6),
	}, nil
}

// compareBelow is the size of images that are compared with the source byte for byte.
// archive.Write reads those once, so their SHA-256 does not show whether that went
// well. Larger ones are read once more to be hashed.
const compareBelow = 8 << 20

// check reads the archive back and compares the image with the source, or its SHA-256.
// If they differ it finds out where.
func (v *archiver) check(ctx context.Context, t io.ReaderAt, n int64, in *cli.Input) error {
	f, err := archive.New(cli.CtxReaderAt(ctx, t), n, nil)
	if err != nil {
		return notReadBack(ctx, err)
	}
	copyTo := func(w io.Writer) error {
		o := &archive.CopyOptions{Workers: v.Workers, Memory: v.opts.Memory, Progress: v.Step(in.Name, in.Size, 1, 2)}
		return f.Image().Copy(ctx, w, o)
	}
	c := &comparer{r: in.R}
	if in.Size < compareBelow {
		err = copyTo(c)
	} else if err = copyTo(nil); errors.Is(err, archive.ErrCorrupt) {
		if again := copyTo(c); ctx.Err() != nil {
			err = again
		}
	}
	switch {
	case c.differs && ctx.Err() == nil:
		return fmt.Errorf("the archive differs from the source, first at byte %d (%s)", c.off, placeOf(f.Header(), c.off))
	case errors.Is(err, archive.ErrCorrupt) && c.off == in.Size:
		// The bytes in the archive are the source's, those that were hashed were not.
		return fmt.Errorf("%w, or it reads differently each time", archive.ErrChanged)
	}
	return notReadBack(ctx, err)
}

// notReadBack takes an error out of our class of damage: there is no archive that
// could be repaired.
func notReadBack(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || !errors.Is(err, archive.ErrCorrupt) {
		return err
	}
	return errors.New("the archive does not read back as it was written: " + cli.PlainText(err, ""))
}

var errDiffers = errors.New("differs")

// comparer compares what is written to it with a source.
type comparer struct {
	r       io.ReaderAt
	off     int64 // of what comes next, or of the first byte that differs
	differs bool
	buf     []byte
}

func (c *comparer) Write(p []byte) (int, error) {
	if cap(c.buf) < len(p) {
		c.buf = make([]byte, len(p))
	}
	b := c.buf[:len(p)]
	n, err := c.r.ReadAt(b, c.off)
	if n < len(p) && err != nil && err != io.EOF {
		return 0, err
	}
	for i := range p {
		if i >= n || p[i] != b[i] {
			c.off += int64(i)
			c.differs = true
			return i, errDiffers
		}
	}
	c.off += int64(len(p))
	return len(p), nil
}

// placeOf names what lies at a byte of an image.
func placeOf(h *cdf3.Header, off int64) string {
	if off < h.Len {
		return "the header"
	}
	for i := range h.Vars {
		v := &h.Vars[i]
		at := off - v.Begin
		if at < 0 {
			continue
		}
		rec := int64(0)
		if v.Record && h.RecSize > 0 {
			rec, at = at/h.RecSize, at%h.RecSize
		}
		if at < v.RecLen && (!v.Record || rec < h.NumRecs) {
			return "variable " + cli.Quoted(v.Name)
		}
	}
	return "padding"
}
