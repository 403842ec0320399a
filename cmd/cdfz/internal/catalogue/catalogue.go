// Package catalogue is the verb catalogue: a table of the variables of many archives. Package cataloguefile
// does the work.
package catalogue

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cataloguefile"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/remote"
)

// partSuffix is the ending of catalogues among the FILE arguments.
const partSuffix = ".parquet"

// cataloguer runs the verb catalogue.
type cataloguer struct {
	run              *cli.Run
	states, receipts []string // --state, --receipts
	proofs           proofs
	parts            []string // FILE arguments that are catalogues
	files            []string // the others
	trees            fileio.Trees
}

// Command makes cdfz catalogue.
func Command(run *cli.Run) *cobra.Command {
	v := &cataloguer{run: run}
	cmd := &cobra.Command{
		Use:   "catalogue [flags] -o OUT.parquet FILE…",
		Short: "List the variables of many archives in a Parquet file",
		Long: `Writes a Parquet file with a row for each variable of each FILE: its dimensions,
attributes, times and box, the sizes and the SHA-256 of the file. cdfz find, DuckDB, pandas and
others search it. Only the structure and the coordinates of an archive are read.

FILE may be an archive, a classic netCDF file, a folder, whose archives *.cdfz are taken, or a
URL. A FILE that ends in .parquet is a catalogue, whose rows are taken as they are: so the
parts that shards have made become one catalogue, and a catalogue gets the rows of new
archives. The rows of a file are those of its last FILE, or of the archive itself if that is
among the FILEs.

` + cli.PrefixHelp + `

Members of volumes have rows for each of their states, with the volume, the time when it was packed, and
for older states the volume that has the current one.

Rows are sorted by path, and the same archives give the same bytes. OUT appears complete or not at
all. Archives that cannot be read are reported and left out, and the exit code is 1 or 3.

--state and --receipts take the times when archives were proved from the state of cdfz verify
and from receipts.

` + cli.SelectHelp,
		Example: cli.Examples(
			"cdfz catalogue -o cat.parquet archives/",
			"cdfz catalogue -o cat.parquet --state scrub.jsonl archives/",
			"cdfz catalogue -o part3.parquet --shard 3/8 archives/",
			"cdfz catalogue -o cat.parquet -j 32 s3://bucket/run7/",
			"cdfz catalogue -o all.parquet part*.parquet",
			"cdfz catalogue -o new.parquet cat.parquet archives/2026/   # new archives",
			"cdfz find --catalogue cat.parquet tas --time 1987"),
		Args: v.args,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{fileio.Suffix[1:], partSuffix[1:]}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := v.checkDest(); err != nil {
				return err
			}
			v.do(cmd.Context())
			return nil
		},
	}
	run.DestFlag(cmd, "write to `OUT`: a name, the URL of an object, or - for standard output")
	cli.Flags(cmd, cli.OutputFlags, func(f *pflag.FlagSet) {
		f.BoolVarP(&run.Rules.Force, "force", "f", false, "overwrite OUT if it is a catalogue")
	})
	cli.Flags(cmd, cli.ProofFlags, func(f *pflag.FlagSet) {
		f.StringArrayVar(&v.states, "state", nil, "take the times of proofs from `FILE`, a state of verify; repeatable")
		f.StringArrayVar(&v.receipts, "receipts", nil, "take the times of proofs from `FILE`, receipts of archive; repeatable")
	})
	run.SelectFlags(cmd)
	run.RequestsFlag(cmd)
	run.MemoryFlag(cmd)
	run.JSONFlag(cmd)
	run.VerboseFlag(cmd)
	return cmd
}

// args divides the FILE arguments and checks them.
func (v *cataloguer) args(cmd *cobra.Command, args []string) error {
	for _, name := range args {
		if strings.HasSuffix(name, partSuffix) {
			v.parts = append(v.parts, name)
		} else {
			v.files = append(v.files, name)
		}
	}
	if len(v.parts) > 0 && len(v.files) == 0 && v.run.Select.From == "" {
		if v.run.Select.Shard.N > 0 {
			return errors.New("--shard: expected files, found catalogues alone")
		}
		return nil
	}
	return v.run.FilesOrList(cmd, v.files)
}

// checkDest checks OUT.
func (v *cataloguer) checkDest() error {
	v.run.Dest.ToObjects = true
	v.run.Rules.Overwrites = &protect.Kind{Name: "a catalogue", Check: checkCatalogue}
	if v.run.Dest.Name == "" {
		return terminal.Hinted(errors.New("no OUT given"), "-o OUT%s names it", partSuffix)
	}
	return v.run.Targets.CheckOfAll()
}

// report is the JSON of a run.
type report struct {
	Target  string  `json:"target"`
	Files   int64   `json:"files"`
	Rows    int64   `json:"rows"`
	Size    int64   `json:"target_size"` // bytes
	Seconds float64 `json:"seconds"`
}

func (v *cataloguer) do(ctx context.Context) {
	start := time.Now()
	if err := v.mayReplace(ctx); err != nil {
		v.run.Term.FailFile(terminal.ShowTarget(v.run.Dest.Name), err)
		return
	}
	// Before the work, which is of no use if OUT cannot be written.
	out, err := v.run.Target(v.run.Dest.Name, nil).Sink(ctx)
	if err != nil {
		v.run.Term.FailFile(terminal.ShowTarget(v.run.Dest.Name), err)
		return
	}
	defer out.Abort()
	if name, err := v.proofs.read(v.states, v.receipts); err != nil {
		v.run.Term.FailFile(name, err)
		return
	}
	b := cataloguefile.NewBuilder()
	defer b.Close()
	for _, name := range v.parts {
		in, r, err := v.openPart(ctx, name)
		if err != nil {
			v.run.Term.FailFile(terminal.ShowName(name), err)
			return
		}
		defer in.Close()
		b.AddPart(terminal.ShowName(name), r)
	}
	added, ok := v.addFiles(ctx, b)
	if !ok || v.run.Term.Stopped(ctx) || added == 0 && len(v.parts) == 0 {
		return
	}
	rep := &report{Target: terminal.ReportName(v.run.Dest.Name)}
	if err := v.write(ctx, b, out, rep); err != nil {
		v.run.Term.FailFile(terminal.ShowTarget(v.run.Dest.Name), err)
		return
	}
	rep.Seconds = display.Round(time.Since(start).Seconds(), 6)
	switch {
	case v.run.Dest.IsStdout():
	case v.run.Term.JSON:
		v.run.Term.Emit(rep)
	default:
		v.run.Term.Report("%s: %s, %s, %s", terminal.ShowTarget(v.run.Dest.Name), display.Count(rep.Files, "file"), display.Count(rep.Rows, "row"), display.Size(rep.Size))
	}
}

// mayReplace returns an error if OUT exists and must stay, before the work. When OUT is complete, the file
// that is there then is judged again.
func (v *cataloguer) mayReplace(ctx context.Context) error {
	if !v.run.Rules.Force || v.run.Dest.IsStdout() {
		return nil
	}
	in, err := v.run.In.Open(ctx, v.run.Dest.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	err = v.run.Rules.CheckKind(in.R, in.Size)
	if errors.Is(err, archive.ErrCorrupt) { // of a catalogue, perhaps; nothing can be lost
		return terminal.Hinted(err, "remove the file first")
	}
	return err
}

// checkCatalogue returns an error for a file that is no catalogue.
func checkCatalogue(in io.ReaderAt, size int64) error {
	_, err := cataloguefile.Open(in, size)
	return err
}

// openPart opens a FILE that is a catalogue.
func (v *cataloguer) openPart(ctx context.Context, name string) (*fileio.Input, *cataloguefile.Reader, error) {
	in, err := v.run.In.Open(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	r, err := cataloguefile.Open(in.R, in.Size)
	if err != nil {
		in.Close()
		return nil, nil, err
	}
	return in, r, nil
}

// addFiles adds the rows of files, and returns the number of these. ok is false if nothing may be written.
func (v *cataloguer) addFiles(ctx context.Context, b *cataloguefile.Builder) (added int64, ok bool) {
	if len(v.files) == 0 && v.run.Select.From == "" {
		return 0, true
	}
	var failedFiles int64
	failed := func(name string, err error) {
		failedFiles++
		v.run.Term.FailFile(name, err)
	}
	v.trees = v.run.Finder.FindTrees(ctx, v.files, failed)
	files := v.run.Find(ctx, v.files, v.selects, failed)
	defer func() { files.Close() }()
	if v.run.Select.Balance {
		before := failedFiles
		if files.Load(ctx, failed); failedFiles > before {
			return 0, false
		}
		if err := v.run.Finder.Divide(&files); err != nil {
			v.run.Term.Usage(err)
			return 0, false
		}
	}
	none := func() (int64, bool) {
		failed(strings.Join(v.files, ", "), errors.New("no archives below this folder"))
		return 0, false
	}
	if len(files.Files) == 0 && v.run.Select.Shard.N == 0 && !files.Grows() && failedFiles == 0 && !v.run.Term.Stopped(ctx) {
		return none()
	}
	ok = true
	v.run.Term.StartProgress("catalogue", files.Sizes()...)
	v.run.Parallel(ctx, files, cli.Work{Failed: failed, Fixed: fileMemory, Light: true, One: func(ctx context.Context, j *cli.Job) (func(), error) {
		rows, err := v.plain(ctx, j)
		var notes []string
		if rows == nil && err == nil {
			rows, notes, err = v.describe(ctx, j)
		}
		if err != nil {
			return nil, err
		}
		state, err := j.State(ctx)
		if err != nil {
			return nil, err
		}
		if state.Volume != "" {
			setState(rows, state)
		}
		return func() {
			for _, note := range notes {
				v.run.Term.Message("%s: warning: %s", display.Printable(terminal.ReportName(j.Name)), display.Printable(terminal.WithoutPackages(note)))
			}
			if err := b.Add(rows); err != nil && ok {
				ok = false
				v.run.Term.FailFile(terminal.ShowTarget(v.run.Dest.Name), err)
			}
			added++
		}, nil
	}})
	if links := v.links(); len(links) > 0 && ok && !v.run.Term.Stopped(ctx) {
		if err := b.Add(links); err != nil {
			v.run.Term.FailFile(terminal.ShowTarget(v.run.Dest.Name), err)
			return added, false
		}
		added += int64(len(links))
	}
	if files.Grows() && v.run.Select.Shard.N == 0 && v.run.Select.From == "" && added+failedFiles == 0 && !v.run.Term.Stopped(ctx) {
		return none()
	}
	// Without this, a shard that has no files would leave no part for the others to be joined with, and a
	// list without names would leave no catalogue to be searched.
	if (v.run.Select.Shard.N > 0 || v.run.Select.From != "") && failedFiles == 0 {
		added = max(added, 1)
	}
	return added, ok
}

// fileMemory is about how many bytes reading the coordinates of a file takes.
const fileMemory = 24 << 20

// describe returns the rows of a file, and what could not be read of it.
func (v *cataloguer) describe(ctx context.Context, j *cli.Job) ([]cataloguefile.Row, []string, error) {
	in, err := v.run.In.OpenFile(ctx, j.File)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	o := j.Limits.OpenOptions()
	o.Cache, o.BlockMemory = 8<<20, 64<<20
	f, err := archive.New(ctx, in.R, in.Size, o)
	if err != nil {
		return nil, nil, fileio.ExplainNotNetCDF(in, err)
	}
	file := &cataloguefile.File{Name: terminal.ReportName(j.Name), Size: in.Size, Image: fileio.BaseName(j.Name)}
	if !remote.IsURL(j.Name) && j.Name != terminal.StdinName {
		file.Name = filepath.Clean(j.Name)
	}
	if info, ok := f.Info(); ok {
		file.Proved = v.proofs.last(v.run, j.Name, in, info.SHA256)
	}
	rows, notes, err := cataloguefile.Describe(ctx, f, file)
	return rows, notes, fileio.ExplainDamage(err, in, f, "cdfz verify lists all damage")
}

// write writes OUT.
func (v *cataloguer) write(ctx context.Context, b *cataloguefile.Builder, s *fileio.Sink, rep *report) error {
	n, err := b.Write(ctx, s)
	if err != nil {
		return err
	}
	rep.Files, rep.Rows, rep.Size = n.Files, n.Rows, n.Size
	return s.Commit(ctx)
}
