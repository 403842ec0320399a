package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

const (
	// tailProbe is the first read of an archive: the end, and in small archives
	// manifest and index with it.
	tailProbe = 4096
	// maxFrontGap is how much Zarr metadata is read, and thrown away, to spare a
	// read.
	maxFrontGap = 1 << 20
	// defaultCache is the bound of the block cache, in bytes of decoded blocks.
	defaultCache = 32 << 20
	// maxWorkers is more than any machine needs.
	maxWorkers = 1024
)

// readOptions of newReader. Nil and the zero value mean the defaults.
type readOptions struct {
	name    string      // of the file in errors
	cache   int64       // bytes of decoded blocks kept; 0: defaultCache, negative: none
	shared  *blockCache // instead of a cache of its own
	index   int64       // bytes of index pages kept; 0: 4 MiB
	workers int         // blocks decoded at the same time; 0: GOMAXPROCS
}

// reader reads an archive. It is safe for concurrent use if its io.ReaderAt is.
// Memory follows the netCDF header, the size of a block and the options, not the
// size of the archive.
type reader struct {
	r      io.ReaderAt
	size   int64
	tail   tail
	man    *Manifest
	l      *layout
	header *cdf3.Header
	index  *blockidx.Reader
	engine
	name string // of the file in errors, "" if it has none
}

// newReader opens an archive of size bytes, see New.
func newReader(r io.ReaderAt, size int64, opts *readOptions) (*reader, error) {
	if opts == nil {
		opts = &readOptions{}
	}
	if opts.workers < 0 || opts.workers > maxWorkers {
		return nil, optionsf("%d workers, expected 1 to %d", opts.workers, maxWorkers)
	}
	a := &reader{r: r, size: size, name: opts.name}
	a.engine.init(r)
	if opts.workers > 0 {
		a.slots = make(chan struct{}, opts.workers)
	}
	if err := a.open(opts); err != nil {
		return nil, err
	}
	return a, a.openCache(opts)
}

// probeArchive says whether a file has the head or the tail of an archive.
func probeArchive(r io.ReaderAt, size int64) (head, end bool, err error) {
	if size >= int64(headLen) {
		b := make([]byte, headLen)
		if err := ioat.ReadFull(r, b, 0); err != nil {
			return false, false, err
		}
		head = string(b[:4]) == headMagic && string(b[localFixed:]) == readmeName
	}
	if size >= endLen {
		b := make([]byte, len(tailMagic))
		if err := ioat.ReadFull(r, b, size-tailLen); err != nil {
			return false, false, err
		}
		end = string(b) == tailMagic
	}
	return head, end, nil
}

// section is a part of the archive that was read already.
type section struct {
	b   []byte
	off int64
}

// get returns [off, off+n) from the section or by reading.
func (s section) get(r io.ReaderAt, off, n int64) ([]byte, error) {
	if off >= s.off && n <= s.off+int64(len(s.b))-off {
		return s.b[off-s.off:][:n], nil
	}
	b, err := ioat.ReadBytes(r, off, n)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return b, nil
}

func (a *reader) open(opts *readOptions) error {
	end := section{off: max(0, a.size-tailProbe)}
	var err error
	if end.b, err = (section{}).get(a.r, end.off, a.size-end.off); err != nil {
		return err
	}
	if a.tail, err = parseTail(end.b, a.size); err != nil {
		head, end, perr := probeArchive(a.r, a.size)
		ours := head || end
		switch {
		case perr != nil:
			return fmt.Errorf("archive: %w", perr)
		case !ours:
			return fmt.Errorf("archive: %w", ErrNotArchive)
		}
		return err
	}
	idx := zipEntry{name: indexName, crc: a.tail.idxCRC, stored: a.tail.idxLen, size: a.tail.idxLen, off: a.tail.idxOff}
	if a.tail.idxLen < blockidx.HeaderLen {
		return corruptf("index of %d bytes", a.tail.idxLen)
	}
	near, err := end.get(a.r, a.tail.manOff, idx.end()-a.tail.idxLen+blockidx.HeaderLen-a.tail.manOff)
	if err != nil {
		return err
	}
	if err := a.openManifest(near); err != nil {
		return err
	}
	data := io.NewSectionReader(a.r, idx.end()-idx.stored, idx.stored)
	if a.index, err = blockidx.NewReader(data, idx.stored, near[len(near)-blockidx.HeaderLen:], opts.index); err != nil {
		return corrupt(err)
	}
	return a.openFront(end)
}

// corrupt puts an error of a lower layer that means damage into our class.
func corrupt(err error) error {
	if errors.Is(err, ErrCorrupt) || errors.Is(err, ErrVersion) {
		return err
	}
	return fmt.Errorf("%w: %w", err, ErrCorrupt)
}

// openManifest parses the manifest whose entry is at the start of b. Its place is
// that of the end line: the local header is not needed.
func (a *reader) openManifest(b []byte) error {
	e := zipEntry{name: manifestName}
	payload := b[e.localLen():][:a.tail.manLen]
	if got := crcOf(payload); got != a.tail.manCRC {
		return corruptf("manifest at byte %d: checksum %08x, expected %08x", a.tail.manOff, got, a.tail.manCRC)
	}
	data, err := inflateTo(manifestName, payload, maxManifest)
	if err != nil {
		return err
	}
	a.man, err = parseManifest(data, a.tail)
	return err
}

// openFront reads the plan and the netCDF header, with one read if little lies
// between them.
func (a *reader) openFront(have section) error {
	m := a.man
	between := have
	if gap := m.Header.Off - m.Plan.Off - m.Plan.Len; gap <= maxFrontGap {
		from := section{off: m.Plan.Off}
		var err error
		if from.b, err = have.get(a.r, m.Plan.Off, m.Header.Off+m.Header.Len-m.Plan.Off); err != nil {
			return err
		}
		between = from
	}
	plan, err := between.get(a.r, m.Plan.Off, m.Plan.Len)
	if err != nil {
		return err
	}
	rest, err := between.get(a.r, m.Header.Off, m.Header.Len)
	if err != nil {
		return err
	}
	h, err := parseFront(plan, rest, m, a.size)
	if err != nil {
		return err
	}
	a.l, a.header = h.l, h.header
	if a.l.blocks != m.Blocks || a.index.Rows() != m.Blocks || a.l.Image.Size != m.Size {
		return corruptf("plan has %d blocks of %d bytes, manifest %d of %d, index %d",
			a.l.blocks, a.l.Image.Size, m.Blocks, m.Size, a.index.Rows())
	}
	return nil
}

// head is what the front of an archive holds.
type head struct {
	l      *layout
	header *cdf3.Header
}

// parseFront parses the stored bytes of the plan and of block 0 of the rest, in an
// archive of size bytes.
func parseFront(plan, rest []byte, m *Manifest, size int64) (*head, error) {
	if err := m.Plan.check(planName, plan); err != nil {
		return nil, err
	}
	plan, err := inflateTo(planName, plan, min(metaSmall+maxInflate*m.Plan.Len, metaLimit(size, m.Header.Len)))
	if err != nil {
		return nil, err
	}
	l, err := parsePlan(plan)
	if err != nil {
		return nil, err
	}
	header, err := decodeHeader(l, m.Header, rest)
	if err == nil {
		err = l.checkHeader(header)
	}
	return &head{l, header}, err
}

// decodeHeader decodes block 0 of the rest and parses the netCDF header in it.
func decodeHeader(l *layout, at Place, stored []byte) (*cdf3.Header, error) {
	fail := func(err error) (*cdf3.Header, error) {
		return nil, &BlockError{Block: l.restFirst, StoredOff: at.Off, Err: corrupt(err)}
	}
	if err := at.check(restPrefix+"0", stored); err != nil {
		return fail(err)
	}
	chain := l.filters[l.Rest.Chain]
	raw := stored
	if whole := uint32(1<<len(chain) - 1); at.Mask != whole {
		if l.Rest.First > maxFirst {
			return fail(fmt.Errorf("%d bytes with exclusion mask %x, expected %x", l.Rest.First, at.Mask, whole))
		}
		c, err := filters.NewCoder(chain)
		if err != nil {
			err = fmt.Errorf("archive: chain of the header: %w", err)
			if !errors.Is(err, filters.ErrUnknownFilter) {
				err = corrupt(err)
			}
			return nil, err
		}
		raw = make([]byte, l.Rest.First)
		if err := c.Decode(raw, stored, at.Mask); err != nil {
			return fail(err)
		}
	} else if int64(len(stored)) != l.Rest.First {
		return fail(fmt.Errorf("%d bytes, expected %d", len(stored), l.Rest.First))
	}
	h, err := cdf3.ReadFront(bytes.NewReader(raw), int64(len(raw)), l.Image.Size)
	if err != nil {
		return fail(err)
	}
	if h.Len != l.Image.Header {
		return fail(fmt.Errorf("netCDF header of %d bytes, expected %d", h.Len, l.Image.Header))
	}
	return h, nil
}

// blockError names a block by variable and index range.
func (a *reader) blockError(v int, b, storedOff int64, err error) error {
	e := newBlockError(a.l, a.header, v, b, storedOff, err)
	e.File = a.name
	return e
}

// readError is an error of reading stored bytes.
func (a *reader) readError(err error) error {
	return withName(a.name, fmt.Errorf("archive: %w", err))
}
