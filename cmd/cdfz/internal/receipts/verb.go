// Package receipts is the verb receipts, which checks receipts against the archives.
package receipts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/receiptfile"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/remote"
)

// checker runs the verb receipts.
type checker struct {
	run      *cli.Run
	quick    bool
	stats    bool
	root     string          // --root, "" for none
	volumes  *fileio.Volumes // in it
	archives []checked
	index    map[string]int // in archives, by path
	sum      checkSum
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
func Command(run *cli.Run) *cobra.Command {
	v := &checker{run: run, index: map[string]int{}}
	cmd := &cobra.Command{
		Use:   "receipts [flags] FILE…",
		Short: "Check receipts of archived files against the archives",
		Long: `Checks the receipts that cdfz archive --receipts has written. For each receipt, the
archive must exist and restore a file with the size and the SHA-256 of the receipt, also
if a later receipt names the same archive. Nothing is written.

--quick decodes nothing:
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

Several FILEs, one a shard for instance, are checked together: each archive is read once. --root DIR
looks for the archives below DIR, which may be a URL, at the paths that they had below -o DIR/ or
below the FILE that was archived, also in volumes in DIR, or in a volume that DIR is. So a tree of archives, or a copy of it, can be elsewhere.
A volume that cannot be opened is reported, and the others are read.
FILE may be a URL or an object s3://BUCKET/KEY, too, or - for standard input.

--stats reads no archive. It prints sums, by the year in which archive ran: how many archives the
receipts name, the bytes of sources and archives, and how many sources are gone and exist. An archive
with several receipts counts once.

The exit code is 3 if FILE or an archive is damaged, and 1 if an archive is missing or
holds another file, or if no FILE has a receipt.`,
		Example: cli.Examples(
			"cdfz archive --receipts proof.jsonl --delete-source data/",
			"cdfz receipts proof.jsonl",
			"cdfz receipts --root /disk2/archives r1.jsonl r2.jsonl",
			"cdfz receipts --quick --json proof.jsonl",
			"cdfz receipts --stats shards/*.jsonl"),
		Args: func(cmd *cobra.Command, args []string) error {
			if run.Select.From != "" && len(args) > 0 {
				return errors.New("--files-from: expected no FILE besides the list")
			}
			if v.stats && (v.quick || v.root != "") {
				return errors.New("--stats reads no archive, expected neither --quick nor --root")
			}
			return run.FilesOrList(cmd, args)
		},
		Run: func(cmd *cobra.Command, args []string) {
			if run.Select.From != "" {
				var err error
				if args, err = run.Finder.Names(); err != nil {
					run.Term.FailFile(terminal.ShowName(run.Select.From), err)
					return
				}
			}
			v.do(cmd.Context(), args)
		},
	}
	cli.Flags(cmd, "What to check", func(f *pflag.FlagSet) {
		f.StringVar(&v.root, "root", "", "look for the archives below `DIR`, a folder or URL, where they are now")
		f.BoolVar(&v.quick, "quick", false, "do not decode the archives")
		f.BoolVar(&v.stats, "stats", false, "print sums of the receipts instead, by year, and read no archive")
	})
	run.ListFlags(cmd)
	run.JSONFlag(cmd)
	run.MemoryFlag(cmd)
	return cmd
}

func (v *checker) do(ctx context.Context, args []string) {
	unread := 0
	var shown []string
	for _, name := range args {
		if v.run.Term.Stopped(ctx) {
			return
		}
		shown = append(shown, terminal.ShowName(name))
		if err := v.read(ctx, name); err != nil {
			unread++
			v.run.Term.FailFile(terminal.ShowName(name), err)
		}
	}
	if v.run.Term.Stopped(ctx) {
		return
	}
	if !v.stats {
		v.check(ctx)
	}
	if v.run.Term.Stopped(ctx) {
		return
	}
	switch {
	case v.sum.Receipts > 0 || len(v.archives) > 0 || v.sum.Damaged > 0 || unread > 0:
	case len(args) == 0:
		v.run.Term.FailFile(terminal.ShowName(v.run.Select.From), errors.New("no names in this list"))
	default: // one of several may have none: that of a shard without files
		v.run.Term.FailFile(strings.Join(shown, ", "), errors.New("no receipts: nothing is proved"))
	}
	if v.stats {
		v.statistics(ctx)
		return
	}
	if v.run.Term.JSON {
		v.run.Term.Emit(struct {
			Summary checkSum `json:"summary"`
		}{v.sum})
		return
	}
	line := fmt.Sprintf("%s: %d ok, %d failed", display.Count(v.sum.Receipts, "receipt"), v.sum.OK, v.sum.Failed)
	if v.sum.Damaged > 0 {
		line += fmt.Sprintf("; the receipts are damaged in %s", display.Count(v.sum.Damaged, "place"))
	}
	v.run.Term.Report("%s", line)
}

// numbered is a receipt with its file and line.
type numbered struct {
	*receiptfile.Receipt
	file string
	line int
}

// checked is an archive with its receipts, from all files, in the order of these.
type checked struct {
	path string // where it is looked for
	err  error  // there is no such path
	list []numbered
}

// open opens a file of receipts, or an object of them, or standard input.
func (v *checker) open(ctx context.Context, name string) (io.ReadCloser, error) {
	if !remote.IsURL(name) && name != terminal.StdinName {
		return os.Open(name)
	}
	in, err := v.run.In.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(in.R, 0, in.Size), in}, nil
}

// read reads the receipts of a file.
func (v *checker) read(ctx context.Context, name string) error {
	f, err := v.open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	shown := terminal.ShowName(name)
	name = terminal.ReportName(name)
	unended, err := receiptfile.Read(f, func(line int, rec *receiptfile.Receipt) {
		path, err := rec.At(v.root)
		i, ok := v.index[path]
		if !ok || err != nil {
			i = len(v.archives)
			v.index[path] = i
			v.archives = append(v.archives, checked{path: path, err: err})
		}
		v.archives[i].list = append(v.archives[i].list, numbered{rec, name, line})
	}, func(e *receiptfile.LineError) {
		v.sum.Damaged++
		v.run.Term.FailFile(shown, e)
	})
	if err != nil {
		return err
	}
	for _, line := range unended.Runs {
		v.sum.Unended++
		v.run.Term.Message("%s: the run that began in line %d has not ended: it was stopped or is still at work", shown, line)
	}
	if unended.Cut > 0 {
		v.sum.Cut++
		v.run.Term.Message("%s: line %d was not completed and proves nothing", shown, unended.Cut)
	}
	return nil
}

// check checks all archives.
func (v *checker) check(ctx context.Context) {
	var files fileio.List
	for i, c := range v.archives {
		files.Files = append(files.Files, fileio.File{Name: c.path, Rel: c.path, Size: c.list[0].ArchiveSize, N: i})
	}
	v.volumes = new(fileio.Volumes)
	if v.root != "" && (s3.IsURL(v.root) || !remote.IsURL(v.root)) {
		in, err := v.run.In.OpenVolumes(ctx, v.root, v.run.Term.FailFile)
		switch {
		case err == nil:
			v.volumes = in
			defer in.Close()
		case errors.Is(err, syscall.ENOTDIR): // a volume is a root, too
		case errors.Is(err, fs.ErrPermission): // archives can be read by name
			v.run.Term.Message("warning: %s: volumes are not looked for: %s", terminal.ShowName(v.root), terminal.PlainText(err, v.root))
		default:
			v.run.Term.FailFile(terminal.ShowName(v.root), err)
			return
		}
	}
	v.run.Term.StartProgress("receipts", files.Sizes()...)
	v.run.Parallel(ctx, files, cli.Work{Fixed: 24 << 20, PerByte: 8, Failed: v.run.Term.FailFile, One: func(ctx context.Context, j *cli.Job) (func(), error) {
		c := v.archives[j.N]
		got, err := image{}, c.err
		kind := c.list[0].Kind
		if err == nil {
			got, err = v.content(ctx, j, c.path, c.list[0].Receipt)
		}
		errs, sources := make([]error, len(c.list)), make([]source, len(c.list))
		for i, n := range c.list {
			got, err := got, err
			switch {
			case n.Kind != kind && c.err == nil:
				got, err = v.content(ctx, j, c.path, n.Receipt)
			case v.quick && n.Kind == receiptfile.Plain: // which records no SHA-256
				got.sha256 = n.SHA256
			}
			if errs[i] = compare(n.Receipt, got, err); errs[i] != nil && c.err == nil && v.older(ctx, j, c, n.Receipt) {
				errs[i] = nil
			}
			if errs[i] != nil && c.err == nil {
				errs[i] = v.packed(ctx, j, n.Receipt, errs[i])
			}
			sources[i] = lookFor(n.Receipt)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return func() {
			for i, n := range c.list {
				v.report(c.path, n, sources[i], errs[i])
			}
		}, nil
	}})
}

// older reports whether what a receipt proves is in an archive that was replaced and kept, as a later
// receipt tells.
func (v *checker) older(ctx context.Context, j *cli.Job, c checked, rec *receiptfile.Receipt) bool {
	for _, n := range c.list {
		if n.Replaced == "" || n.Replaced != filepath.Base(n.Replaced) || n.SHA256 == rec.SHA256 {
			continue
		}
		dir := strings.TrimSuffix(c.path, filepath.Base(c.path))
		if got, err := v.content(ctx, j, dir+n.Replaced, rec); compare(rec, got, err) == nil {
			return true
		}
	}
	return false
}

// packed returns nil if a volume of the root has what a receipt proves, in any of its states, and err if none has it.
func (v *checker) packed(ctx context.Context, j *cli.Job, rec *receiptfile.Receipt, err error) error {
	paths, failed := v.volumes.Paths(ctx, rec.Below)
	if failed != nil {
		return failed
	}
	for i, path := range paths {
		got, failed := v.content(ctx, j, path, rec)
		failed = compare(rec, got, failed)
		if failed == nil {
			return nil
		}
		if i == 0 {
			err = fmt.Errorf("%s: %w", terminal.ShowName(path), failed)
		}
	}
	return err
}

// report counts and prints a receipt.
func (v *checker) report(path string, n numbered, src source, err error) {
	v.sum.Receipts++
	rep := checkReport{
		Receipts: n.file, Line: n.line, Archive: path, Source: n.Source, OK: err == nil,
		Exists: src == sourceExists || src == sourceChanged, Changed: src == sourceChanged,
	}
	if err == nil {
		v.sum.OK++
	} else {
		v.sum.Failed++
		rep.Error = terminal.PlainText(err, path)
		v.run.Term.Fail(terminal.ShowName(path), fmt.Errorf("line %d of %s: %w; %s", n.line, terminal.ShowName(n.file), err, src))
	}
	switch {
	case v.run.Term.JSON:
		v.run.Term.Emit(rep)
	case err == nil:
		v.run.Term.Report("%s: ok, %s", terminal.ShowName(path), src)
	}
}

// image is the netCDF file that an archive restores.
type image struct {
	size   int64
	sha256 string
}

// compare returns an error unless the archive of the receipt holds its image. err is the error of
// reading it.
func compare(r *receiptfile.Receipt, got image, err error) error {
	if err == nil && got != (image{r.Size, r.SHA256}) {
		what := "the archive holds another file"
		if r.Kind != "" {
			what = "it has other bytes"
		}
		err = fmt.Errorf("%s: expected %d bytes with SHA-256 %s, found %d with %s", what, r.Size, r.SHA256, got.size, got.sha256)
	}
	return err
}

// content reads what a receipt is for.
func (v *checker) content(ctx context.Context, j *cli.Job, path string, rec *receiptfile.Receipt) (image, error) {
	switch rec.Kind {
	case "":
		return v.image(ctx, j, path, rec.Size)
	case receiptfile.Link:
		to, err := v.run.In.Readlink(ctx, path)
		sum := sha256.Sum256([]byte(to))
		return image{int64(len(to)), hex.EncodeToString(sum[:])}, err
	}
	in, err := v.run.In.Open(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return image{}, errors.New("the file is missing")
	}
	if err != nil {
		return image{}, err
	}
	defer in.Close()
	if v.quick {
		return image{in.Size, rec.SHA256}, nil
	}
	sum, err := in.SHA256(ctx, j.Term.Step(in.Name, rec.Size, 0, 1))
	return image{in.Size, sum}, err
}

// image reads an archive. size is that of the netCDF file, for the progress.
func (v *checker) image(ctx context.Context, j *cli.Job, path string, size int64) (image, error) {
	in, err := v.run.In.Open(ctx, path)
	if errors.Is(err, fs.ErrNotExist) {
		return image{}, errors.New("the archive is missing")
	}
	if err != nil {
		return image{}, err
	}
	defer in.Close()
	if v.quick {
		f, err := archive.New(ctx, in.R, in.Size, j.Limits.OpenOptions())
		if err != nil {
			return image{}, fileio.ExplainNotArchive(in, err)
		}
		info, ok := f.Info()
		if !ok {
			return image{}, archive.ErrNotArchive
		}
		return image{info.ImageSize, info.SHA256}, nil
	}
	w, err := verify.Walk(ctx, in.R, in.Size, &verify.Options{Workers: j.Limits.Workers, Memory: j.Limits.BlockMemory(), Progress: j.Term.Step(in.Name, size, 0, 1)})
	if err != nil {
		return image{}, fileio.ExplainNotArchive(in, err)
	}
	return image{w.Size, w.SHA256}, nil
}
