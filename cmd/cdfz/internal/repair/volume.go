package repair

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
)

// isVolume reports whether the run writes a volume with a new index from another one.
func (v *repairer) isVolume(args []string) bool {
	name, _, _ := strings.Cut(v.run.Dest.Name, "?")
	return len(args) == 1 && path.Ext(args[0]) == volume.Suffix && path.Ext(name) == volume.Suffix && !v.run.Dest.IsDir()
}

// volume writes a volume with the members of another one, by its index or, if that is damaged, by its headers.
func (v *repairer) volume(ctx context.Context, name string) {
	dest := v.run.Dest.Name
	members, size, err := v.writeVolume(ctx, name)
	switch {
	case err != nil:
		v.run.Term.FailFile(terminal.ShowName(name), err)
	case v.run.Term.JSON:
		v.run.Term.Emit(struct {
			File    string `json:"file"`
			Target  string `json:"target"`
			Members int64  `json:"members"`
			Size    int64  `json:"size"`
		}{terminal.ReportName(name), terminal.ReportName(dest), members, size})
	default:
		v.run.Term.Report("%s: %s, %s", terminal.ShowTarget(dest), display.Count(members, "member"), display.Size(size))
	}
}

func (v *repairer) writeVolume(ctx context.Context, name string) (members, size int64, err error) {
	out, err := v.run.Target(v.run.Dest.Name, nil).Sink(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer out.Abort()
	healed, err := v.healVolume(ctx, name, out)
	if err != nil {
		return 0, 0, err
	}
	if healed != nil {
		defer healed.Close()
		members, size = healed.Len(), healed.size
	} else {
		members, size, err = v.run.In.CopyVolume(ctx, name, out)
	}
	if err == nil {
		err = out.Commit(ctx)
	}
	return members, size, err
}

// healedVolume is a volume that was healed from its parity.
type healedVolume struct {
	*volume.Volume
	size int64
}

// nowhere takes what is healed of the parity itself: it stays as it is.
type nowhere struct{}

func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

// healVolume writes a volume to the sink, healed from the file of parity beside it. It returns nil if there is none, or if that
// cannot heal everything.
func (v *repairer) healVolume(ctx context.Context, name string, out *fileio.Sink) (*healedVolume, error) {
	beside, err := v.run.In.Open(ctx, name+parity.Suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer beside.Close()
	in, err := v.run.In.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	cannot := func(why string) (*healedVolume, error) {
		v.run.Term.Message("warning: %s: %s; the index is made from the volume alone", terminal.ShowName(name+parity.Suffix), why)
		return nil, nil
	}
	set, err := parity.FindBeside(ctx, in.R, in.Size, beside.R, beside.Size, &parity.Options{Workers: v.run.Limits.Workers, Memory: v.run.Limits.BlockMemory()})
	if errors.Is(err, archive.ErrCorrupt) {
		return cannot(terminal.WithoutPackages(err.Error()))
	}
	if err != nil {
		return nil, err
	}
	if set == nil {
		return cannot("no record of the parity is intact")
	}
	rep, err := set.Check(ctx)
	if err != nil {
		return nil, err
	}
	if !rep.Healable() {
		return cannot("the volume has more damage than the parity heals, or is another one")
	}
	dst := out.File()
	if _, err := io.Copy(fileio.CtxWriter{Ctx: ctx, W: out}, io.NewSectionReader(in.R, 0, min(in.Size, set.Off))); err != nil {
		return nil, err
	}
	if in.Size < set.Off {
		if err := dst.Truncate(set.Off); err != nil {
			return nil, err
		}
	}
	if rep, err = set.Heal(ctx, set.Besides(dst, nowhere{})); err != nil {
		return nil, err
	}
	back, err := volume.Open(ctx, dst, set.Off)
	if err == nil {
		err = back.Check(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("healed from %s: %w", terminal.ShowName(name+parity.Suffix), err)
	}
	if rep.BadPieces > 0 {
		v.run.Term.Message("%s: %s of %d bytes healed from its parity", terminal.ShowName(name), display.Count(rep.BadPieces, "piece"), set.Piece)
	}
	return &healedVolume{back, set.Off}, nil
}
