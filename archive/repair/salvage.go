package repair

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
	"github.com/cdfz-format/cdfz/archive/internal/evidence"
	"github.com/cdfz-format/cdfz/archive/internal/fault"
	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/blockidx"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// Salvaged is what Salvage found in a damaged archive, which it still reads. The caller must
// close it.
type Salvaged struct {
	Image  string // base name of the image, "" if the manifest is lost
	Size   int64  // of the image, in bytes
	SHA256 string // of the image, "" if the manifest is lost
	Blocks int64  // of data
	// Rounded has the numbers of the variables whose values were rounded before they were
	// archived.
	Rounded []int
	// Lost has the blocks without intact bytes. WriteImage adds those that do not decode.
	Lost []verify.Damage
	// Contradicted has the blocks that were found in two places with different bytes, each with the
	// right checksum, if no index is left to decide. The first of the two is restored.
	Contradicted []verify.Damage

	r      io.ReaderAt
	l      *plan.Resolved
	header *cdf3.Header
	table  *blockidx.Table // rows of the blocks found; others are zero
	vars   []int           // number of the variable with each segment
}

// Salvage searches a damaged archive for its blocks: first where the index puts them, then
// in the whole file, by local headers, then where the central directory puts them. A block
// is found if its stored bytes have their checksum, which must be that of the index if it
// has one. Bytes that cannot be read count as damaged. Another archive that begins after this
// one is not searched.
//
// The plan or its second copy must be intact, and so must the netCDF header or its second
// copy. Otherwise the error is ErrCorrupt. ErrNotArchive means that nothing of an archive
// was found. ErrVersion means that the end line or the plan is intact and needs a newer
// reader.
func Salvage(ctx context.Context, r io.ReaderAt, size int64, o *Options) (*Salvaged, error) {
	if o == nil {
		o = &Options{}
	}
	x := newSalvager(ctx, r, size, o.Progress)
	if err := x.run(); err != nil {
		x.out.Close()
		return nil, err
	}
	return x.out, nil
}

func newSalvager(ctx context.Context, r io.ReaderAt, size int64, progress func(done int64)) *salvager {
	src := ioat.Bind(ctx, r)
	return &salvager{
		repairer: repairer{Finder: evidence.NewFinder(ctx, evidence.NewWalker(src, size), src), o: &Options{Progress: progress}, p: &Repaired{r: r}},
		out:      &Salvaged{r: r},
	}
}

// Identify searches an archive that may be damaged for its manifest, as Salvage does, and returns what that
// states about the image. The result is nil if the manifest is lost. ErrNotArchive means that nothing of an
// archive was found.
func Identify(ctx context.Context, r io.ReaderAt, size int64) (*verify.Image, error) {
	x := newSalvager(ctx, r, size, nil)
	err := x.run()
	x.out.Close()
	switch {
	case x.Man != nil && ctx.Err() == nil:
		id := &verify.Image{Name: x.Man.ImageName(), Size: x.Man.Size, SHA256: x.Man.SHA256, End: x.Size}
		_, id.SourceSHA256 = x.Man.Loss.Rounded()
		if x.Tail == nil {
			id.End = x.lineEnd()
		}
		return id, ctx.Err()
	case errors.Is(err, fault.ErrCorrupt), errors.Is(err, fault.ErrVersion):
		return nil, nil
	}
	return nil, err
}

// Close removes the temporary file, if there is one.
func (s *Salvaged) Close() error {
	if s.table == nil {
		return nil
	}
	return s.table.Close()
}

// salvager finds the blocks of an archive wherever they are. It also works where a repair fails.
type salvager struct {
	repairer
	out    *Salvaged
	window []byte         // buffer of the search
	budget int64          // bytes that the search may still read to compare checksums
	paths  map[string]int // positions of variables and pools in the plan
	order  map[int64]int64
	before czip.ZipEntry // last one of a block that the search met
}

func (x *salvager) run() error {
	err := x.all()
	if x.Ctx.Err() != nil {
		return x.Ctx.Err()
	}
	return err
}

// all is run without the error of the context.
func (x *salvager) all() error {
	if err := x.FindTail(); errors.Is(err, fault.ErrVersion) {
		return err
	} else if err != nil {
		x.ForgetTail()
	}
	if x.Man == nil {
		end, err := x.end()
		if err != nil {
			return err
		}
		if end < x.Size {
			x.Size = end
			return x.all()
		}
	}
	if err := x.findFront(); err != nil {
		return err
	}
	out := x.out
	out.l, out.header, out.Size, out.Blocks = x.L, x.p.header, x.L.Image.Size, x.L.Blocks
	var err error
	if out.table, err = blockidx.NewTable(x.L.Blocks); err != nil {
		return err
	}
	missing, err := x.fromRows()
	if err == nil && missing > 0 {
		err = x.search(func(e *czip.ZipEntry) (bool, error) { return x.take(e, &missing) })
	}
	if err == nil && missing > 0 {
		err = x.fromDirectory(&missing)
	}
	if err != nil {
		return err
	}
	if x.Man != nil {
		out.Image, out.SHA256 = x.Man.ImageName(), x.Man.SHA256
		out.Rounded, _ = x.Man.Loss.Rounded()
	}
	return x.listLost(missing)
}

// findFront finds plan and netCDF header.
func (x *salvager) findFront() error {
	if _, err := x.FindPlan(); errors.Is(err, fault.ErrVersion) {
		return err
	} else if err != nil {
		x.L = nil
		if err := x.Ctx.Err(); err != nil {
			return err
		}
	}
	if x.L != nil && x.Man != nil && x.findHeader() == nil && x.p.header != nil {
		return nil
	}
	// The search finds the plan before the header, or its second copy before that of the
	// header.
	seen := false
	var later error // of a plan that needs a later version
	err := x.search(func(e *czip.ZipEntry) (bool, error) {
		seen = seen || strings.HasPrefix(e.Name, ".cdfz/")
		if x.L != nil && x.p.header != nil && x.Man != nil || !x.spend(e) {
			return true, nil
		}
		switch {
		case x.L == nil && (e.Name == czip.PlanName || e.Name == czip.CopyPlan):
			if _, err := x.PlanIn(*e); err != nil {
				x.L = nil
				if errors.Is(err, fault.ErrVersion) {
					later = err
				}
				return false, nil
			}
			return true, nil
		case x.L != nil && x.p.header == nil && (e.Name == czip.RestPrefix+"0" || e.Name == czip.CopyHeader):
			return x.headerIn(e), nil
		case e.Name == czip.ManifestName && x.Man == nil:
			x.manifestIn(e)
		}
		return true, nil
	})
	switch {
	case err != nil:
		return err
	case x.p.header != nil:
		return nil
	case x.L != nil:
		return fault.Corruptf("the netCDF header is lost")
	case later != nil:
		return later
	case !seen:
		if err := probe(x.p.r, x.Size); err != nil {
			return err
		}
	}
	return fault.Corruptf("the plan is lost")
}

// manifestIn parses the manifest in an entry, for the image's name and SHA-256.
func (x *salvager) manifestIn(e *czip.ZipEntry) {
	if e.Stored > czip.MaxManifest {
		return
	}
	data, err := x.Content(x.Ctx, e)
	if err != nil {
		return
	}
	if m, err := plan.ReadManifest(data); err == nil {
		x.Man = m
	}
}

// fromRows takes the blocks that the index locates, and returns the number of the others.
func (x *salvager) fromRows() (missing int64, err error) {
	missing = x.L.Blocks
	if x.Index == nil || x.Index.Rows() != x.L.Blocks {
		return missing, nil // the number of blocks is only a claim
	}
	for n := range x.L.Blocks {
		if err := x.Ctx.Err(); err != nil {
			return 0, err
		}
		if row, err := x.Index.Row(n); err == nil {
			if _, err := x.takeRow(n, row, &missing); err != nil {
				return 0, err
			}
		}
	}
	return missing, nil
}

// listLost lists the blocks without a row.
func (x *salvager) listLost(missing int64) error {
	for n := int64(0); n < x.L.Blocks && missing > 0; n++ {
		if len(x.out.Lost) == verify.MaxLost {
			x.out.Lost = append(x.out.Lost, verify.Damage{Kind: verify.DamageBlock, Off: -1, Len: -1, Text: fmt.Sprintf("%d more blocks are lost", missing)})
			return nil
		}
		row, err := x.out.table.Row(n)
		if err != nil {
			return err
		}
		if row.Off == 0 {
			missing--
			x.out.lose(x.L.BlockAt(n), -1, fault.Corruptf("no intact bytes were found"))
		}
	}
	return nil
}

// lose records a lost block.
func (s *Salvaged) lose(b plan.Block, off int64, err error) {
	s.Lost = append(s.Lost, s.damage(b, off, err))
}

// damage describes damage of a block.
func (s *Salvaged) damage(b plan.Block, off int64, err error) verify.Damage {
	return verify.NewDamage(verify.DamageBlock, off, -1, plan.NewBlockError(s.l, s.header, b.Var, b.B, off, err))
}
