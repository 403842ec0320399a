// Package gen is the verb gen: netCDF files and archives from CDL, as ncgen makes them. Package cdlgen does the work.
package gen

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cdl"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/chains"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stop"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/gen/cdlgen"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// generator runs the verb gen.
type generator struct {
	run       *cli.Run
	o         cdlgen.Options
	opts      archive.WriteOptions // of an archive
	toArchive bool
}

// genReport is the JSON of one generated file.
type genReport struct {
	File        string   `json:"file"`
	Target      string   `json:"target"`
	Format      string   `json:"format"`
	Dims        int      `json:"dimensions"`
	Vars        int      `json:"variables"`
	Records     int64    `json:"records"`
	Size        int64    `json:"size"`
	ArchiveSize int64    `json:"archive_size,omitempty"` // if it is an archive
	Warnings    []string `json:"warnings,omitempty"`
}

func Command(run *cli.Run) *cobra.Command {
	v := &generator{run: run}
	cmd := &cobra.Command{
		Use:   "gen [flags] FILE",
		Short: "Make a netCDF file or an archive from CDL, as ncgen does",
		Long: `Makes a classic netCDF file from CDL, the text that dump and ncdump print: x.cdl
becomes x.nc. The bytes are those that ncgen writes. FILE - is standard input.

With --archive, or if OUT ends in .cdfz, the target is an archive. Then gen follows
the special attributes that dump -s prints: _Fletcher32, _Shuffle, _DeflateLevel and
_Filter, or _Codecs, set the filters of a variable, and _BlockSize the size of blocks. Variables
without them get the filters of --preset. If a variable has filters or _ChunkSizes in
the text, all variables get blocks, as with --zarr always. Blocks have the shape in
_ChunkSizes if that is a run of whole rows, such as 1, 5, 72, 144 for a variable of
38, 10, 72, 144. Otherwise a warning names the variable.

The attribute _Format sets the kind of file, and -k overrides it. Otherwise it is the
first of classic, 64-bit offset and cdf5 that holds all dimensions, types and sizes.
Groups and other parts of netCDF-4 are errors.`,
		Example: cli.Examples(
			"cdfz gen tas.cdl                          # makes tas.nc",
			"cdfz gen -k cdf5 -o tas5.nc tas.cdl",
			"cdfz gen -o tas.nc.cdfz tas.cdl           # an archive, with the filters in the text",
			"cdfz dump -s -p 9,17 a.nc.cdfz | sed 's/hPa/Pa/' | cdfz gen -o b.nc.cdfz -"),
		Args: cli.OneFile,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"cdl"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := run.Targets.Check(args); err != nil {
				return err
			}
			v.toArchive = v.toArchive || strings.HasSuffix(v.run.Dest.Name, fileio.Suffix)
			if f := cmd.Flags(); !v.toArchive && (f.Changed("preset") || f.Changed("block") || f.Changed("zarr")) {
				return terminal.Hinted(errors.New("--preset, --zarr and --block are for archives"), "--archive makes one")
			}
			if err := v.do(cmd.Context(), args[0]); err != nil {
				run.Term.FailFile(terminal.ShowName(args[0]), err)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	cli.Flags(cmd, "As in ncgen", func(f *pflag.FlagSet) {
		f.VarP(&kindFlag{v: &v.o.Version}, "kind", "k", "`KIND` of file: classic, 64-bit-offset or cdf5, and other names of ncgen")
		f.BoolVarP(&v.o.NoFill, "nofill", "x", false, "leave variables without values at 0, not at the fill value")
		f.BoolVarP(&v.toArchive, "archive", "a", false, "make an archive: x.cdl becomes x.nc.cdfz")
	})
	chains.WriteFlags(cmd, &v.opts, "filters of variables for which the text has none",
		"target size of a block, instead of _BlockSize", "whether Zarr tools can open the archive, as for cdfz archive")
	cli.Flags(cmd, "As in ncgen", func(f *pflag.FlagSet) {
		f.Var(&cli.SizeFlag{N: &v.o.MaxSize, Min: 1, Max: 1 << 62}, "max-size", "largest netCDF file to make (default 1T)")
		f.BoolP("binary", "b", false, "ignored; files are always binary")
		cli.Rare(f, "binary")
	})
	run.DestFlag(cmd, "write to `OUT`: a name, a folder, or - for standard output")
	run.ForceFlag(cmd)
	run.StatsFlag(cmd)
	run.JSONFlag(cmd)
	cli.CompleteWords(cmd, "kind", "classic", "64-bit-offset", "cdf5")
	return cmd
}

func (v *generator) do(ctx context.Context, name string) error {
	in, err := v.run.In.Open(ctx, name)
	if err != nil {
		return err
	}
	defer in.Close()
	f, err := cdlgen.Parse(ctx, io.NewSectionReader(in.R, 0, in.Size), &v.o)
	if err != nil {
		return err
	}
	defer f.Close()
	rep := &genReport{File: terminal.ReportName(name), Format: cdl.Kind(f.Header.Version), Dims: len(f.Header.Dims), Vars: len(f.Header.Vars),
		Records: f.Header.NumRecs, Size: f.Size()}
	if rep.Target, err = v.run.Targets.PathOf(fileio.File{Name: name, Rel: filepath.Base(name)}, v.rename); err != nil {
		return err
	}
	if v.toArchive {
		err = v.archive(ctx, f, rep)
	} else {
		err = v.classic(ctx, f, rep.Target)
	}
	if err == nil && !v.run.Dest.IsStdout() {
		v.report(rep)
	}
	return err
}

// rename returns the name of the target for the name of a text.
func (v *generator) rename(name string) (string, error) {
	name = strings.TrimSuffix(name, ".cdl") + ".nc"
	if v.toArchive {
		name += fileio.Suffix
	}
	return name, nil
}

// classic writes the netCDF file.
func (v *generator) classic(ctx context.Context, f *cdlgen.File, path string) error {
	dst, err := v.run.Target(path, nil).Sink(ctx)
	if err != nil {
		return err
	}
	defer dst.Abort()
	w := bufio.NewWriterSize(dst, 1<<18)
	if err := f.Write(ctx, w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return dst.Commit(ctx)
}

// archive makes an archive of the netCDF file, which is written to a temporary file.
func (v *generator) archive(ctx context.Context, f *cdlgen.File, rep *genReport) error {
	if err := v.storage(f); err != nil {
		return err
	}
	stop.Catch()
	image, err := atomicfile.Temp()
	if err != nil {
		return err
	}
	defer image.Close()
	w := bufio.NewWriterSize(image, 1<<18)
	if err := f.Write(ctx, w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	v.opts.Workers = v.run.Limits.Workers
	if v.opts.Name = cdl.Name(f.Name) + ".nc"; rep.Target != terminal.StdoutName {
		v.opts.Name = strings.TrimSuffix(filepath.Base(rep.Target), fileio.Suffix)
	}
	if v.run.Dest.IsStdout() {
		w := bufio.NewWriterSize(v.run.Term.Out, 1<<18)
		if _, err := archive.Write(ctx, w, image, rep.Size, &v.opts); err != nil {
			return err
		}
		return w.Flush()
	}
	v.run.Term.StartProgress("gen", rep.Size)
	defer v.run.Term.StopProgress()
	v.opts.Progress = v.run.Term.Step(rep.File, rep.Size, 0, 2)
	v.opts.CheckProgress = v.run.Term.Step(rep.File, rep.Size, 1, 2)
	t := v.run.Target(rep.Target, &fileio.Input{})
	t.Proved = true
	dst, err := t.Sink(ctx)
	if err != nil {
		return err
	}
	defer dst.Abort()
	res, a, err := archive.WriteTarget(ctx, dst.File(), image, rep.Size, &v.opts)
	if err != nil {
		return err
	}
	rep.ArchiveSize, rep.Warnings = res.Size, v.otherBlocks(f, a)
	return dst.Commit(ctx)
}

// storage takes the options of the archive from the special attributes.
func (v *generator) storage(f *cdlgen.File) error {
	if v.opts.Block == 0 {
		v.opts.Block = f.BlockSize
	}
	for i := range f.Storage {
		name := f.Header.Vars[i].Name
		c, ok, err := f.Storage[i].Chain()
		if err == nil {
			err = chains.Check(c)
		}
		if err != nil {
			return fmt.Errorf("variable %s: %w", display.Quoted(name), err)
		}
		if ok {
			v.opts.Filters = append(v.opts.Filters, archive.VarFilter{Vars: []string{name}, Chain: c})
		}
		v.shape(f, i)
		if v.opts.Zarr == "" && (ok || len(f.Storage[i].ChunkSizes) > 0) {
			v.opts.Zarr = archive.ZarrAlways
		}
	}
	return nil
}

// shape asks for blocks of the shape in _ChunkSizes if blocks can have it. netCDF-4 allows
// more than the length of an unlimited dimension.
func (v *generator) shape(f *cdlgen.File, i int) {
	h := &f.Header.Vars[i]
	want := slices.Clone(f.Storage[i].ChunkSizes)
	if len(want) == 0 || len(want) != len(h.Shape) {
		return
	}
	bytes, cut := h.Type.Size(), -1
	for d, n := range h.Shape {
		want[d] = min(want[d], max(1, n))
		switch {
		case want[d] < 1 || cut >= 0 && want[d] != max(1, n):
			return // not a run of whole rows
		case want[d] > 1 && cut < 0:
			cut = d
		}
		if bytes > archive.MaxBlock/want[d] {
			return
		}
		bytes *= want[d]
	}
	if v.opts.Shapes == nil {
		v.opts.Shapes = map[string][]int64{}
	}
	v.opts.Shapes[h.Name] = want
}

// otherBlocks lists the variables whose blocks have another shape than the text asks
// for. Blocks are runs of whole rows only.
func (v *generator) otherBlocks(f *cdlgen.File, a *archive.File) (out []string) {
	for i, r := range a.Vars() {
		want, got := f.Storage[i].ChunkSizes, r.Info()
		if len(want) > 0 && got.Blocked && v.opts.Shapes[r.Name()] == nil && !slices.Equal(want, got.Block) {
			out = append(out, fmt.Sprintf("the blocks of variable %s are %s, not _ChunkSizes %s", display.Quoted(r.Name()), display.Shape(got.Block), display.Shape(want)))
		}
	}
	return out
}

func (v *generator) report(rep *genReport) {
	for _, text := range rep.Warnings {
		v.run.Term.Message("warning: %s: %s", terminal.ShowName(rep.File), text)
	}
	if v.run.Term.JSON {
		v.run.Term.Emit(rep)
		return
	}
	line := fmt.Sprintf("%s: %s, %s, %s", rep.Target, rep.Format, display.Count(int64(rep.Vars), "variable"), display.Size(rep.Size))
	if rep.ArchiveSize > 0 {
		line += " -> " + display.Size(rep.ArchiveSize)
	}
	v.run.Term.Report("%s", line)
}

// kindFlag is -k KIND.
type kindFlag struct {
	v    *cdf3.Version
	text string
}

func (f *kindFlag) String() string { return f.text }
func (f *kindFlag) Type() string   { return "KIND" }

func (f *kindFlag) Set(s string) error {
	version, classic, known := cdlgen.Kind(s)
	switch {
	case known && !classic:
		return errors.New("a kind of netCDF-4; expected classic, 64-bit-offset or cdf5")
	case !known:
		return errors.New("expected classic, 64-bit-offset or cdf5")
	}
	*f.v, f.text = version, s
	return nil
}
