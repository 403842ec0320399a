package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/blocks"
	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/format"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// slack is how many bytes an archive may have more than its image.
const slack = 4096

// Result describes what was written.
type Result struct {
	Size   int64 // of the archive, in bytes
	Layout Layout
	Blocks int64
	SHA256 string // of the image, in hexadecimal digits
}

// Write archives the first size bytes of image to dst, which it only appends to.
// image must not change meanwhile. Write cannot detect such changes. Comparing the
// archive with the image does.
//
// The image is read once, about from the first byte to the last. Little is read again:
// the header, some blocks if it is open whether a Zarr view pays, and each record for
// every further group of variables if the blocks of all record variables exceed
// WriteOptions.Memory.
//
// If the image is not a classic netCDF file, the error wraps cdf3.ErrNotCDF or a
// *cdf3.FormatError, and nothing is written. After any other error dst holds a
// useless part of an archive. Errors of reads and writes are wrapped.
func Write(ctx context.Context, dst io.Writer, image io.ReaderAt, size int64, opts *WriteOptions) (*Result, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	h, err := cdf3.Read(image, size)
	if err != nil {
		return nil, err
	}
	if err := o.checkFilters(h); err != nil {
		return nil, err
	}
	if size < format.SmallImage {
		return writeSmall(ctx, dst, image, size, h, &o)
	}
	d, err := chooseDraft(ctx, image, size, h, &o)
	if err != nil {
		return nil, err
	}
	return d.write(ctx, dst, image, nil)
}

// writeSmall makes the archive in memory. While it is larger than the format
// promises, it makes it again in a smaller layout.
func writeSmall(ctx context.Context, dst io.Writer, image io.ReaderAt, size int64, h *cdf3.Header, o *WriteOptions) (*Result, error) {
	data := make([]byte, size)
	if err := ioat.ReadFull(image, data, 0); err != nil {
		return nil, fmt.Errorf("archive: reading the image: %w", err)
	}
	sum := sha256.Sum256(data)
	image = bytes.NewReader(data)
	d, err := chooseDraft(ctx, image, size, h, o)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	for {
		buf.Reset()
		res, err := d.write(ctx, &buf, image, sum[:])
		if err != nil {
			return nil, err
		}
		if res.Size <= size+slack || o.Zarr.forced() || d.l.Layout == format.Single {
			if err := fault.WriteFull(dst, buf.Bytes()); err != nil {
				return nil, err
			}
			return res, nil
		}
		next := format.Single
		switch d.l.Layout {
		case format.Viewed:
			next = format.Consolidated
		case format.Consolidated:
			next = format.Pooled
		}
		if d, err = newDraft(h, size, o, next); err != nil {
			return nil, err
		}
	}
}

// draft is an archive that is planned and not yet written.
type draft struct {
	o     *WriteOptions
	l     *format.Resolved
	front []format.MetaEntry // README, plan, Zarr metadata
}

// newDraft plans an archive and makes its metadata. errMetadata means that the layout
// needs more metadata than the format allows.
func newDraft(h *cdf3.Header, size int64, o *WriteOptions, lay format.Layout) (*draft, error) {
	rest, err := o.Preset.rest()
	if err != nil {
		return nil, err
	}
	l, _, err := format.NewPlan(h, size, &format.PlanOptions{Block: o.Block, Memory: o.Memory, Rest: rest, Chain: o.chainFor}, lay)
	if err != nil {
		return nil, err
	}
	files := []format.MetaFile{{Name: czip.PlanName, Data: l.Encode()}}
	if lay.HasView() {
		zarr, _ := format.ZarrMeta(h, l.Plan)
		files = append(files, zarr...)
	}
	d := &draft{o: o, l: l, front: []format.MetaEntry{format.NewStoredMeta(czip.ReadmeName, []byte(format.Readme))}}
	for _, f := range files {
		d.front = append(d.front, format.NewMeta(f.Name, f.Data))
	}
	if plan := &d.front[1]; plan.Stored > format.MaxPlan {
		return nil, fmt.Errorf("archive: %s has %d bytes, at most %d are possible: %w", czip.PlanName, plan.Stored, format.MaxPlan, format.ErrMetadata)
	}
	// The archive has at least the structural bytes, and they do not count the header's.
	limit := format.MetaLimit(d.structural(), 0)
	for _, f := range files {
		if int64(len(f.Data)) > limit {
			return nil, fmt.Errorf("archive: %s has %d bytes, at most %d are possible: %w", f.Name, len(f.Data), limit, format.ErrMetadata)
		}
	}
	return d, nil
}

// chooseDraft decides the layout, docs/FORMAT.md, "Thresholds of the layouts".
func chooseDraft(ctx context.Context, image io.ReaderAt, size int64, h *cdf3.Header, o *WriteOptions) (*draft, error) {
	for _, lay := range o.Zarr.layouts() {
		d, err := newDraft(h, size, o, lay)
		if err != nil && (o.Zarr.forced() || !errors.Is(err, format.ErrMetadata)) {
			return nil, err
		}
		if err == nil {
			ok, err := d.viewWorth(ctx, image)
			if err != nil {
				return nil, err
			}
			if ok {
				return d, nil
			}
		}
	}
	d, err := newDraft(h, size, o, format.Pooled)
	if errors.Is(err, format.ErrMetadata) {
		return newDraft(h, size, o, format.Single)
	}
	return d, err
}

// The numbers of "Thresholds of the layouts".
const (
	viewBase          = 2048
	viewShare         = 128
	consolidatedShare = 32
	boundPerBlock     = 144
	manifestGuess     = 512
)

// structural is the length of the archive without the stored bytes of blocks.
func (d *draft) structural() int64 {
	l := d.l
	perBlock := int64(czip.LocalFixed + czip.CentralFixed)
	n, err := blockidx.Size(l.Blocks)
	if err != nil {
		panic("archive: internal error: " + err.Error())
	}
	n += czip.EndLen + 2*(czip.LocalFixed+czip.CentralFixed) + 2*int64(len(czip.ManifestName)+len(czip.IndexName)) + manifestGuess
	for i := range d.front {
		n += d.front[i].Cost()
	}
	n += l.Blocks * perBlock
	for i, g := range l.Geoms {
		keys, _ := g.KeysLen()
		n += 2 * (keys + g.Blocks*int64(len(l.Vars[i].Path)+1))
	}
	return n + 2*(l.RestBlocks*int64(len(czip.RestPrefix))+format.DigitsBelow(l.RestBlocks))
}

// layouts lists the layouts with a Zarr view that a mode allows, the first choice first.
func (m ZarrMode) layouts() []format.Layout {
	switch m {
	case ZarrAuto:
		return []format.Layout{format.Viewed, format.Consolidated}
	case ZarrAlways:
		return []format.Layout{format.Viewed}
	case ZarrConsolidated:
		return []format.Layout{format.Consolidated}
	}
	return nil
}

// forced reports whether the archive has a view whatever it costs.
func (m ZarrMode) forced() bool { return m == ZarrAlways || m == ZarrConsolidated }

// viewWorth reports whether an archive with a view keeps the bounds on size, or need not.
func (d *draft) viewWorth(ctx context.Context, image io.ReaderAt) (bool, error) {
	if d.o.Zarr.forced() {
		return true, nil
	}
	n, size := d.structural(), d.l.Image.Size
	share := int64(viewShare)
	if d.l.Layout == format.Consolidated {
		share = consolidatedShare
	}
	if n > viewBase+size/share {
		return false, nil
	}
	if size < format.SmallImage {
		return true, nil
	}
	missing := n - slack - boundPerBlock*d.l.Blocks
	if missing <= 0 {
		return true, nil
	}
	return d.saves(image, missing)
}

// errEnough stops a cutter that has been asked for some blocks only.
var errEnough = errors.New("enough blocks")

// probeWindow is how many bytes of the record section a probe reads at once. Most probes
// need few blocks.
const probeWindow = 256 << 10

// saves reports whether encoding saves at least that many bytes. It stops as soon as
// it knows.
func (d *draft) saves(image io.ReaderAt, missing int64) (bool, error) {
	probe := &probe{e: blocks.NewEncoder(d.l), missing: missing}
	c := &blocks.Cutter{L: d.l, R: image, Sink: probe, Window: probeWindow, Read: func(int64) {}}
	err := c.All()
	if errors.Is(err, errEnough) {
		return true, nil
	}
	return false, err
}

// probe is a sink that encodes blocks to see what that saves.
type probe struct {
	e       *blocks.Encoder
	missing int64
	out     []byte
}

func (p *probe) Buffer(n int64) []byte { return make([]byte, n) }

func (p *probe) Submit(j *blocks.BlockJob) error {
	j.Out = p.out
	p.e.Encode(j)
	if j.Err != nil {
		return j.Err
	}
	p.out = j.Out
	_, n := 0, int64(len(j.Raw))
	if j.V >= 0 {
		_, n = p.e.L.Geoms[j.V].At(j.B)
	}
	if p.missing -= n - j.Entry.Stored; p.missing <= 0 {
		return errEnough
	}
	return nil
}

// archiveWriter appends entries and remembers what the tail needs.
type archiveWriter struct {
	w     io.Writer
	off   int64
	crc   uint32 // of everything so far
	table *blockidx.Table
	l     *format.Resolved
	man   format.Manifest
}

func (w *archiveWriter) write(b []byte) error {
	if err := fault.WriteFull(w.w, b); err != nil {
		return err
	}
	w.off += int64(len(b))
	return nil
}

func (w *archiveWriter) meta(e *format.MetaEntry) error {
	e.Off = w.off
	b := append(e.AppendLocal(nil), e.Payload...)
	w.crc = crc32.Update(w.crc, crc32.IEEETable, b)
	return w.write(b)
}

// block appends an encoded block and enters it in the index.
func (w *archiveWriter) block(j *blocks.BlockJob) error {
	row := blockidx.Row{Off: w.off + j.Entry.LocalLen(), Len: j.Entry.Stored, Mask: j.Entry.Mask, CRC: j.Entry.Crc}
	n := w.l.Number(j.V, j.B)
	if err := w.table.Set(n, row); err != nil {
		return err
	}
	w.man.Stored += row.Len
	if n == w.l.RestFirst {
		w.man.Header = format.PlaceOf(row)
	}
	return w.write(j.Bytes())
}

// write writes the archive. sum is the SHA-256 of the image, or nil if it is to
// be computed on the way.
func (d *draft) write(ctx context.Context, dst io.Writer, image io.ReaderAt, sum []byte) (*Result, error) {
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
	w.man.Front = format.Front{Len: w.off, CRC32: format.Hex32(w.crc)}
	plan := &d.front[1]
	w.man.Plan = format.Place{Off: plan.End() - plan.Stored, Len: plan.Stored, CRC32: format.Hex32(czip.CRC(plan.Payload))}
	if sum, err = d.writeBlocks(ctx, w, image, sum); err != nil {
		return nil, err
	}
	w.man.SetName(d.o.Name)
	w.man.Size = d.l.Image.Size
	w.man.SHA256 = hex.EncodeToString(sum)
	w.man.Blocks = d.l.Blocks
	w.man.Entries = int64(len(d.front)) + d.l.Blocks + 2
	man := format.NewMeta(czip.ManifestName, format.EncodeJSON(w.man))
	if err := w.meta(&man); err != nil {
		return nil, err
	}
	t := blocks.TailWriter{L: d.l, Front: entriesOf(d.front), Table: table, Man: man.ZipEntry, ManCRC: czip.CRC(man.Payload)}
	n, err := t.WriteTo(dst)
	if err != nil {
		return nil, err
	}
	return &Result{Size: w.off + n, Layout: Layout(d.l.Layout), Blocks: d.l.Blocks, SHA256: w.man.SHA256}, nil
}

// writeBlocks cuts, encodes and appends all blocks. It returns the SHA-256 of the
// image, computed on the way unless it is given. Then the image is in memory.
func (d *draft) writeBlocks(ctx context.Context, w *archiveWriter, image io.ReaderAt, sum []byte) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := int64(0)
	c := &blocks.Cutter{L: d.l, R: image, Read: func(n int64) {
		if done += n; d.o.Progress != nil {
			d.o.Progress(done)
		}
	}}
	var sweep *blocks.Sweep
	if sum == nil {
		sweep = blocks.NewSweep(ctx, image, d.l)
		defer sweep.Close()
		c.R, c.Rest = sweep, sweep.Rest()
	}
	p := blocks.StartPipeline(ctx, d.l, d.o.Workers, w.block)
	c.Sink = p
	err := c.Header()
	if err == nil {
		err = c.All()
	}
	if err := p.Finish(err); err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	if sweep != nil {
		if sum, err = sweep.Sum(); err != nil {
			return nil, fmt.Errorf("archive: %w", err)
		}
	}
	return sum, nil
}

func entriesOf(m []format.MetaEntry) []czip.ZipEntry {
	out := make([]czip.ZipEntry, len(m))
	for i := range m {
		out[i] = m[i].ZipEntry
	}
	return out
}
