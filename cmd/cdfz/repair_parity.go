package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/fsck"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/protect"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// healing runs the part of a repair that uses parity.
type healing struct {
	v    *repairer
	in   *cli.Input
	work *os.File // the archive, or a copy of it
	rep  *protect.Report
}

// heal heals an archive that has parity and is damaged. It returns the input to go on with:
// the healed archive itself, or with -o a healed copy in a temporary file. The report is nil
// without parity.
func (v *repairer) heal(ctx context.Context, in *cli.Input) (*cli.Input, *protect.Report, error) {
	set, err := v.parityOf(ctx, in)
	if set == nil {
		if errors.Is(err, parity.ErrLost) {
			v.Message("warning: %s: %s", in.Name, cli.WithoutPackages(err.Error()))
			err = nil
		}
		return in, nil, err
	}
	h := &healing{v: v, in: in, work: in.File}
	if v.Dest != "" {
		rep, err := set.Check(ctx)
		if err != nil || rep.Intact() {
			return in, protect.NewReport(rep), err
		}
		if err := h.copy(ctx, min(in.Size, rep.Size)); err != nil {
			return in, nil, err
		}
	}
	err = h.run(ctx)
	return h.in, h.rep, err
}

func (v *repairer) parityOf(ctx context.Context, in *cli.Input) (*parity.Set, error) {
	return parity.Find(ctx, in.R, in.Size, &parity.Options{Workers: v.Workers, Memory: v.BlockMemory()})
}

// copy makes the input a temporary copy of the first bytes of the archive.
func (h *healing) copy(ctx context.Context, size int64) error {
	t, err := atomicfile.Temp()
	if err != nil {
		return err
	}
	if err := parity.Copy(ctx, t, h.in.R, size); err != nil {
		t.Close()
		return err
	}
	h.in = h.in.Replaced(t, size, t.Close)
	h.work = t.File
	return nil
}

// run heals as much as possible. If damage remains, it rebuilds the structures that follow
// from others and tries again. If only the parity is damaged then, it makes new parity.
func (h *healing) run(ctx context.Context) error {
	whole, err := h.once(ctx)
	if err != nil || whole {
		return err
	}
	if err := h.rebuildTail(ctx); err != nil {
		return err
	}
	if whole, err = h.once(ctx); err != nil || whole {
		return err
	}
	rep, err := fsck.Verify(ctx, h.in.R, h.in.Size, &fsck.VerifyOptions{Workers: h.v.Workers, Memory: h.v.BlockMemory()})
	if errors.Is(err, archive.ErrNotArchive) {
		return nil // the repair that follows reports it
	}
	if err != nil {
		return err
	}
	for _, d := range rep.Damage {
		if d.Kind != fsck.DamageParity {
			return nil
		}
	}
	set, err := h.v.parityOf(ctx, h.in)
	if err != nil || set == nil || rep.Parity == nil {
		return err
	}
	h.v.wrote(true)
	if err := set.Rebuild(ctx, h.work); err != nil {
		return err
	}
	h.rep.Rebuilt, h.rep.Lost, h.rep.Unknown = true, []protect.Part{}, []protect.Part{}
	return h.work.Sync()
}

// once heals and reports whether the archive is whole.
func (h *healing) once(ctx context.Context) (bool, error) {
	set, err := h.v.parityOf(ctx, h.in)
	if err != nil || set == nil {
		return false, err
	}
	rep, err := set.Heal(ctx, h.work)
	if err == nil {
		err = h.work.Sync()
	}
	if err != nil {
		return false, cli.Hinted(err, "repair can be run again: it changed nothing that it needs")
	}
	h.v.wrote(rep.Healed > 0 || rep.Header)
	before := h.rep
	h.rep = protect.NewReport(rep)
	h.rep.Add(before)
	st, err := h.work.Stat()
	if err != nil {
		return false, err
	}
	h.in.Size = st.Size()
	return rep.Healable(), nil
}

// wrote notes that healing changes the archive itself.
func (v *repairer) wrote(some bool) { v.changed = v.changed || some && v.Dest == "" }

// rebuildTail rebuilds what follows from the local headers.
func (h *healing) rebuildTail(ctx context.Context) error {
	p, err := fsck.Repair(ctx, h.in.R, h.in.Size, &fsck.RepairOptions{Quick: h.v.quick})
	if errors.Is(err, archive.ErrCorrupt) {
		return nil // the repair that follows reports it
	}
	if err != nil {
		return err
	}
	defer p.Close()
	if p.Intact() || p.After > 0 && !h.v.Force {
		return nil
	}
	h.v.wrote(true)
	if err := repairInPlace(ctx, h.work, p, &repairReport{}); err != nil {
		return err
	}
	st, err := h.work.Stat()
	if err == nil {
		h.in.Size = st.Size()
	}
	return err
}

// repairInPlace rewrites damaged bytes. All data that the new tail depends on is on
// disk before the old tail is touched.
func repairInPlace(ctx context.Context, f *os.File, p *fsck.Repaired, rep *repairReport) error {
	err := p.Patch(ctx, f)
	if err == nil && (p.Front || p.Healed() > 0 || p.Headers > 0) {
		err = f.Sync()
	}
	if err == nil && (p.Tail || p.After > 0) {
		err = writeTail(ctx, f, p, rep)
	}
	if err == nil {
		err = f.Sync()
	}
	rep.Size = p.Size
	return err
}

func writeTail(ctx context.Context, f *os.File, p *fsck.Repaired, rep *repairReport) error {
	if p.Tail {
		w := bufio.NewWriterSize(cli.CtxWriter{Ctx: ctx, W: io.NewOffsetWriter(f, p.Keep)}, 1<<18)
		n, err := p.WriteTail(w)
		if err == nil {
			err = w.Flush()
		}
		if err != nil {
			return err
		}
		rep.Written = n
	}
	return f.Truncate(p.Size)
}
