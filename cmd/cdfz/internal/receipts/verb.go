package receipts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
)

// checker runs the verb receipts.
type checker struct {
	*cli.App
	quick bool
	sum   checkSum
}

// checkReport is the JSON of one receipt.
type checkReport struct {
	Receipts string `json:"receipts"` // the file
	Line     int    `json:"line"`
	Archive  string `json:"archive,omitempty"`
	Source   string `json:"source,omitempty"`
	OK       bool   `json:"ok"`
	Exists   bool   `json:"source_exists"`
	// Changed reports that the source has another size or time than in the receipt.
	Changed bool   `json:"source_changed,omitempty"`
	Error   string `json:"error,omitempty"`
}

// checkSum is the JSON of the last line.
type checkSum struct {
	Receipts int64 `json:"receipts"`
	OK       int64 `json:"ok"`
	Failed   int64 `json:"failed"`
	Damaged  int64 `json:"damaged"` // places in files of receipts
	Unended  int64 `json:"unended"` // last runs that did not end
	Cut      int64 `json:"cut_off"` // lines that such runs began
}

// Command makes the verb receipts.
func Command(a *cli.App) *cobra.Command {
	v := &checker{App: a}
	cmd := &cobra.Command{
		Use:   "receipts [flags] FILE…",
		Short: "Check receipts of archived files against the archives",
		Long: `Checks the receipts that cdfz archive --receipts has written. For each receipt, the
archive must exist and restore a file with the size and the SHA-256 of the receipt, also
if a later receipt names the same archive. Nothing is written. --quick decodes nothing:
it compares the size and the SHA-256 that the archive records. The report says whether
the source exists.

The lines of FILE are a chain: each has the SHA-256 of the line before. The first line
counts the lines that are on disk. A file is damaged if it is empty or cut off, or if a
line was changed, added, removed or moved. Each damaged line is named, and the receipts
in all other lines are checked.

A run of archive that was killed leaves receipts that the first line does not count yet,
and perhaps a line without an end. This is reported, but is no damage: no source was
deleted for them. The next run continues after the last whole line. Files of receipts can
be joined: cat a.jsonl b.jsonl >both.jsonl.

The exit code is 3 if FILE or an archive is damaged, and 1 if an archive is missing or
holds another file, or if FILE has no receipts.`,
		Example: cli.Examples(
			"cdfz archive --receipts proof.jsonl --delete-source data/",
			"cdfz receipts proof.jsonl",
			"cdfz receipts --quick --json proof.jsonl"),
		Args: func(cmd *cobra.Command, args []string) error {
			if a.Select.From != "" && len(args) > 0 {
				return errors.New("--files-from: expected no FILE besides the list")
			}
			return a.FilesOrList(cmd, args)
		},
		Run: func(cmd *cobra.Command, args []string) {
			if a.Select.From != "" {
				var err error
				if args, err = a.Names(); err != nil {
					a.FailFile(terminal.ShowName(a.Select.From), err)
					return
				}
			}
			v.run(cmd.Context(), args)
		},
	}
	cmd.Flags().BoolVar(&v.quick, "quick", false, "do not decode the archives")
	a.ListFlags(cmd)
	a.JSONFlag(cmd)
	a.MemoryFlag(cmd)
	return cmd
}

func (v *checker) run(ctx context.Context, args []string) {
	for _, name := range args {
		if v.Stopped(ctx) {
			return
		}
		if err := v.file(ctx, name); err != nil {
			v.FailFile(name, err)
		}
	}
	if v.JSON {
		v.Emit(struct {
			Summary checkSum `json:"summary"`
		}{v.sum})
		return
	}
	line := fmt.Sprintf("%s: %d ok, %d failed", display.Count(v.sum.Receipts, "receipt"), v.sum.OK, v.sum.Failed)
	if v.sum.Damaged > 0 {
		line += fmt.Sprintf("; the receipts are damaged in %s", display.Count(v.sum.Damaged, "place"))
	}
	v.Report("%s", line)
}

// numbered is a receipt and its line.
type numbered struct {
	*Receipt
	line int
}

// file checks the receipts of a file.
func (v *checker) file(ctx context.Context, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	var archives [][]numbered // receipts by archive, in the order of the first ones
	index := map[string]int{}
	unended, err := Read(f, func(line int, rec *Receipt) {
		i, ok := index[rec.Archive]
		if !ok {
			i = len(archives)
			index[rec.Archive] = i
			archives = append(archives, nil)
		}
		archives[i] = append(archives[i], numbered{rec, line})
	}, func(e *LineError) {
		v.sum.Damaged++
		v.FailFile(name, e)
	})
	if err != nil {
		return err
	}
	for _, line := range unended.Runs {
		v.sum.Unended++
		v.Message("%s: the run that began in line %d has not ended: it was stopped or is still at work", name, line)
	}
	if unended.Cut > 0 {
		v.sum.Cut++
		v.Message("%s: line %d was not completed and proves nothing", name, unended.Cut)
	}
	var files fileio.List
	for i, list := range archives {
		n := list[0]
		files.Jobs = append(files.Jobs, fileio.Job{Name: n.Archive, Rel: n.Archive, Size: n.ArchiveSize, N: i})
	}
	v.StartProgress("receipts", files.Sizes()...)
	fresh := *v // sums in v change while files are at work
	v.Parallel(ctx, files, cli.Work{Fixed: 24 << 20, PerByte: 8, Failed: v.FailFile, One: func(a *cli.App, j fileio.Job) (func(), error) {
		w := fresh
		w.App = a
		list := archives[j.N]
		got, err := w.image(ctx, list[0].Receipt)
		if ctx.Err() != nil {
			return nil, err
		}
		sources := make([]source, len(list))
		for i, n := range list {
			sources[i] = lookFor(n.Receipt)
		}
		return func() {
			for i, n := range list {
				v.report(name, n, sources[i], n.compare(got, err))
			}
		}, nil
	}})
	return nil
}

// report counts and prints a receipt.
func (v *checker) report(file string, n numbered, src source, err error) {
	v.sum.Receipts++
	rep := checkReport{
		Receipts: file, Line: n.line, Archive: n.Archive, Source: n.Source, OK: err == nil,
		Exists: src == sourceExists || src == sourceChanged, Changed: src == sourceChanged,
	}
	if err == nil {
		v.sum.OK++
	} else {
		v.sum.Failed++
		rep.Error = terminal.PlainText(err, n.Archive)
		v.Fail(n.Archive, fmt.Errorf("line %d of %s: %w; %s", n.line, file, err, src))
	}
	switch {
	case v.JSON:
		v.Emit(rep)
	case err == nil:
		v.Report("%s: ok, %s", n.Archive, src)
	}
}

// image is the netCDF file that an archive restores.
type image struct {
	size   int64
	sha256 string
}

// compare returns an error unless the archive of the receipt holds its image. err is the error of
// reading it.
func (r *Receipt) compare(got image, err error) error {
	if err == nil && got != (image{r.Size, r.SHA256}) {
		err = fmt.Errorf("the archive holds another file: expected %d bytes with SHA-256 %s, found %d with %s", r.Size, r.SHA256, got.size, got.sha256)
	}
	return err
}

// image reads the archive of a receipt.
func (v *checker) image(ctx context.Context, rec *Receipt) (image, error) {
	in, err := v.Open(ctx, rec.Archive)
	if errors.Is(err, fs.ErrNotExist) {
		return image{}, errors.New("the archive is missing")
	}
	if err != nil {
		return image{}, err
	}
	defer in.Close()
	if v.quick {
		f, err := archive.New(in.R, in.Size, v.OpenOptions())
		if err != nil {
			return image{}, fileio.ExplainNotArchive(in, err)
		}
		info, ok := f.Info()
		if !ok {
			return image{}, archive.ErrNotArchive
		}
		return image{info.ImageSize, info.SHA256}, nil
	}
	w, err := verify.Walk(ctx, in.R, in.Size, &verify.WalkOptions{Workers: v.Workers, Memory: v.BlockMemory(), Progress: v.Step(in.Name, rec.Size, 0, 1)})
	if err != nil {
		return image{}, fileio.ExplainNotArchive(in, err)
	}
	return image{w.ImageSize, w.SHA256}, nil
}
