// Package repair is the verb repair. The module's package archive/repair does the work.
package repair

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/report"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
)

// repairReport is the JSON of a repaired file.
type repairReport struct {
	File      string          `json:"file"`
	Target    string          `json:"target"`    // the file itself, or -o
	Intact    bool            `json:"intact"`    // there was nothing to do
	Identical bool            `json:"identical"` // it is now known to equal the archive as written
	Blocks    int64           `json:"blocks"`
	Kept      int64           `json:"kept"`    // bytes before the index
	Written   int64           `json:"written"` // bytes of index, directory and end
	Headers   int64           `json:"headers"` // rewritten local headers
	Front     bool            `json:"front"`   // plan and Zarr metadata were rewritten
	Healed    int             `json:"healed"`  // netCDF header and second copies that were restored
	After     int64           `json:"after"`   // bytes after the archive, cut off
	Size      int64           `json:"size"`
	Damage    []report.Damage `json:"damage"` // remaining damage
	Parity    *report.Parity  `json:"parity,omitempty"`
}

// repairer runs the verb repair.
type repairer struct {
	*cli.App
	quick bool
}

func Command(a *cli.App) *cobra.Command {
	v := &repairer{App: a}
	cmd := &cobra.Command{
		Use:   "repair [flags] FILE",
		Short: "Repair the structures of an archive",
		Long: `Rebuilds index, directory, local headers and Zarr metadata of an archive.
Each block is described in several places. repair trusts the description that the bytes
of the block confirm. Everything that was readable before stays readable. Remaining damage
is listed by variable and index range, and the exit code is 3. If the manifest is lost, which
follows the blocks, nothing is changed. cdfz restore --salvage restores the intact values then.

An archive with parity is healed first: see cdfz archive --parity.

In place, repair rewrites damaged local headers and metadata where they are, and then
everything after the last block. It can be interrupted and repeated. The archive keeps its
modification time. -o writes a new file instead. Bytes after the archive are cut off only
with -f, and another file after it only with --replace-other. An object of a store is
repaired with -o, into another object or a file.`,
		Example: cli.Examples(
			"cdfz repair tas.nc.cdfz                    # in place",
			"cdfz repair -o repaired.nc.cdfz tas.nc.cdfz",
			"cdfz repair -o s3://bucket/repaired/ s3://bucket/tas.nc.cdfz"),
		Args:              cli.OneFile,
		ValidArgsFunction: cli.CompleteArchives,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.ToObjects = true
			if err := a.CheckDest(args); err != nil {
				return err
			}
			if err := v.repair(cmd.Context(), args[0]); err != nil {
				a.FailFile(terminal.ShowName(args[0]), err)
			}
			return nil
		},
	}
	a.ForceFlagFor(cmd, "overwrite a target that exists, but not an archive of another file; cut off bytes after the archive")
	cmd.Flags().BoolVar(&v.quick, "quick", false, "do not read blocks whose headers are consistent")
	a.MemoryFlag(cmd)
	a.JSONFlag(cmd)
	a.DestFlag(cmd, "write a new archive to `OUT`: a name, a folder, or - for standard output")
	return cmd
}

func (v *repairer) repair(ctx context.Context, name string) error {
	in, err := v.OpenToChange(ctx, fileio.Job{Name: name})
	if err != nil {
		return err
	}
	defer func() { in.Close() }()
	h, err := repair.Heal(ctx, in.R, in.Size, &repair.HealOptions{Workers: v.Workers, Memory: v.BlockMemory(), Quick: v.quick, CutAfter: v.Force})
	if err != nil {
		return fileio.ExplainNotArchive(in, err)
	}
	defer h.Close()
	if h.Lost != nil {
		v.Message("warning: %s: %s", in.Name, terminal.WithoutPackages(h.Lost.Error()))
	}
	v.StartProgress("repair", in.Size)
	p, err := repair.Repair(ctx, h, h.Size(), &repair.Options{Quick: v.quick, Progress: v.Step(in.Name, in.Size, 0, 1)})
	v.StopProgress()
	if errors.Is(err, archive.ErrCorrupt) {
		return v.healOnly(ctx, in, h, err)
	}
	if err != nil {
		return fileio.ExplainNotArchive(in, err)
	}
	defer p.Close()
	healed := report.Healed(h)
	rep := &repairReport{
		File: terminal.ReportName(name), Target: terminal.ReportName(name), Parity: healed, Intact: p.Intact() && !h.Changed(), Identical: p.Identical, Blocks: p.Blocks, Kept: p.Keep, Headers: p.Headers,
		Front: p.Front, Healed: p.Healed(), After: h.After + p.After, Size: p.Size, Damage: report.DamageList(p.Damage),
	}
	switch {
	case v.Dest != "":
		err = v.repairTo(ctx, in, p, rep)
	case rep.After > 0 && !v.ReplaceOther && v.holdsFile(ctx, in, in.Size-rep.After):
		err = fmt.Errorf("the archive ends at byte %d, and the %d bytes after it are another file, which is kept: %w", in.Size-rep.After, rep.After, archive.ErrCorrupt)
		return terminal.Hinted(err, "-o OUT writes the archive alone, tail -c %d FILE >OTHER the bytes after it; nothing was changed", rep.After)
	case p.After > 0 && !v.Force:
		err = fmt.Errorf("%d bytes follow the archive, which ends at byte %d: %w", p.After, p.Size, archive.ErrCorrupt)
		return terminal.Hinted(err, "-f cuts them off, -o OUT leaves them out; nothing was changed")
	default:
		if err = h.Commit(ctx, in.File); err == nil && !p.Intact() {
			rep.Written, err = p.Commit(ctx, in.File)
		}
		if err != nil {
			err = terminal.Hinted(err, "repair can be run again: it changed nothing that it needs")
		}
	}
	if v.Dest == "" && !rep.Intact {
		// restore gives this time to the netCDF file, and archive compares it with that of the source.
		in.KeepTime()
	}
	if err == nil && p.Unsure && !v.quick && v.Dest != terminal.StdoutName {
		err = v.checkRepaired(ctx, rep)
	}
	if err != nil {
		return err
	}
	v.reportRepair(rep)
	return nil
}

// holdsFile reports whether the bytes after an archive are another archive or a classic file.
// Bytes of a run of parity that was stopped are not.
func (v *repairer) holdsFile(ctx context.Context, in *fileio.Input, from int64) bool {
	r, size := io.NewSectionReader(in.R, from, in.Size-from), in.Size-from
	if _, err := cdf3.Read(r, size); err == nil {
		return true
	}
	s, err := repair.Salvage(ctx, r, size, nil)
	if err != nil {
		return false
	}
	s.Close()
	return true
}

// healOnly writes what was healed of an archive whose structures cannot be repaired.
func (v *repairer) healOnly(ctx context.Context, in *fileio.Input, h *repair.Healed, err error) error {
	if v.Dest != "" || !h.Changed() {
		return terminal.Hinted(err, "nothing was changed; cdfz restore --salvage restores the intact parts")
	}
	if h.After > 0 && !v.ReplaceOther && v.holdsFile(ctx, in, in.Size-h.After) {
		return terminal.Hinted(err, "nothing was changed, since the last %d bytes are another file; cdfz restore --salvage restores the intact parts", h.After)
	}
	if err := h.Commit(ctx, in.File); err != nil {
		return terminal.Hinted(err, "repair can be run again: it changed nothing that it needs")
	}
	in.KeepTime()
	return terminal.Hinted(err, "%s; cdfz restore --salvage restores the intact parts", strings.TrimPrefix(report.Healed(h).Text(), ", "))
}

// checkRepaired compares the SHA-256 of the image if nothing else shows whether the
// repair was right.
func (v *repairer) checkRepaired(ctx context.Context, rep *repairReport) error {
	in, r, err := v.OpenArchive(ctx, fileio.Job{Name: rep.Target})
	if err != nil {
		return err
	}
	defer in.Close()
	return r.Image().Copy(ctx, nil, &archive.CopyOptions{Workers: v.Workers, Memory: v.BlockMemory(), SHA256: true})
}

func (v *repairer) reportRepair(rep *repairReport) {
	if len(rep.Damage) > 0 {
		v.SetCode(terminal.ExitDamaged)
	}
	shown := terminal.ShowName(rep.File)
	switch {
	case v.Dest == terminal.StdoutName:
		for i := range rep.Damage {
			v.Message("%s: %s", shown, rep.Damage[i].Text)
		}
		return
	case v.JSON:
		v.Emit(rep)
		return
	}
	report.PrintDamage(&v.Terminal, shown, rep.Damage)
	if rep.Parity != nil && len(rep.Parity.Lost) > 0 {
		v.Print("%s: parity cannot heal %s", shown, report.Ranges(rep.Parity.Lost))
	}
	if rep.Intact {
		if len(rep.Damage) == 0 {
			v.Report("%s: nothing to repair", shown)
		} else {
			v.Report("%s: nothing can be repaired", shown)
		}
		return
	}
	line := fmt.Sprintf("%s: %s found, %d bytes kept, %d rewritten", shown, display.Count(rep.Blocks, "block"), rep.Kept, rep.Written)
	if rep.Headers > 0 {
		line += ", " + display.Count(rep.Headers, "local header") + " repaired"
	}
	if rep.Front {
		line += ", metadata regenerated"
	}
	if rep.Healed > 0 {
		line += ", " + display.Count(int64(rep.Healed), "part") + " restored from the other copy"
	}
	line += rep.Parity.Text()
	if rep.After > 0 {
		line += fmt.Sprintf(", %d bytes after the archive cut off", rep.After)
	}
	if rep.Identical {
		line += "; identical to the original archive"
	}
	v.Report("%s", line)
}

// repairTo writes a new archive.
func (v *repairer) repairTo(ctx context.Context, in *fileio.Input, p *repair.Repaired, rep *repairReport) error {
	path, err := v.TargetPath(fileio.Job{Name: in.Name, Rel: fileio.BaseName(in.Name)}, func(s string) (string, error) { return s, nil })
	if err != nil {
		return err
	}
	dst, err := v.Sink(ctx, path, in)
	if err != nil {
		return err
	}
	defer dst.Abort()
	w := bufio.NewWriterSize(fileio.CtxWriter{Ctx: ctx, W: dst}, 1<<18)
	n, err := p.WriteTo(ctx, w)
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = in.Changed()
	}
	if err != nil {
		return err
	}
	rep.Target, rep.Written, rep.Size = path, n-p.Keep, n
	return dst.Commit(ctx)
}
