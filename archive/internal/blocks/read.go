// Package blocks reads and writes the blocks of archives. It opens an archive, decodes
// blocks through a cache on several goroutines, reads ahead in remote archives,
// assembles the image, cuts an image into blocks and encodes them. Of its neighbours it
// imports format, czip and fault.
package blocks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

const (
	// TailProbe is the length of the first read of an archive: the end, which in small
	// archives includes manifest and index.
	TailProbe = 4096
	// maxFrontGap is the amount of Zarr metadata that may be read and discarded to save
	// a read.
	maxFrontGap = 1 << 20
	// MaxWorkers is more than any machine needs.
	MaxWorkers = 1024
)

// ReadOptions control NewReader. Nil and the zero value mean the defaults.
type ReadOptions struct {
	Name    string      // of the file in errors
	Cache   int64       // bytes of decoded blocks kept; 0: DefaultCache, negative: none
	Shared  *BlockCache // nil: a separate cache
	Index   int64       // bytes of index pages kept; 0: 4 MiB
	Workers int         // blocks decoded at the same time; 0: GOMAXPROCS
	Most    int64       // bytes that decoding a block may need; 0: any number
	// Plan and Header, if not nil, are those of the archive, which are then not read.
	Plan   *plan.Resolved
	Header *cdf3.Header
	// Tail and Man, if Man is not nil, are those of the archive as well.
	Tail czip.Tail
	Man  *plan.Manifest
	// First, if not nil, is block 0 of the rest, decoded.
	First []byte
}

// Reader reads an archive. It is safe for concurrent use if its io.ReaderAt is. Its
// memory depends on the netCDF header, the size of a block and the options, not on the
// size of the archive.
type Reader struct {
	r      io.ReaderAt
	Size   int64
	Tail   czip.Tail
	Man    *plan.Manifest
	L      *plan.Resolved
	Header *cdf3.Header
	Index  *blockidx.Reader
	engine
	name  string // of the file in errors, or ""
	first []byte // block 0 of the rest, or nil

	imageEnd atomic.Int64 // where the last read of the image ended
}

// NewReader opens an archive of size bytes; see archive.New.
func NewReader(ctx context.Context, r io.ReaderAt, size int64, opts *ReadOptions) (*Reader, error) {
	if opts == nil {
		opts = &ReadOptions{}
	}
	if opts.Workers < 0 || opts.Workers > MaxWorkers {
		return nil, fault.Optionsf("expected 1 to %d workers, found %d", MaxWorkers, opts.Workers)
	}
	a := &Reader{r: r, Size: size, name: opts.Name, first: opts.First}
	a.engine.init(r, opts.Workers)
	a.flights.Free = a.free
	if err := a.open(ctx, opts); err != nil {
		return nil, err
	}
	a.grains, a.costs = make([]atomic.Int64, len(a.L.Geoms)), make([]atomic.Int64, len(a.L.Geoms))
	return a, a.openCache(opts)
}

// ProbeArchive reports whether a file has the head or the tail of an archive, of this
// format or a later one.
func ProbeArchive(r io.ReaderAt, size int64) (head, end bool, err error) {
	if size >= int64(czip.HeadLen) {
		b := make([]byte, czip.HeadLen)
		if err := ioat.ReadFull(r, b, 0); err != nil {
			return false, false, err
		}
		head = string(b[:4]) == czip.HeadMagic && string(b[czip.LocalFixed:]) == czip.ReadmeName
	}
	if size >= czip.EndLen {
		b := make([]byte, czip.TailLen)
		if err := ioat.ReadFull(r, b, size-czip.TailLen); err != nil {
			return false, false, err
		}
		end = strings.HasPrefix(string(b), czip.TailMagic) || czip.LaterFormat(string(b)) != ""
	}
	return head, end, nil
}

// Section is a part of the archive that was already read.
type Section struct {
	b   []byte
	off int64
}

// Get returns [off, off+n), from the section or by reading.
func (s Section) Get(r io.ReaderAt, off, n int64) ([]byte, error) {
	if off >= s.off && n <= s.off+int64(len(s.b))-off {
		return s.b[off-s.off:][:n], nil
	}
	b, err := ioat.ReadBytes(r, off, n)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return b, nil
}

// open reads the ends of the archive. If a remote archive seems damaged, they are read
// again, because bytes may have been garbled in transit.
func (a *Reader) open(ctx context.Context, opts *ReadOptions) error {
	err := a.openEnds(ctx, ioat.Bind(ctx, a.r), opts)
	if errors.Is(err, fault.ErrCorrupt) && a.far != nil {
		if again := a.openEnds(ctx, ioat.Again(ioat.Bind(ctx, a.r)), opts); !errors.Is(again, fault.ErrNotArchive) {
			err = again
		}
	}
	return err
}

// openEnds reads the ends of the archive through r.
func (a *Reader) openEnds(ctx context.Context, r io.ReaderAt, opts *ReadOptions) error {
	if opts.Man != nil {
		a.Tail, a.Man, a.L, a.Header = opts.Tail, opts.Man, opts.Plan, opts.Header
		idx := a.Tail.Index()
		head, err := (Section{}).Get(r, idx.End()-idx.Stored, blockidx.HeaderLen)
		if err != nil {
			return err
		}
		return a.openIndex(head, opts)
	}
	end := Section{off: max(0, a.Size-TailProbe)}
	var err error
	if end.b, err = (Section{}).Get(r, end.off, a.Size-end.off); err != nil {
		return err
	}
	if a.Tail, err = czip.ParseTail(end.b, a.Size); err != nil {
		head, end, perr := ProbeArchive(r, a.Size)
		ours := head || end
		switch {
		case perr != nil:
			return fmt.Errorf("archive: %w", perr)
		case !ours:
			return fmt.Errorf("archive: %w", fault.ErrNotArchive)
		}
		return err
	}
	idx := a.Tail.Index()
	if a.Tail.IdxLen < blockidx.HeaderLen {
		return fault.Corruptf("impossible length of the index: %d bytes", a.Tail.IdxLen)
	}
	near, err := end.Get(r, a.Tail.ManOff, idx.End()-a.Tail.IdxLen+blockidx.HeaderLen-a.Tail.ManOff)
	if err != nil {
		return err
	}
	if err := a.openManifest(ctx, near); err != nil {
		return err
	}
	if err := a.openIndex(near[len(near)-blockidx.HeaderLen:], opts); err != nil {
		return err
	}
	if opts.Plan != nil {
		a.L, a.Header = opts.Plan, opts.Header
		return nil
	}
	return a.openFront(ctx, r, end)
}

// openIndex opens the index, which begins with head.
func (a *Reader) openIndex(head []byte, opts *ReadOptions) (err error) {
	idx := a.Tail.Index()
	data := ioat.NewSection(a.r, idx.End()-idx.Stored, idx.Stored)
	if a.Index, err = blockidx.NewReader(data, idx.Stored, head, opts.Index); err != nil {
		return Corrupt(err)
	}
	return nil
}

// openManifest parses the manifest whose entry is at the start of b. The end line has
// its place, so the local header is not needed.
func (a *Reader) openManifest(ctx context.Context, b []byte) error {
	e := czip.ZipEntry{Name: czip.ManifestName}
	payload := b[e.LocalLen():][:a.Tail.ManLen]
	if got := czip.CRC(payload); got != a.Tail.ManCRC {
		return fault.Corruptf("manifest at byte %d: expected checksum %08x, found %08x", a.Tail.ManOff, a.Tail.ManCRC, got)
	}
	data, err := czip.InflateTo(ctx, czip.ManifestName, payload, czip.MaxManifest)
	if err != nil {
		return err
	}
	a.Man, err = plan.ParseManifest(data, a.Tail)
	return err
}

// openFront reads the plan and the netCDF header, with one read if little lies
// between them.
func (a *Reader) openFront(ctx context.Context, r io.ReaderAt, have Section) error {
	m := a.Man
	between := have
	if gap := m.Header.Off - m.Plan.Off - m.Plan.Len; gap <= maxFrontGap {
		from := Section{off: m.Plan.Off}
		var err error
		if from.b, err = have.Get(r, m.Plan.Off, m.Header.Off+m.Header.Len-m.Plan.Off); err != nil {
			return err
		}
		between = from
	}
	stored, err := between.Get(r, m.Plan.Off, m.Plan.Len)
	if err != nil {
		return err
	}
	rest, err := between.Get(r, m.Header.Off, m.Header.Len)
	if err != nil {
		return err
	}
	if stored, _, err = Sound(r, stored, m.Plan, m.Copies.Plan); err != nil {
		return err
	}
	rest, copied, err := Sound(r, rest, m.Header, m.Copies.Header)
	if err != nil {
		return err
	}
	h, err := ParseFront(ctx, stored, rest, m, a.Size)
	if err != nil {
		return err
	}
	a.L, a.Header = h.L, h.Header
	if a.L.Blocks != m.Blocks || a.Index.Rows() != m.Blocks || a.L.Image.Size != m.Size {
		return fault.Corruptf("the plan has %d blocks for an image of %d bytes, the manifest %d for %d, and the index %d",
			a.L.Blocks, a.L.Image.Size, m.Blocks, m.Size, a.Index.Rows())
	}
	if copied {
		a.Index.Replace(a.L.RestFirst, blockidx.Row{Off: m.Copies.Header, Len: m.Header.Len, Mask: m.Header.Mask, CRC: czip.CRC(rest)})
	}
	return nil
}

// Sound returns the stored bytes of a place, which were read, or those of its second copy
// at byte off if only these have the checksum. Off is 0 if there is no copy.
func Sound(r io.ReaderAt, have []byte, at plan.Place, off int64) (b []byte, copied bool, err error) {
	if off == 0 || at.Check("", have) == nil {
		return have, false, nil
	}
	b, err = Section{}.Get(r, off, at.Len)
	if err != nil || at.Check("", b) != nil {
		return have, false, err
	}
	return b, true, nil
}

// head holds the content of the front of an archive.
type head struct {
	L      *plan.Resolved
	Header *cdf3.Header
}

// ParseFront parses the stored bytes of the plan and of block 0 of the rest, in an
// archive of size bytes.
func ParseFront(ctx context.Context, stored, rest []byte, m *plan.Manifest, size int64) (*head, error) {
	if err := m.Plan.Check(czip.PlanName, stored); err != nil {
		return nil, err
	}
	early := beginHeader(ctx, stored, rest, m)
	scratch := fronts.Get().(*[]byte)
	defer fronts.Put(scratch)
	l, err := parsePlan(ctx, scratch, stored, m, size)
	if err != nil {
		early.stop()
		return nil, err
	}
	header, err := early.end(l)
	if early == nil {
		header, err = decodeHeader(ctx, scratch, l.Head(), l.RestFirst, m.Header, rest)
	}
	if err == nil {
		err = l.SetHeader(ctx, header)
	}
	return &head{l, header}, err
}

// parsePlan parses the stored bytes of a plan. scratch is memory for its text, and then may be
// that text, which the plan does not share.
func parsePlan(ctx context.Context, scratch *[]byte, stored []byte, m *plan.Manifest, size int64) (*plan.Resolved, error) {
	text, err := czip.InflateInto(ctx, *scratch, czip.PlanName, stored, min(czip.MetaSmall+czip.MaxInflate*m.Plan.Len, czip.MetaLimit(size, m.Header.Len)))
	if err != nil {
		return nil, err
	}
	l, err := plan.ParsePlan(ctx, text)
	if err == nil && cap(text) <= maxFront {
		*scratch = text
	}
	return l, err
}

// earlyHeader is a netCDF header that another processor decodes while the plan is parsed. Nil is
// one that was not begun.
type earlyHeader struct {
	cancel context.CancelFunc
	done   chan struct{}
	header *cdf3.Header
	err    error
}

// The stored lengths from which plan and header are decoded beside each other: those of a thousand
// variables in a view. Shorter ones take less time than to begin a goroutine on another processor.
const (
	besidePlan   = 16 << 10
	besideHeader = 4 << 10
)

// beginHeader begins to decode the header, or returns nil if header or plan are short or the plan
// does not start as expected.
func beginHeader(ctx context.Context, stored, rest []byte, m *plan.Manifest) *earlyHeader {
	if len(stored) < besidePlan || len(rest) < besideHeader {
		return nil
	}
	h, ok := plan.PeekHead(ctx, stored)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	e := &earlyHeader{cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(e.done)
		scratch := fronts.Get().(*[]byte)
		defer fronts.Put(scratch)
		e.header, e.err = decodeHeader(ctx, scratch, h, 0, m.Header, rest)
	}()
	return e
}

// end waits for the header of a plan.
func (e *earlyHeader) end(l *plan.Resolved) (*cdf3.Header, error) {
	if e == nil {
		return nil, nil
	}
	defer e.cancel()
	<-e.done
	var b *fault.BlockError
	if errors.As(e.err, &b) {
		b.Block = l.RestFirst // unknown until now
	}
	return e.header, e.err
}

// stop ends the decoding of a header that is not needed.
func (e *earlyHeader) stop() {
	if e != nil {
		e.cancel()
		<-e.done
	}
}

// fronts recycles memory for the text of a plan and then for the header's block, of up to
// maxFront bytes. Neither is kept.
var fronts = sync.Pool{New: func() any { return new([]byte) }}

const maxFront = 4 << 20

// DecodeHeader decodes block 0 of the rest and parses the netCDF header in it. It returns the
// decoded block, too, or nil if that is the stored bytes.
func DecodeHeader(ctx context.Context, l *plan.Resolved, at plan.Place, stored []byte) (h *cdf3.Header, first []byte, err error) {
	h, err = decodeHeader(ctx, &first, l.Head(), l.RestFirst, at, stored)
	return h, first, err
}

// decodeHeader is DecodeHeader with the head of the plan and the number of the block. The block
// is decoded into the memory of scratch, which is replaced if it is too short.
func decodeHeader(ctx context.Context, scratch *[]byte, f plan.Head, block int64, at plan.Place, stored []byte) (*cdf3.Header, error) {
	fail := func(err error) (*cdf3.Header, error) {
		return nil, &fault.BlockError{Block: block, StoredOff: at.Off, Err: Corrupt(err)}
	}
	if err := at.Check(czip.RestPrefix+"0", stored); err != nil {
		return fail(err)
	}
	raw := stored
	if whole := uint32(1<<len(f.Chain) - 1); at.Mask != whole {
		if f.First > plan.MaxFirst {
			return fail(fmt.Errorf("%d bytes: expected exclusion mask %x, found %x", f.First, whole, at.Mask))
		}
		c, err := filters.NewCoder(f.Chain)
		if err != nil {
			err = fmt.Errorf("archive: chain of the header: %w", err)
			if !errors.Is(err, filters.ErrUnknownFilter) {
				err = Corrupt(err)
			}
			return nil, err
		}
		if int64(cap(*scratch)) < f.First {
			*scratch = make([]byte, f.First)
		}
		raw = (*scratch)[:f.First]
		if err := c.Labelled("(header)").Decode(raw, stored, at.Mask); err != nil {
			return fail(err)
		}
	} else if int64(len(stored)) != f.First {
		return fail(fmt.Errorf("expected %d bytes, found %d", f.First, len(stored)))
	}
	h, err := cdf3.ReadBytes(ctx, raw, f.Image.Size)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return fail(err)
	}
	if h.Len != f.Image.Header {
		return fail(fmt.Errorf("expected a netCDF header of %d bytes, found %d", f.Image.Header, h.Len))
	}
	return h, nil
}
