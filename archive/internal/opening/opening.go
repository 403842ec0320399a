// Package opening opens archives. It finds the tail, the manifest, the index, the plan and
// the netCDF header, and looks up the places of blocks. It decodes no block but the first,
// which holds the netCDF header.
package opening

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

const (
	// TailProbe is the length of the first read of an archive: the end, which in small
	// archives includes manifest and index.
	TailProbe = 4096
	// maxFrontGap is the amount of Zarr metadata that may be read and discarded to save
	// a read.
	maxFrontGap = 1 << 20
	// LocalGap is the distance in bytes up to which stored extents are read together.
	// Reading that many bytes costs no more than another system call.
	LocalGap = 4 << 10
)

// Options control Open. The zero value means the defaults.
type Options struct {
	Name  string // of the file in errors
	Index int64  // bytes of index pages kept; 0: 4 MiB
	// Plan and Header, if not nil, are those of the archive, which are then not read.
	Plan   *plan.Resolved
	Header *cdf3.Header
	// Tail and Man, if Man is not nil, are those of the archive as well.
	Tail czip.Tail
	Man  *plan.Manifest
	// First, if not nil, is block 0 of the rest, decoded. KeepFirst keeps it as it is decoded for the
	// header, unless it is long: for a program that reads the whole image once.
	First     []byte
	KeepFirst bool
}

// Archive is an open archive. It is safe for concurrent use if its io.ReaderAt is. Its
// memory depends on the netCDF header and the options, not on the size of the archive.
type Archive struct {
	R      *ioat.Source
	Size   int64
	Name   string // of the file in errors, or ""
	Tail   czip.Tail
	Man    *plan.Manifest
	L      *plan.Resolved
	Header *cdf3.Header
	Index  *blockidx.Reader
	First  []byte // block 0 of the rest, decoded, or nil

	Remote bool  // its reads have a latency
	Gap    int64 // distance up to which stored extents are read together
}

// Open opens an archive of size bytes. If a remote archive seems damaged, its ends are read
// again, because bytes may have been garbled in transit.
func Open(ctx context.Context, from io.ReaderAt, size int64, opts *Options) (*Archive, error) {
	r := ioat.Of(from)
	a := &Archive{R: r, Size: size, Name: opts.Name, First: opts.First, Gap: LocalGap}
	if gap := r.Gap(); gap > 0 {
		a.Gap, a.Remote = gap, true
	}
	err := a.openEnds(ctx, ioat.Bind(ctx, r), opts)
	if errors.Is(err, fault.ErrCorrupt) && a.Remote {
		if again := a.openEnds(ctx, ioat.Bind(ctx, r).Again(), opts); !errors.Is(again, fault.ErrNotArchive) {
			err = again
		}
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// openEnds reads the ends of the archive through r.
func (a *Archive) openEnds(ctx context.Context, r io.ReaderAt, opts *Options) error {
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
	return a.openFront(ctx, r, end, opts.KeepFirst)
}

// openIndex opens the index, which begins with head.
func (a *Archive) openIndex(head []byte, opts *Options) (err error) {
	idx := a.Tail.Index()
	data := a.R.Section(idx.End()-idx.Stored, idx.Stored)
	if a.Index, err = blockidx.NewReader(data, idx.Stored, head, opts.Index); err != nil {
		return Corrupt(err)
	}
	return nil
}

// openManifest parses the manifest whose entry is at the start of b. The end line has
// its place, so the local header is not needed.
func (a *Archive) openManifest(ctx context.Context, b []byte) error {
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
