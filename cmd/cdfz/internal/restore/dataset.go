package restore

import (
	"context"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
)

// dataset writes joined files as one netCDF file. There is no sum of it to compare with. The blocks of
// archives are checked as always.
func (v *restorer) dataset(ctx context.Context, j *cli.Job, sum *restoreSum) error {
	in, _, f, err := v.run.In.OpenDataset(ctx, j.File, j.Limits.OpenOptions())
	if err != nil {
		return err
	}
	defer in.Close()
	path, err := v.run.Targets.PathOf(j.File, fileio.StripDatasetSuffix)
	if err != nil {
		return err
	}
	size := f.Image().Size()
	j.Entry.Target, j.Entry.Size, j.Entry.ArchiveSize = path, size, in.Size
	start := time.Now()
	t := j.Target(path, in)
	t.Sparse = v.sparse
	dst, err := t.Sink(ctx)
	if err != nil {
		return err
	}
	defer dst.Abort()
	if err = f.Image().Copy(ctx, dst, &archive.CopyOptions{Progress: j.Term.Step(in.Name, size, 0, 1)}); err == nil {
		err = in.Changed()
	}
	if err == nil {
		err = dst.Commit(ctx)
	}
	if err != nil {
		return fileio.ExplainDamage(err, in, f, "cdfz verify lists all damage of an archive")
	}
	v.restored(j, &restoreReport{File: terminal.ReportName(j.Name), Target: path, Size: size, ArchiveSize: in.Size, Seconds: display.Round(time.Since(start).Seconds(), 6)}, sum)
	return nil
}
