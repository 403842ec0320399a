package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/report"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// decide returns what becomes of a file: nothing if the volumes have its archive. Another state goes into a later volume.
func (p *packs) decide(ctx context.Context, v *archiver, w *work) (d decision, err error) {
	d.Action = protect.Write
	old, st, err := p.find(ctx, v, w)
	if old == nil || err != nil {
		return d, err
	}
	defer old.Close()
	e, err := v.read(ctx, w, old, st)
	if e == nil || err != nil {
		return d, err
	}
	same, err := v.holds(ctx, w, e)
	switch {
	case err != nil:
		return d, err
	case !same && e.held.Size == w.in.Size && e.sameTime:
		return d, v.differs(ctx, w, e)
	case !same:
		return d, nil
	case v.existing == existingNever:
		return d, fmt.Errorf("%s: %w", terminal.ShowName(e.path), atomicfile.ErrExists)
	case e.loss != nil && len(v.specs.Lossy()) == 0:
		return d, terminal.Hinted(fmt.Errorf("%s exists, and %s", e.path, e.loss), againHint)
	}
	d.Action, d.found = protect.Done, e
	return d, v.intact(ctx, w, old, e)
}

// find opens the member that a file became before, and sets the target. It returns nil if there is none, or it is to be made again.
func (p *packs) find(ctx context.Context, v *archiver, w *work) (*fileio.Input, fs.FileInfo, error) {
	if v.run.Rules.Force && !p.twice {
		return nil, nil, nil
	}
	at, e, err := p.out.Earlier.Find(ctx, w.rep.below)
	if errors.Is(err, fs.ErrNotExist) || err == nil && e.Kind != volume.File && e.Kind != volume.HardLink {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	old, err := v.run.In.Open(ctx, at)
	if err != nil {
		return nil, nil, fileio.OfTarget(err)
	}
	w.rep.Target, w.Entry.Target = at, at
	return old, e.Info(), nil
}

// make archives an input to a file without a name, which goes into a volume when its turn comes.
func (p *packs) make(ctx context.Context, v *archiver, w *work, opts *archive.WriteOptions) error {
	out, err := v.run.Targets.Scratch(w.in.Size)
	if err != nil {
		return err
	}
	size, err := v.fill(ctx, w, opts, out)
	if err != nil {
		out.Close()
		return report.ExplainLoss(err)
	}
	p.pack(ctx, v, w, out, size, string(treefile.Archive))
	return nil
}

// keep copies a file that is kept as it is to a file without a name: the source may change while it goes into a volume.
func (p *packs) keep(ctx context.Context, v *archiver, w *work) error {
	start := time.Now()
	out, err := v.run.Targets.Scratch(w.in.Size)
	if err != nil {
		return err
	}
	w.rep.SHA256, err = fileio.CopySum(ctx, out, w.in.R, w.in.Size, w.Term.Step(w.in.Name, w.in.Size, 0, 1))
	if err == nil {
		err = w.in.Changed()
	}
	if err != nil {
		out.Close()
		w.rep.SHA256 = ""
		return err
	}
	w.rep.Checked, w.rep.Seconds = true, time.Since(start).Seconds() // the volume is read back
	p.pack(ctx, v, w, out, w.in.Size, string(treefile.Plain))
	return nil
}
