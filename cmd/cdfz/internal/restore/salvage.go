package restore

import (
	"context"
	"fmt"
	"time"

	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/report"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/runlog"
)

// salvageReport is the JSON of one salvaged file.
type salvageReport struct {
	File      string          `json:"file"`
	Target    string          `json:"target"`
	Size      int64           `json:"size"`
	SHA256    string          `json:"sha256"`    // of the target
	Identical bool            `json:"identical"` // the target has the SHA-256 of the original
	Blocks    int64           `json:"blocks"`
	Lost      []report.Damage `json:"lost"`
	// Contradicted has blocks with two intact versions. The first was restored.
	Contradicted []report.Damage `json:"contradicted"`
	Seconds      float64         `json:"seconds"`
}

// salvage restores the intact parts of one file.
func (v *restorer) salvage(ctx context.Context, j *cli.Job, sum *restoreSum) error {
	in, err := v.run.In.OpenFile(ctx, j.File)
	if err != nil {
		return err
	}
	defer in.Close()
	path, err := v.run.Targets.PathOf(j.File, fileio.StripSuffix)
	if err != nil {
		return err
	}
	t := j.Target(path, in)
	t.Sparse = v.sparse
	dst, err := t.Sink(ctx)
	if err != nil {
		return err
	}
	defer dst.Abort()
	start := time.Now()
	s, err := repair.Salvage(ctx, in.R, in.Size, &repair.Options{Progress: j.Term.Step(in.Name, in.Size, 0, 2)})
	if err != nil {
		return fileio.ExplainNotArchive(in, err)
	}
	defer s.Close()
	if err := s.WriteImage(ctx, dst.File(), j.Limits.Workers, j.Term.Step(in.Name, s.Size, 1, 2)); err != nil {
		return err
	}
	rep := salvageReport{File: terminal.ReportName(j.Name), Target: path, Size: s.Size, Blocks: s.Blocks, Lost: report.DamageList(s.Lost), Contradicted: report.DamageList(s.Contradicted)}
	if rep.SHA256, err = (&fileio.Input{R: dst.File(), Size: s.Size}).SHA256(ctx, nil); err != nil {
		return err
	}
	rep.Identical = rep.SHA256 == s.SHA256
	if err := dst.Commit(ctx); err != nil {
		return err
	}
	rep.Seconds = display.Round(time.Since(start).Seconds(), 6)
	j.Entry.Target, j.Entry.Size, j.Entry.ArchiveSize, j.Entry.SHA256 = path, rep.Size, in.Size, rep.SHA256
	sum.Files++
	sum.Size += rep.Size
	sum.ArchiveSize += in.Size
	if len(s.Rounded) > 0 {
		j.Term.Message("warning: %s: values of %s were rounded before they were archived; the file differs from the source", in.Name, display.Count(int64(len(s.Rounded)), "variable"))
	}
	if reportSalvage(j, terminal.ShowName(j.Name), &rep, s.SHA256 != "") {
		return nil
	}
	if set, err := parity.Find(ctx, in.R, in.Size, nil); err == nil && set != nil {
		j.Term.Message("warning: %s: the archive has parity, which --salvage does not use: cdfz repair may heal it", in.Name)
	}
	return nil
}

// reportSalvage reports whether the target is as good as the original, as far as is known.
func reportSalvage(j *cli.Job, name string, rep *salvageReport, known bool) (whole bool) {
	if rep.Identical {
		rep.Contradicted = report.DamageList(nil) // the first version was the right one
	}
	whole = len(rep.Lost) == 0 && len(rep.Contradicted) == 0 && (rep.Identical || !known)
	if !whole {
		j.Term.SetCode(terminal.ExitDamaged)
		j.Entry.Outcome, j.Entry.Exit = runlog.Damaged, terminal.ExitDamaged
	}
	if j.Term.JSON {
		j.Term.Emit(rep)
		return whole
	}
	report.PrintDamage(j.Term, name, rep.Lost)
	report.PrintDamage(j.Term, name, rep.Contradicted)
	line := fmt.Sprintf("%s: %s, ", rep.Target, display.Size(rep.Size))
	switch {
	case rep.Identical:
		line += "identical to the original"
	case len(rep.Lost) > 0:
		line += fmt.Sprintf("%d of %s lost and filled with fill values", len(rep.Lost), display.Count(rep.Blocks, "block"))
	case len(rep.Contradicted) > 0:
		line += fmt.Sprintf("%d of %s contradicted by other intact bytes", len(rep.Contradicted), display.Count(rep.Blocks, "block"))
	case known:
		line += "all blocks are intact, but the SHA-256 is not that of the original"
	default:
		line += "all blocks are intact; the SHA-256 of the original is lost"
	}
	j.Term.Report("%s", line)
	return whole
}
