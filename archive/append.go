package archive

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
	"github.com/cdfz-format/cdfz/blockidx"
)

// Result describes a written archive.
type Result struct {
	Size   int64  // of the archive, in bytes
	Layout string // as in [Info]
	View   bool   // whether the archive is also a Zarr store
	Blocks int64
	Parity int64  // bytes of Size that parity takes
	Copied int64  // blocks whose stored bytes [Rewrite] copied
	SHA256 string // of the image, in hexadecimal digits
	Loss   *Loss  // values that were rounded; nil: none

	again bool // parts of the image were read again after they had been hashed
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

// write writes the archive of an image. sums are those of the image, or nil to compute them
// on the way.
func (d *draft) write(ctx context.Context, dst io.Writer, src io.ReaderAt, sums *image.Sums) (*Result, error) {
	return d.writeWith(dst, func(w *archiveWriter) (image.Sums, error) { return d.writeBlocks(ctx, w, src, sums) })
}

// writeWith writes the archive. body appends all blocks and returns the sums of the image.
func (d *draft) writeWith(dst io.Writer, body func(w *archiveWriter) (image.Sums, error)) (*Result, error) {
	table, err := blockidx.NewTable(d.l.Blocks)
	if err != nil {
		return nil, err
	}
	defer table.Close()
	w := &archiveWriter{w: dst, table: table, l: d.l}
	for i := range d.front {
		if err := w.meta(&d.front[i]); err != nil {
			return nil, err
		}
	}
	w.man.Front = plan.Front{Len: w.off, CRC32: plan.Hex32(w.crc)}
	entry := &d.front[0]
	w.man.Plan = plan.Place{Off: entry.End() - entry.Stored, Len: entry.Stored, CRC32: plan.Hex32(czip.CRC(entry.Payload))}
	sums, err := body(w)
	if err != nil {
		return nil, err
	}
	if err := d.writeCopies(w); err != nil {
		return nil, err
	}
	w.man.SetName(d.o.Name)
	w.man.Size = d.l.Image.Size
	w.man.SHA256, w.man.Tree = sums.SHA256, sums.Tree
	w.man.Loss = d.o.loss
	w.man.Blocks = d.l.Blocks
	w.man.Entries = int64(len(d.front)) + d.l.Blocks + int64(len(w.back)) + 2
	man := czip.NewMeta(czip.ManifestName, plan.EncodeJSON(w.man))
	if err := w.meta(&man); err != nil {
		return nil, err
	}
	t := plan.TailWriter{L: d.l, Front: entriesOf(d.front), Table: table, Back: w.back, Man: man.ZipEntry, ManCRC: czip.CRC(man.Payload)}
	n, err := t.WriteTo(dst)
	if err != nil {
		return nil, err
	}
	return &Result{Size: w.off + n, Layout: string(d.l.Layout()), View: d.l.Zarr.HasView(), Blocks: d.l.Blocks, SHA256: w.man.SHA256, Loss: lossOf(w.man.Loss), again: w.again}, nil
}

// writeCopies writes the second copies of the plan and of block 0 of the rest, if they
// cost little; see docs/FORMAT.md, "Second copies".
func (d *draft) writeCopies(w *archiveWriter) error {
	if w.head == nil {
		return nil
	}
	entry := &d.front[0]
	both := plan.CopyEntries(entry.ZipEntry, w.first, w.off)
	cost := both[1].End() - w.off
	for i := range both {
		cost += int64(len(both[i].AppendCentral(nil)))
	}
	if cost > w.man.Stored/plan.CopiesShare || d.structural()+w.man.Stored+cost > d.l.Image.Size {
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
// computed on the way unless they are given. If they are given, the image is in memory.
func (d *draft) writeBlocks(ctx context.Context, w *archiveWriter, src io.ReaderAt, known *image.Sums) (sums image.Sums, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := int64(0)
	c := &encode.Cutter{L: d.l, R: src, Read: func(n int64) {
		if done += n; d.o.Progress != nil {
			d.o.Progress(done)
		}
	}}
	var sweep *image.Sweep
	if known == nil {
		sweep = image.NewSweep(ctx, src, d.l)
		defer sweep.Close()
		c.R, c.Tail = sweep, sweep.Tail()
	}
	p := encode.StartPipeline(ctx, d.l, d.o.Workers, d.memo, w.block)
	c.Sink = p
	if err = c.Header(); err == nil {
		err = c.All()
	}
	if err := p.Finish(err); err != nil {
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

func entriesOf(m []czip.MetaEntry) []czip.ZipEntry {
	out := make([]czip.ZipEntry, len(m))
	for i := range m {
		out[i] = m[i].ZipEntry
	}
	return out
}
