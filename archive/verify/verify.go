// Package verify checks archives. [Verify] checks every byte of an archive and names damage by
// variable and index range. [Walk] decodes the image without the index, as an independent proof
// that the archive holds it.
//
// The functions only read their io.ReaderAt, from several goroutines. It must have the given
// size in bytes and must not change until they return. Package repair repairs what is damaged.
package verify

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/evidence"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/image"
	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Options control Verify and Walk. Nil and the zero value mean the defaults.
type Options struct {
	Workers int   // goroutines that decode; 0: GOMAXPROCS
	Memory  int64 // bytes, as in archive.CopyOptions; 0: archive.DefaultMemory
	// SHA256 makes Verify compute the SHA-256 of the image in any case, as Walk does. Otherwise the sum of the
	// image's pieces suffices, if the archive has it. It has 128 bits and detects damage as
	// surely, but not forgery. Only it can be computed on several goroutines.
	SHA256 bool
	// Progress, if not nil, is called with the number of bytes done so far, those of the
	// archive and those of the image together, with Walk those of the image. It is not called by two
	// goroutines at the same time.
	Progress func(done int64)
}

// Report is the result of Verify.
type Report struct {
	Size      int64    // of the archive, in bytes
	Entries   int64    // of the ZIP
	Blocks    int64    // of data
	Image     string   // base name of the image
	ImageSize int64    // bytes
	SHA256    string   // of the image, from the manifest
	Damage    []Damage // empty for an intact archive
	// Parity describes the parity and the damage by its checksums. It is nil for an archive without
	// parity.
	Parity *parity.Report
	// Rounded has the numbers of the variables whose values were rounded before they were
	// archived, and SourceSHA256 is that of the file before. They are nil and "" if the
	// image is the source.
	Rounded      []int
	SourceSHA256 string
}

// Verify checks every byte of an archive: each entry's checksum, each structure against
// every other, and the sum of the image. Damage goes into the report. It returns an
// error if the archive cannot be judged (ErrNotArchive, ErrVersion) or reading fails.
func Verify(ctx context.Context, file io.ReaderAt, size int64, o *Options) (*Report, error) {
	if o == nil {
		o = &Options{}
	}
	r := ioat.Bind(ctx, file)
	head, tail, err := opening.ProbeArchive(r, size)
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	if !head && !tail {
		return nil, fmt.Errorf("archive: %w", fault.ErrNotArchive)
	}
	r, memory, done := inMemory(r, size)
	defer done()
	from, end := image.Sequential(ctx, r, size)
	defer end()
	v := &verifier{ctx: ctx, o: o, origin: r, src: r, memory: memory, done: doneBytes{call: o.Progress}, endWalk: end, Walker: evidence.NewWalker(from, size), rep: &Report{Size: size}}
	if err := v.run(); err != nil {
		return nil, err
	}
	return v.rep, nil
}

// verifier walks an archive from its first byte to its last, following the local
// headers and, where one is damaged, the index.
type verifier struct {
	evidence.Walker
	ctx     context.Context
	o       *Options
	origin  *ioat.Source // the archive
	src     *ioat.Source // the archive, or chunks of it
	memory  []byte       // the whole archive, or nil
	end     *ending      // nil unless memory has an intact one
	chunks  *ioat.Chunks
	image   *decoding // nil: the image is decoded after the walk
	done    doneBytes
	endWalk func() // releases the walker
	rep     *Report
	l       *plan.Resolved
	header  *cdf3.Header
	decoded []byte           // block with the header, or nil
	man     *plan.Manifest   // of end, compared with the walk; or nil
	index   *blockidx.Reader // nil if it cannot be used
	tail    *czip.Tail       // nil if it cannot be used
	table   *blockidx.Table
	front   []czip.ZipEntry
	kept    []byte          // the bytes of the front, or nil
	back    []czip.ZipEntry // between the last block and the manifest
	off     int64           // position of the walk
	crc     uint32
	stored  int64      // stored bytes of blocks
	plan    plan.Place // of the plan, as found
	first   plan.Place // of the netCDF header, as found
	copies  plan.Copies
	parity  *parity.Set // nil without parity
	buf     []byte
}

// run returns an error only if the archive cannot be judged.
func (v *verifier) run() error {
	if v.memory != nil {
		v.end = readEnding(v.ctx, v.memory)
	}
	if err := v.findParity(); err != nil {
		return err
	}
	defer v.share()()
	if err := v.check(); err != nil {
		return err
	}
	return v.checkParity()
}

// check checks everything but the parity.
func (v *verifier) check() error {
	if err := v.readTail(); err != nil {
		return err
	}
	if err := v.walkFront(); err != nil || v.l == nil {
		return err
	}
	table, err := blockidx.NewTable(v.l.Blocks)
	if err != nil {
		return err
	}
	defer table.Close()
	v.table = table
	defer v.stopImage()
	whole, err := v.walkBlocks()
	if err != nil {
		return err
	}
	if whole && v.front != nil {
		if err := v.walkBack(); err != nil {
			return err
		}
		if err := v.checkTail(); err != nil {
			return err
		}
	}
	v.endWalk()
	if err := v.checkHeader(); err != nil {
		return err
	}
	// Reading the image opens the archive again.
	o := v.imageOptions()
	v.l, v.header, v.decoded, v.man, v.front, v.kept, v.buf, v.Walker = nil, nil, nil, nil, nil, nil, nil, evidence.NewWalker(nil, v.Size)
	if len(v.rep.Damage) > 0 {
		v.stopImage()
		return v.decodeBlocks()
	}
	return v.checkImage(o)
}

// doneBytes adds up what the walk and the decoding have done.
type doneBytes struct {
	call func(done int64) // may be nil

	mu             sync.Mutex
	walked, copied int64
}

func (d *doneBytes) walk(n int64)  { d.report(&d.walked, n) }
func (d *doneBytes) image(n int64) { d.report(&d.copied, n) }

func (d *doneBytes) report(which *int64, n int64) {
	if d.call == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	*which = n
	d.call(d.walked + d.copied)
}
