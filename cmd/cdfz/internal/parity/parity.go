// Package parity is the verb parity, which adds parity to archives, or changes or removes it. The
// module's package archive/parity does the work.
package parity

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// protector runs the verb parity.
type protector struct {
	run   *cli.Run
	share parity.Share
}

// added is the JSON of one file.
type added struct {
	File    string  `json:"file"`
	Target  string  `json:"target"`
	Percent float64 `json:"percent"`
	Changed bool    `json:"changed"`
	Parity  int64   `json:"parity_size"`
	Size    int64   `json:"size"`
	Seconds float64 `json:"seconds"`
}

// DefaultShare is the parity that heals damage of 2 % of an archive.
const DefaultShare parity.Share = 5

// Command returns the verb parity.
func Command(run *cli.Run) *cobra.Command {
	v := &protector{run: run, share: DefaultShare}
	cmd := &cobra.Command{
		Use:   "parity [flags] FILE…",
		Short: "Add parity to archives, or change or remove it",
		Long: `Adds parity to archives, from which cdfz repair heals damage. With 5% of parity, up to
2 % of the file may be damaged, as one burst or in scattered sectors of 4 KiB. The
result is the same as that of cdfz archive --parity.

Each archive is verified first, because parity would preserve damage. Damaged parity can be
replaced or removed if everything else is intact. Parity is added in
place if the archive has none and its tail is shorter than the parity. Otherwise a new
file replaces the archive. -o writes a new archive and leaves FILE alone. Other files of a folder that archive --whole
has made get no parity, and are counted in a message.

The parity of a volume is a file beside it, 0001.tar.parity, or what -o names with this ending, from which
cdfz repair -o NEW.tar heals it. In a store, it is an object.

If appending is interrupted, the archive is intact, but may have bytes after its end:
cdfz repair -f cuts them off.`,
		Example: cli.Examples(
			"cdfz parity tas.nc.cdfz                    # 5%",
			"cdfz parity -p 10% archives/*.cdfz",
			"cdfz parity vol/                           # of each volume: 0001.tar.parity, …",
			"cdfz parity s3://bucket/vol/               # the same in a store",
			"cdfz parity -p 0 tas.nc.cdfz               # removes the parity"),
		Args:              cli.MinFiles,
		ValidArgsFunction: cli.CompleteArchives,
		RunE: func(cmd *cobra.Command, args []string) error {
			run.Dest.ToObjects, run.Dest.Beside = true, true
			run.Targets.OfMembers = !v.besideVolume()
			if err := run.Targets.Check(args); err != nil {
				return err
			}
			v.run.Finder.NoVolumes = v.besideVolume() // nothing in a volume can be changed in place
			pred := fileio.Archives
			if v.besideVolume() {
				pred = selects
			}
			some := false // files or failures
			failed := func(name string, err error) {
				some = true
				v.run.Term.FailFile(name, err)
			}
			files := v.run.Find(cmd.Context(), args, pred, failed)
			defer files.Close()
			v.run.Term.StartProgress("parity", files.Sizes()...)
			v.run.Each(cmd.Context(), files, func(j *cli.Job) error {
				some = true
				return v.one(cmd.Context(), j)
			}, failed)
			others := otherFiles(cmd.Context(), args)
			switch {
			case !some && others == 0 && !v.run.Term.Stopped(cmd.Context()):
				v.run.NoArchives(args)
			case others > 0 && v.share > 0 && !v.run.Term.Quiet:
				v.run.Term.Message("no parity for %s of the tree: it is a part of archives, and only another copy can heal other files", display.Count(others, "other file"))
			}
			return nil
		},
	}
	cli.Flags(cmd, "Parity", func(f *pflag.FlagSet) {
		f.VarP(&cli.ShareFlag{S: &v.share}, "percent", "p", "parity in percent of the archive; 0 removes it")
	})
	run.DestFlag(cmd, "write a new archive to `OUT`: a name, a folder, or - for standard output")
	run.ForceFlag(cmd)
	run.MemoryFlag(cmd)
	run.JSONFlag(cmd)
	run.VerboseFlag(cmd)
	return cmd
}

// one changes the parity of one archive.
func (v *protector) one(ctx context.Context, j *cli.Job) error {
	if v.isVolume(j) {
		return v.volume(ctx, j)
	}
	in, err := v.run.In.OpenToChange(ctx, j.File)
	if err != nil {
		return err
	}
	defer in.Close()
	start := time.Now()
	rep := &added{File: terminal.ReportName(j.Name), Target: j.Name, Percent: float64(v.share), Size: in.Size}
	if rep.Target, err = v.run.Targets.PathOf(j.File, func(s string) (string, error) { return s, nil }); err != nil {
		return err
	}
	has, same, err := v.check(ctx, j, in)
	if err != nil {
		return err
	}
	if same != nil || !has && v.share == 0 {
		if same != nil {
			rep.Parity = same.Bytes().Len
		}
		if v.run.Dest.Name == "" {
			return v.done(j, rep, start)
		}
	}
	overlaps := true
	if !has && v.share > 0 {
		if _, overlaps, err = parity.Plan(ctx, in.R, in.Size, v.share); err != nil {
			return err
		}
	}
	rep.Changed = true
	switch {
	case v.run.Dest.Name == "" && !overlaps:
		err = v.append(ctx, j, in, rep)
	case v.run.Dest.IsStdout():
		err = v.toStdout(ctx, j, in, has, rep)
	default:
		err = v.copy(ctx, j, in, has, rep)
	}
	if err != nil {
		return err
	}
	return v.done(j, rep, start)
}

// check verifies an archive. It returns whether it has parity, and that if it is as wanted. Damage
// of the parity alone counts only if the archive is to keep it.
func (v *protector) check(ctx context.Context, j *cli.Job, in *fileio.Input) (has bool, same *parity.Report, err error) {
	rep, err := verify.Verify(ctx, in.R, in.Size, &verify.Options{Workers: j.Limits.Workers, Memory: j.Limits.BlockMemory(), Progress: j.Term.Step(in.Name, 2*in.Size, 0, 1)})
	if err != nil {
		return false, nil, fileio.ExplainNotArchive(in, err)
	}
	if err := ctx.Err(); err != nil {
		return false, nil, err
	}
	has = rep.Parity != nil
	if has && rep.Parity.Share == v.share {
		same = rep.Parity
	}
	n := 0
	for _, d := range rep.Damage {
		if d.Kind == verify.DamageParity {
			has = true
		}
		if d.Kind != verify.DamageParity || same != nil {
			n++
		}
	}
	if n > 0 {
		err := fmt.Errorf("found damage at %s, which parity would preserve: %w", display.Count(int64(n), "place"), archive.ErrCorrupt)
		return has, same, terminal.Hinted(err, "cdfz verify lists the damage, cdfz repair may repair it")
	}
	return has, same, nil
}

// append adds parity in place. The modification time stays, because cdfz archive compares
// it with that of the source.
func (v *protector) append(ctx context.Context, j *cli.Job, in *fileio.Input, rep *added) error {
	l, err := parity.Add(ctx, in.File, in.Size, v.share, options(j))
	if err == nil {
		err = in.File.Sync()
	}
	if err != nil {
		return terminal.Hinted(err, "the archive is intact; if bytes follow it, cdfz repair -f cuts them off")
	}
	in.KeepTime()
	rep.Parity, rep.Size = l.Bytes().Len, l.Size
	return nil
}

func options(j *cli.Job) *parity.Options {
	return &parity.Options{Workers: j.Limits.Workers, Memory: j.Limits.BlockMemory()}
}

// copy writes a new archive, which may replace the old one.
func (v *protector) copy(ctx context.Context, j *cli.Job, in *fileio.Input, has bool, rep *added) error {
	t := j.Target(rep.Target, in)
	if t.Proved = true; v.run.Dest.Name == "" {
		t.Decision = protect.InPlace
	}
	dst, err := t.Sink(ctx)
	if err != nil {
		return err
	}
	defer dst.Abort()
	if err := v.write(ctx, j, dst.File(), in, has, rep); err != nil {
		return err
	}
	return dst.Commit(ctx)
}

// toStdout writes a new archive to standard output.
func (v *protector) toStdout(ctx context.Context, j *cli.Job, in *fileio.Input, has bool, rep *added) error {
	t, err := atomicfile.Temp() // parity is added to a file
	if err != nil {
		return err
	}
	defer t.Close()
	if err := v.write(ctx, j, t, in, has, rep); err != nil {
		return err
	}
	_, err = io.Copy(fileio.CtxWriter{Ctx: ctx, W: j.Term.Out}, io.NewSectionReader(t, 0, rep.Size))
	return err
}

// write makes a new archive in an empty file.
func (v *protector) write(ctx context.Context, j *cli.Job, t fileio.Rewritable, in *fileio.Input, has bool, rep *added) (err error) {
	if _, err := io.Copy(fileio.CtxWriter{Ctx: ctx, W: t}, io.NewSectionReader(in.R, 0, in.Size)); err != nil {
		return err
	}
	if has {
		if rep.Size, err = parity.Remove(ctx, t, rep.Size); err != nil {
			return err
		}
	}
	if v.share > 0 {
		l, err := parity.Add(ctx, t, rep.Size, v.share, options(j))
		if err != nil {
			return err
		}
		rep.Parity, rep.Size = l.Bytes().Len, l.Size
	}
	return in.Changed()
}

func (v *protector) done(j *cli.Job, rep *added, start time.Time) error {
	rep.Seconds = display.Round(time.Since(start).Seconds(), 6)
	switch {
	case v.run.Dest.IsStdout():
	case j.Term.JSON:
		j.Term.Emit(rep)
	case !rep.Changed && rep.Parity > 0:
		j.Term.Report("%s: already has %s of parity", terminal.ShowName(rep.File), v.share)
	case !rep.Changed:
		j.Term.Report("%s: has no parity", terminal.ShowName(rep.File))
	case v.share == 0:
		j.Term.Report("%s: parity removed, %s", rep.Target, display.Size(rep.Size))
	case v.isVolume(j):
		j.Term.Report("%s: %s of parity, %s for %s", rep.Target, v.share, display.Size(rep.Parity), display.Size(rep.Size))
	default:
		j.Term.Report("%s: %s of parity, %s of %s", rep.Target, v.share, display.Size(rep.Parity), display.Size(rep.Size))
	}
	return nil
}
