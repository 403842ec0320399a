// Package verify is the verb verify, also with --against. The module's package archive/verify does the work.
package verify

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/receiptfile"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/report"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/internal/runlog"
)

// verifier runs the verb verify.
type verifier struct {
	run     *cli.Run
	against originals
	scrub   scrub
	trees   trees
	sha256  bool
}

// verifyReport is the JSON of one verified file.
type verifyReport struct {
	File      string `json:"file"`
	Kind      string `json:"kind,omitempty"` // plain for a file that was kept as it is
	OK        bool   `json:"ok"`
	Damaged   int    `json:"damaged"`
	Size      int64  `json:"size"`
	Entries   int64  `json:"entries"`
	Blocks    int64  `json:"blocks"`
	Image     string `json:"image"`
	ImageSize int64  `json:"image_size"`
	SHA256    string `json:"sha256"`
	Original  string `json:"original,omitempty"` // file with the same bytes, from --against
	// Compressed describes an original that holds the same bytes compressed.
	Compressed *receiptfile.Compressed `json:"compressed,omitempty"`
	// Before is the SHA-256 of the netCDF file that the archive held before, with --accept-changes.
	Before  string          `json:"sha256_before,omitempty"`
	Seconds float64         `json:"seconds"`
	Damage  []report.Damage `json:"damage"`
	Parity  *report.Parity  `json:"parity,omitempty"`
	// Loss lists values that were rounded before they were archived.
	Loss *report.Loss `json:"loss,omitempty"`

	older bool // it is an older state, which --against does not compare
}

func Command(run *cli.Run) *cobra.Command {
	v := &verifier{run: run}
	cmd := &cobra.Command{
		Use:   "verify [flags] FILE…",
		Short: "Check every byte of archives",
		Long: `Checks every byte of each archive: all checksums, all structures against each other,
and the decoded netCDF file. All damage is listed by variable, index range and archive
bytes. The last line of a file is "ok" or a count.

Files of 8 MiB and more are compared with a sum of 128 bits that all cores compute.
--sha256 computes the SHA-256 as well, on one core, as restore does.

--against also reads the original files, and compares the SHA-256 of both. Exit code 0
means that every archive restores exactly the bytes of its original. An ORIGINAL that is
an archive stands for the file that it holds; FILE itself, under whatever name, is none, nor
is what cdfz mounts or serves. Use one --against for each FILE, in the same order, or a folder of originals for a folder of archives. Each of them
may be in a store. A local ORIGINAL that is compressed with gzip, bzip2, xz or zstd and is named so
is decompressed, as archive --decompress does. If a folder has no x.nc, the first of x.nc.gz,
x.nc.bz2, x.nc.xz and x.nc.zst is the original. The report names the file that was compared.
An archive of an older state, which archive --replace-changed has kept beside the current one, need not have
an original in a folder: the summary counts those that were not compared.

A FILE that ends in .ncml, which cdfz join makes, is checked with all its members: they are those that
were joined, they fit together, and every byte of the archives among them is intact. Classic
netCDF files are read as a whole if the description has their SHA-256 (cdfz join --sha256).

FILE may be a folder: archives below it, named *.cdfz, are checked, and other files
are skipped. It may also be an http, https, s3 or gs URL, or - for standard input.

` + cli.PrefixHelp + `

--state FILE notes when each archive was last proved. The run then begins with archives that are not
in FILE or have changed, and with those that were proved longest ago. --older-than 90d passes over
what was proved in the last 90 days, so that the same command continues a run that was stopped.
--sample 1% checks that part of the bytes: 100 runs with --state read everything. --rate 50M reads
at most that many bytes of archives and originals a second, so that other programs can work.

An archive that is not the file that was proved is due: its file system, inode, times or size are
others, or the ETag of an object. It has to hold the same netCDF file as before. If it holds another
one, and if an archive that FILE has is gone from below a folder or prefix of this run, the exit code
is 1 until a run with --accept-changes names it, alone or with its folder. A folder that was renamed
keeps its state. --moved-from DIR tells that what was below DIR was copied to the only FILE.

` + cli.SelectHelp + `

` + cli.LogHelp,
		Example: cli.Examples(
			"cdfz verify tas.nc.cdfz",
			"cdfz verify --against tas.nc tas.nc.cdfz",
			"cdfz verify --against data/ archives/      # originals in data/, archives in archives/",
			"cdfz verify --against data/ s3://bucket/run7/",
			"cdfz verify --state scrub.jsonl --older-than 90d --rate 50M archives/"),
		Args:              run.FilesOrList,
		ValidArgsFunction: cli.CompleteArchives,
		RunE: func(cmd *cobra.Command, args []string) error {
			run.In.Whole = fileio.WholeObject
			if err := v.scrub.check(args); err != nil {
				return err
			}
			if err := v.against.check(args, run.Select.From != ""); err != nil {
				return err
			}
			run.Select.Repeats = v.against.given() // with several originals
			if err := run.OpenLog(cmd.Context(), "verify"); err != nil {
				run.Term.FailFile(run.LogName(), err)
				return nil
			}
			if err := v.scrub.open(cmd.Context(), run, args); err != nil {
				run.Term.FailFile(v.scrub.stateName, err)
				return nil
			}
			v.do(cmd.Context(), args)
			if err := v.scrub.close(); err != nil {
				run.Term.FailFile(v.scrub.stateName, err)
			}
			return nil
		},
	}
	run.DurableMountFlag(cmd)
	cli.Flags(cmd, "What to verify", func(f *pflag.FlagSet) {
		f.StringArrayVar(&v.against.names, "against", nil, "compare with the `ORIGINAL` file or folder too; repeatable")
		f.BoolVar(&v.sha256, "sha256", false, "compute the SHA-256 of each netCDF file, too")
	})
	v.scrub.addFlags(cmd)
	run.SelectFlags(cmd)
	run.LogFlag(cmd)
	run.NoWaitFlag(cmd, cli.NoWaitText)
	run.JSONFlag(cmd)
	run.StatsFlag(cmd)
	run.RequestsFlag(cmd)
	run.MemoryFlag(cmd)
	run.VerboseFlag(cmd)
	return cmd
}

// do checks files and those in folders. For folders it reports the numbers of intact
// and damaged files.
func (v *verifier) do(ctx context.Context, args []string) {
	var ok, older, damaged, failedFiles int64
	failed := func(name string, err error) {
		switch {
		case terminal.Interrupted(err):
		case errors.Is(err, fileio.ErrEmpty):
			damaged++
		default:
			failedFiles++
		}
		v.run.Term.FailFile(name, v.hinted(err))
	}
	args = v.acceptMissing(args)
	var unread []string
	listFailed := func(name string, err error) {
		unread = append(unread, name)
		failed(name, err)
	}
	v.run.Finder.Checks = true
	v.trees.find(ctx, v.run.Finder, args, failed)
	files := v.run.Find(ctx, args, v.selects, listFailed)
	defer func() { files.Close() }()
	if v.run.Select.Balance || v.scrub.chooses() {
		v.run.Load(ctx, &files, listFailed)
		if v.scrub.state != nil {
			v.looksFor(ctx, args, &files, unread)
		}
		if err := v.run.Finder.Divide(&files); err != nil {
			v.run.Term.Usage(err)
			return
		}
	}
	all := len(files.Files)
	if v.scrub.chooses() {
		v.due(&files)
	}
	if all == 0 && v.scrub.lost == 0 && v.run.Select.Shard.N == 0 && !files.Grows() && failedFiles == 0 && !v.run.Term.Stopped(ctx) {
		v.run.NoArchives(args)
		return
	}
	v.run.Term.StartProgress("verify", files.Sizes()...)
	v.run.Parallel(ctx, files, cli.Work{Failed: failed, Fixed: 24 << 20, PerByte: 8, One: func(ctx context.Context, j *cli.Job) (func(), error) {
		one := v.one
		if fileio.IsDataset(j.Name) {
			one = v.dataset
		}
		for _, e := range v.trees.list.Entries(j.Name) {
			v.trees.mu.Lock()
			v.trees.met[e] = true
			v.trees.mu.Unlock()
			if e.Kind == treefile.Plain {
				one = func(ctx context.Context, j *cli.Job) (verdict, error) { return v.plain(ctx, j, e) }
			}
		}
		found, err := one(ctx, j)
		if found == broken && ctx.Err() == nil && v.keepsState(j.Name) {
			v.scrub.state.Revoke(v.nameInState(j.Name))
		}
		return func() {
			switch {
			case err != nil:
			case found == intact:
				ok++
			case found == olderState:
				ok++
				older++
			case found == provedBefore:
				v.scrub.passed++
			case found == missing:
				v.scrub.lost++
			default:
				damaged++
			}
		}, err
	}})
	if v.run.Select.From == "" && !v.scrub.chooses() && ctx.Err() == nil {
		v.trees.missing(v.run.Select.Chooses, func(name string, err error) {
			v.run.LogFailure(name, err)
			failed(name, err)
		})
	}
	if files.Grows() && v.run.Select.Shard.N == 0 && ok+damaged+failedFiles == 0 && !v.run.Term.Stopped(ctx) {
		v.run.NoArchives(args)
		return
	}
	if files.Folders || v.scrub.chooses() {
		line := fmt.Sprintf("%s: %d ok, %d damaged", display.Count(ok+damaged, "file"), ok, damaged)
		if older > 0 {
			line += fmt.Sprintf("; %d of an older state, not compared", older)
		}
		if n := v.scrub.passed; n > 0 {
			line += fmt.Sprintf("; %d proved before", n)
		}
		if n := v.scrub.lost; n > 0 {
			line += fmt.Sprintf("; %d gone", n)
		}
		v.run.Term.Report("%s%s", line, files.SummaryTail(ctx, failedFiles))
	}
}

// verdict is what was found of a file.
type verdict int

const (
	broken       verdict = iota // it is damaged, or could not be checked
	intact                      // it was checked
	olderState                  // it was checked, but --against does not compare it
	provedBefore                // it is not due
	missing                     // it is gone, which the user accepts
)

// one checks a file and prints its damage. The error is for files that could not be
// checked or differ from the original.
func (v *verifier) one(ctx context.Context, j *cli.Job) (verdict, error) {
	in, err := v.run.In.OpenFile(ctx, j.File)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && v.acceptsGone(j) {
			return missing, nil
		}
		return broken, err
	}
	defer in.Close()
	if v.passesOver(j, in) {
		return provedBefore, nil
	}
	v.scrub.slow(ctx, in)
	start := time.Now()
	state, err := j.State(ctx)
	if err != nil {
		return broken, err
	}
	given := v.against.given()
	against := given && state.Current == "" // an original is the current state
	passes := 1
	if against {
		passes = 2
	}
	o := &verify.Options{
		Workers: j.Limits.Workers, Memory: j.Limits.BlockMemory(), Progress: verifyStep(ctx, j, in, passes), SHA256: v.sha256 || against,
	}
	rep, err := verify.Verify(ctx, in.R, in.Size, o)
	var outlook *repair.Outlook
	if err == nil {
		outlook, err = repair.Preview(ctx, in.R, in.Size, rep, o)
	}
	if err != nil {
		return broken, fileio.ExplainNotArchive(in, err)
	}
	if err := ctx.Err(); err != nil {
		return broken, err
	}
	out := verifyReport{
		File: terminal.ReportName(j.Name), OK: len(rep.Damage) == 0, Damaged: len(rep.Damage), Size: rep.Size, Entries: rep.Entries, Blocks: rep.Blocks,
		Image: rep.Image, ImageSize: rep.ImageSize, SHA256: rep.SHA256, Damage: report.DamageList(rep.Damage),
		Parity: report.Verified(rep, outlook), older: given && !against,
	}
	j.Entry.Size, j.Entry.ArchiveSize, j.Entry.Ratio, j.Entry.SHA256 = rep.ImageSize, rep.Size, display.Ratio(rep.ImageSize, rep.Size), rep.SHA256
	if out.OK && len(rep.Rounded) > 0 {
		f, err := archive.New(ctx, in.R, in.Size, nil)
		if err != nil {
			return broken, err
		}
		out.Loss = report.LossOf(f)
	}
	if out.OK && against {
		if err = v.compare(ctx, j, in, &out); err != nil {
			return broken, err
		}
	}
	if out.OK {
		if out.Before, err = v.note(j, in, rep.SHA256, start); err != nil {
			return broken, err
		}
	} else {
		j.Term.SetCode(terminal.ExitDamaged)
		j.Entry.Outcome, j.Entry.Exit = runlog.Damaged, terminal.ExitDamaged
		j.Entry.Error = fmt.Sprintf("%d damaged, the first: %s", out.Damaged, rep.Damage[0].Text)
	}
	out.Seconds = display.Round(time.Since(start).Seconds(), 6)
	out.print(j.Term)
	return out.verdict(), nil
}

// verdict returns what the report tells of the file.
func (rep *verifyReport) verdict() verdict {
	switch {
	case !rep.OK:
		return broken
	case rep.older:
		return olderState
	}
	return intact
}

// progressSize is the size from which an archive can take so long that a log shows its progress.
const progressSize = 1 << 28

// verifyStep returns the progress callback for verify.Verify, which counts the bytes of
// the archive and of the image.
func verifyStep(ctx context.Context, j *cli.Job, in *fileio.Input, passes int) func(int64) {
	total := in.Size
	if total < progressSize && !j.Term.ShowsProgress() {
		return nil
	}
	// The amount of work is known if the archive opens.
	if f, err := archive.New(ctx, in.R, in.Size, nil); err == nil {
		if info, ok := f.Info(); ok {
			total += info.ImageSize
		}
	}
	return j.Term.Step(in.Name, total, 0, passes)
}

func (rep *verifyReport) print(p *terminal.Printer) {
	if p.JSON {
		p.Emit(rep)
		return
	}
	name := terminal.ShowName(rep.File)
	report.PrintDamage(p, name, rep.Damage)
	switch {
	case !rep.OK:
		if rep.Parity != nil {
			p.Print("%s: %s", name, rep.Parity.Hope())
		}
		p.Print("%s: %d damaged", name, rep.Damaged)
	case rep.Before != "":
		p.Report("%s: ok, accepted: it holds SHA-256 %s, before %s", name, rep.SHA256, rep.Before)
	case rep.Compressed != nil:
		p.Report("%s: ok, same as the file in %s", name, rep.Original)
	case rep.Original != "":
		p.Report("%s: ok, same as %s", name, rep.Original)
	case rep.Loss != nil:
		p.Report("%s: ok; %s", name, rep.Loss)
	default:
		p.Report("%s: ok", name)
	}
}
