package write

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/encode"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/image"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/blockidx"
)

// Result describes a written archive.
type Result struct {
	Size   int64 // in bytes
	SHA256 string
	Again  bool // parts of the image were read again after they had been hashed
}

// Options are what an archive has besides its plan, and how it is written.
type Options struct {
	Name     string     // of the image
	Loss     *plan.Loss // what rounding lost, or nil
	Workers  int
	Progress func(done int64) // called with the bytes of the image done so far; or nil
	Memo     *encode.Memo     // blocks encoded before, or nil
}

// archiveWriter appends entries and collects the data for the tail.
type archiveWriter struct {
	w     io.Writer
	off   int64
	crc   uint32 // of everything so far
	table *blockidx.Table
	l     *plan.Resolved
	man   plan.Manifest

	first czip.ZipEntry   // block 0 of the rest
	head  []byte          // its stored bytes, nil if they are too long for a second copy
	back  []czip.ZipEntry // between the last block and the manifest
	again bool            // as in Result
}

func (w *archiveWriter) write(b []byte) error {
	if err := fault.WriteFull(w.w, b); err != nil {
		return err
	}
	w.off += int64(len(b))
	return nil
}

func (w *archiveWriter) meta(e *czip.MetaEntry) error {
	e.Off = w.off
	b := append(e.AppendLocal(nil), e.Payload...)
	w.crc = crc32.Update(w.crc, crc32.IEEETable, b)
	return w.write(b)
}

// block appends an encoded block and sets its index row.
func (w *archiveWriter) block(j *encode.BlockJob) error {
	row := blockidx.Row{Off: w.off + j.Entry.LocalLen(), Len: j.Entry.Stored, Mask: j.Entry.Mask, CRC: j.Entry.Crc}
	n := w.l.Number(j.V, j.B)
	if err := w.table.Set(n, row); err != nil {
		return err
	}
	w.man.Stored += row.Len
	if n == w.l.RestFirst {
		w.man.Header = plan.PlaceOf(row)
		w.first = j.Entry
		// The archive with the copy is not longer than the image, so its blocks are not.
		if row.Len <= w.l.Image.Size/plan.CopiesShare {
			w.head = bytes.Clone(j.Bytes()[j.Entry.LocalLen():])
		}
	}
	return w.write(j.Bytes())
}

// Image writes the archive of an image. sums are those of the image, which is then in memory, or nil to compute
// them on the way.
func (d *Draft) Image(ctx context.Context, dst io.Writer, src io.ReaderAt, sums *image.Sums, o *Options) (*Result, error) {
	w, err := d.begin(dst, o)
	if err != nil {
		return nil, err
	}
	defer w.table.Close()
	known, err := d.writeBlocks(ctx, w, src, sums, o)
	if err != nil {
		return nil, err
	}
	return d.end(w, known)
}

// Again writes the archive of an image from another archive of it, from which blocks are copied where that is
// possible. It returns how many.
func (d *Draft) Again(ctx context.Context, dst io.Writer, from *read.Reader, o *Options) (res *Result, copied int64, err error) {
	w, err := d.begin(dst, o)
	if err != nil {
		return nil, 0, err
	}
	defer w.table.Close()
	if copied, err = d.rewriteBlocks(ctx, w, from, o); err != nil {
		return nil, 0, err
	}
	res, err = d.end(w, image.Sums{SHA256: from.Man.SHA256, Tree: from.Man.Tree})
	return res, copied, err
}

// begin writes all that comes before the blocks. The caller must close the table.
func (d *Draft) begin(dst io.Writer, o *Options) (*archiveWriter, error) {
	man := plan.Manifest{Loss: o.Loss}
	man.SetName(o.Name)
	// A name that is too long is found before anything is written, and all of the manifest in end.
	if _, err := man.Entry(); err != nil {
		return nil, err
	}
	table, err := blockidx.NewTable(d.Plan.Blocks)
	if err != nil {
		return nil, err
	}
	w := &archiveWriter{w: dst, table: table, l: d.Plan, man: man}
	for i := range d.Front {
		if err := w.meta(&d.Front[i]); err != nil {
			table.Close()
			return nil, err
		}
	}
	w.man.Front = plan.Front{Len: w.off, CRC32: plan.Hex32(w.crc)}
	entry := &d.Front[0]
	w.man.Plan = plan.Place{Off: entry.End() - entry.Stored, Len: entry.Stored, CRC32: plan.Hex32(czip.CRC(entry.Payload))}
	return w, nil
}

// end writes all that follows the blocks. sums are those of the image.
func (d *Draft) end(w *archiveWriter, sums image.Sums) (*Result, error) {
	l := d.Plan
	if err := d.writeCopies(w); err != nil {
		return nil, err
	}
	w.man.Size = l.Image.Size
	w.man.SHA256, w.man.Tree = sums.SHA256, sums.Tree
	w.man.Blocks = l.Blocks
	w.man.Entries = int64(len(d.Front)) + l.Blocks + int64(len(w.back)) + 2
	man, err := w.man.Entry()
	if err != nil {
		return nil, err
	}
	if err := w.meta(&man); err != nil {
		return nil, err
	}
	t := plan.TailWriter{L: l, Front: entriesOf(d.Front), Table: w.table, Back: w.back, Man: man.ZipEntry, ManCRC: czip.CRC(man.Payload)}
	n, err := t.WriteTo(w.w)
	if err != nil {
		return nil, err
	}
	return &Result{Size: w.off + n, SHA256: w.man.SHA256, Again: w.again}, nil
}

// writeCopies writes the second copies of the plan and of block 0 of the rest, if they
// cost little; see docs/FORMAT.md, "Second copies".
func (d *Draft) writeCopies(w *archiveWriter) error {
	if w.head == nil {
		return nil
	}
	entry := &d.Front[0]
	both := plan.CopyEntries(entry.ZipEntry, w.first, w.off)
	cost := both[1].End() - w.off
	for i := range both {
		cost += int64(len(both[i].AppendCentral(nil)))
	}
	if cost > w.man.Stored/plan.CopiesShare || d.Structural()+w.man.Stored+cost > d.Plan.Image.Size {
		return nil
	}
	for i, payload := range [][]byte{entry.Payload, w.head} {
		if err := w.write(append(both[i].AppendLocal(nil), payload...)); err != nil {
			return err
		}
	}
	w.back, w.man.Copies = both, plan.CopiesOf(both)
	return nil
}

// writeBlocks cuts, encodes and appends all blocks. It returns the sums of the image,
// computed on the way unless they are given.
func (d *Draft) writeBlocks(ctx context.Context, w *archiveWriter, src io.ReaderAt, known *image.Sums, o *Options) (sums image.Sums, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &encode.Cutter{L: d.Plan, R: src, Read: o.counter()}
	var sweep *image.Sweep
	if known == nil {
		sweep = image.NewSweep(ctx, src, d.Plan)
		defer sweep.Close()
		c.R, c.Tail = sweep, sweep.Tail()
	}
	cut := func(sink encode.Sink) error {
		c.Sink = sink
		if err := c.Header(); err != nil {
			return err
		}
		return c.All()
	}
	if err := encode.Run(ctx, d.Plan, o.Workers, o.Memo, cut, w.block); err != nil {
		return sums, fmt.Errorf("archive: %w", err)
	}
	if known != nil {
		return *known, nil
	}
	if sums, err = sweep.Sums(); err != nil {
		return sums, fmt.Errorf("archive: %w", err)
	}
	w.again = sweep.Again
	return sums, nil
}

// rewriteBlocks appends all blocks, copied or encoded, and returns how many are copied.
func (d *Draft) rewriteBlocks(ctx context.Context, w *archiveWriter, from *read.Reader, o *Options) (copied int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &encode.Rewriter{L: d.Plan, From: from, Read: o.counter()}
	cut := func(sink encode.Sink) error {
		r.Sink = sink
		return r.All(ctx)
	}
	if err := encode.Run(ctx, d.Plan, o.Workers, nil, cut, w.block); err != nil {
		return 0, fmt.Errorf("archive: %w", err)
	}
	return r.Copied, nil
}

// counter returns a function that is called with the number of further bytes that are done.
func (o *Options) counter() func(n int64) {
	done := int64(0)
	return func(n int64) {
		if done += n; o.Progress != nil {
			o.Progress(done)
		}
	}
}

func entriesOf(m []czip.MetaEntry) []czip.ZipEntry {
	out := make([]czip.ZipEntry, len(m))
	for i := range m {
		out[i] = m[i].ZipEntry
	}
	return out
}
