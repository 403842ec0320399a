package verify

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/evidence"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/image"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Image is the image of an archive, as Walk and repair.Identify know it.
type Image struct {
	Name         string // base name
	Size         int64  // bytes
	SHA256       string // with Walk that of its bytes
	SourceSHA256 string // of the file that was rounded to the image, or ""
	// End is the byte of the file at which the archive ends, with repair.Identify only: other bytes may follow it. If the end
	// is lost, it is where another archive begins, or the length of the file.
	End int64
}

// Walk restores the image of an archive along a path that does not need the index: it
// follows the local headers from the first byte on. Only the SHA-256 of the image is kept.
// It is an independent proof that the archive holds the image. Verify checks more.
//
// Damage is ErrCorrupt. Errors of reads are wrapped.
func Walk(ctx context.Context, file io.ReaderAt, size int64, o *Options) (*Image, error) {
	if o == nil {
		o = &Options{}
	}
	r := ioat.Bind(ctx, file)
	w := evidence.NewWalker(r, size)
	l, front, err := w.Front(ctx)
	if err != nil {
		return nil, err
	}
	a, err := read.NewReader(ctx, r, size, &read.Options{Cache: -1, Workers: o.Workers})
	if err != nil {
		return nil, err
	}
	if p, at := &front[0], a.Man.Plan; at.Off != p.End()-p.Stored || at.Len != p.Stored || a.L.Blocks != l.Blocks {
		return nil, fault.Corruptf("manifest: it belongs to another plan than the one found by the local headers")
	}
	index, n, done, err := indexByHeaders(ctx, &w, l, front[len(front)-1].End())
	if err != nil {
		return nil, err
	}
	defer done()
	if a.Index, err = blockidx.NewReader(index, n, blockidx.Header(l.Blocks), 0); err != nil {
		return nil, opening.Corrupt(err)
	}
	a.CheckPadding = true
	if err := image.Copy(ctx, a, nil, &image.CopyOptions{Workers: o.Workers, Memory: o.Memory, Progress: o.Progress, SHA256: true}); err != nil {
		return nil, err
	}
	_, source := a.Man.Loss.Rounded()
	return &Image{Name: a.Man.ImageName(), Size: a.L.Image.Size, SHA256: a.Man.SHA256, SourceSHA256: source}, nil
}

// walkedMemory is the longest index that is kept in memory, in bytes.
const walkedMemory = 1 << 20

// indexByHeaders makes the index of all blocks from their local headers. The first is at
// archive offset off. It has n bytes. The caller must call done.
func indexByHeaders(ctx context.Context, w *evidence.Walker, l *plan.Resolved, off int64) (index *ioat.Source, n int64, done func(), err error) {
	table, err := blockidx.NewTable(l.Blocks)
	if err != nil {
		return nil, 0, nil, err
	}
	defer table.Close()
	var name []byte
	one := func(i int, b int64) bool {
		if err = ctx.Err(); err != nil {
			return false
		}
		name = l.AppendName(name[:0], i, b)
		var e czip.ZipEntry
		if e, err = w.Expect(off, string(name)); err != nil {
			err = plan.NewBlockError(l, nil, i, b, off, err)
			return false
		}
		off = e.End()
		err = table.Set(l.Number(i, b), blockidx.Row{Off: e.End() - e.Stored, Len: e.Stored, Mask: e.Mask, CRC: e.Crc})
		return err == nil
	}
	if one(-1, 0) {
		l.StoredOrder(one)
	}
	for b := int64(1); err == nil && b < l.RestBlocks; b++ {
		one(-1, b)
	}
	if err != nil {
		return nil, 0, nil, err
	}
	n, err = blockidx.Size(l.Blocks)
	if err != nil {
		return nil, 0, nil, err
	}
	if n <= walkedMemory {
		var b bytes.Buffer
		_, err := table.WriteTo(&b)
		return ioat.Of(bytes.NewReader(b.Bytes())), n, func() {}, err
	}
	f, err := os.CreateTemp("", "cdfz-index-*")
	if err != nil {
		return nil, 0, nil, fmt.Errorf("archive: temporary file: %w", err)
	}
	os.Remove(f.Name()) // it disappears however the program ends
	done = func() {
		f.Close()
		os.Remove(f.Name()) // where open files cannot be removed
	}
	if _, err := table.WriteTo(f); err != nil {
		done()
		return nil, 0, nil, fmt.Errorf("archive: temporary file: %w", err)
	}
	return ioat.Of(f), n, done, nil
}
