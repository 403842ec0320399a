package receipts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/fsck"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
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
	Error    string `json:"error,omitempty"`
}

// checkSum is the JSON of the last line.
type checkSum struct {
	Receipts int64 `json:"receipts"`
	OK       int64 `json:"ok"`
	Failed   int64 `json:"failed"`
	Cut      int64 `json:"cut_off"` // lines that a stopped program began
}

// Command makes the verb receipts.
func Command(a *cli.App) *cobra.Command {
	v := &checker{App: a}
	cmd := &cobra.Command{
		Use:   "receipts [flags] FILE…",
		Short: "Check receipts of archived files against the archives",
		Long: `Checks the receipts that cdfz archive --receipts has written. The archive must exist
and restore a file with the size and the SHA-256 of the receipt. Nothing is written.
--quick decodes nothing: it compares the size and the SHA-256 that the archive records.

If an archive has several receipts, the last one counts. A line that was cut off because
the program was stopped is not an error: its source was not deleted.

The exit code is 3 if an archive is damaged, and 1 if one is missing or holds another
file.`,
		Example: cli.Examples(
			"cdfz archive --receipts proof.jsonl --delete-source data/",
			"cdfz receipts proof.jsonl",
			"cdfz receipts --quick --json proof.jsonl"),
		Args: cli.MinFiles,
		Run:  func(cmd *cobra.Command, args []string) { v.run(cmd.Context(), args) },
	}
	cmd.Flags().BoolVar(&v.quick, "quick", false, "do not decode the archives")
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
	line := fmt.Sprintf("%s: %d ok, %d failed", cli.Count(v.sum.Receipts, "receipt"), v.sum.OK, v.sum.Failed)
	if v.sum.Cut > 0 {
		line += fmt.Sprintf("; %d cut off", v.sum.Cut)
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
	var list []numbered
	last := map[string]int{} // by archive
	err = Read(f, func(line int, rec *Receipt) {
		if i, ok := last[rec.Archive]; ok {
			list[i] = numbered{rec, line}
			return
		}
		last[rec.Archive] = len(list)
		list = append(list, numbered{rec, line})
	}, func(e *LineError) {
		if errors.Is(e, ErrCut) {
			v.sum.Cut++
			v.Message("%s: %v", name, e)
			return
		}
		v.sum.Failed++
		v.FailFile(name, e)
	})
	if err != nil {
		return err
	}
	var files cli.Files
	for i, n := range list {
		files.Jobs = append(files.Jobs, cli.Job{Name: n.Archive, Rel: n.Archive, Size: n.ArchiveSize, N: i})
	}
	v.StartProgress("receipts", files)
	failed := func(archive string, err error) {
		v.sum.Failed++
		v.Fail(archive, err)
	}
	fresh := *v // sums in v change while files are at work
	v.Parallel(ctx, files, cli.Work{Fixed: 24 << 20, PerByte: 8, Failed: failed, One: func(a *cli.App, j cli.Job) (func(), error) {
		w := fresh
		w.App = a
		n := list[j.N]
		err := w.one(ctx, n.Receipt)
		return func() { v.report(name, n, err) }, err
	}})
	return nil
}

// report counts and prints a receipt.
func (v *checker) report(file string, n numbered, err error) {
	v.sum.Receipts++
	_, stErr := os.Lstat(n.Source)
	rep := checkReport{Receipts: file, Line: n.line, Archive: n.Archive, Source: n.Source, OK: err == nil, Exists: stErr == nil}
	if err == nil {
		v.sum.OK++
	} else {
		rep.Error = cli.PlainText(err, n.Archive)
	}
	switch {
	case v.JSON:
		v.Emit(rep)
	case err == nil:
		v.Report("%s: ok", n.Archive)
	}
}

// one checks a receipt.
func (v *checker) one(ctx context.Context, rec *Receipt) error {
	in, err := v.Open(ctx, rec.Archive)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("the archive is missing")
	}
	if err != nil {
		return err
	}
	defer in.Close()
	var size int64
	var sum string
	if v.quick {
		f, err := archive.New(in.R, in.Size, v.OpenOptions())
		if err != nil {
			return cli.ExplainNotArchive(in, err)
		}
		info, ok := f.Info()
		if !ok {
			return archive.ErrNotArchive
		}
		size, sum = info.ImageSize, info.SHA256
	} else {
		w, err := fsck.Walk(ctx, in.R, in.Size, &fsck.WalkOptions{Workers: v.Workers, Memory: v.BlockMemory(), Progress: v.Step(in.Name, rec.Size, 0, 1)})
		if err != nil {
			return cli.ExplainNotArchive(in, err)
		}
		size, sum = w.ImageSize, w.SHA256
	}
	if size != rec.Size || sum != rec.SHA256 {
		return fmt.Errorf("the archive holds another file: expected %d bytes with SHA-256 %s, found %d with %s", rec.Size, rec.SHA256, size, sum)
	}
	return nil
}
