// Package get is the verb get: parts of variables as CSV, JSON, npy, raw values or netCDF. Package
// exports does the work.
package get

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats"
	"github.com/cdfz-format/cdfz/internal/s3"
)

// getter runs the verb get.
type getter struct {
	run     *cli.Run
	format  formats.Format
	o       formats.Options
	explain bool
}

// Command makes the verb get.
func Command(run *cli.Run) *cobra.Command {
	v := &getter{run: run}
	cmd := &cobra.Command{
		Use:   "get [flags] FILE VAR[SELECTION]…",
		Short: "Write parts of variables as CSV, JSON, npy, raw values or netCDF",
		Long: `Reads parts of variables from a classic netCDF file or an archive. From an archive,
only the blocks that hold them are read. FILE may be an http, https, s3 or gs URL, - for
standard input, or the NcML file of many files that cdfz join makes. OUT may be
s3://BUCKET/KEY, which is written from a temporary file.

Selections by index are those of Python and numpy:
  tas                    the whole variable
  tas[0]                 index 0 of the first dimension, which is dropped
  tas[0:10, :, -1]       indices 0 to 9, all, the last; other dimensions whole
  tas[::-2, ..., 5]      every second one from the end; ... means all dimensions between
Ranges are cut to the dimension. An index outside of it is an error.

Selections by value use the coordinate variable of a dimension, in any order:
  tas[lat=40.5]          the nearest latitude, in a result without that dimension
  tas[lon=-5]            longitudes are the same 360 degrees apart: 355, if the file has that
  tas[lat=30:50]         latitudes from 30 to 50, both included, in the file's order
  tas[lon=0:90:2]        every second one of these
  tas[time=2001-05]      all times in May 2001; also 2001 and 2001-05-16
  tas[time=2001-05-16T12:00]   the nearest time
  tas[time=1990:1999]    from the beginning of 1990 to the end of 1999
Numbers on a time axis are in its own units. Quote selections for the shell.

Values that lie outside of an axis, beyond half a cell from its ends, are an error, unless
--nearest is given. Ranges are cut to the axis. A message names the cell that was taken and
the axis, if they are not what was asked for. CSV has a column with the value of the cell,
and JSON a member "cells". A range of longitudes must not cross the end of the axis.

In names, \ makes the next character part of the name: 'a\[1\]' is variable a[1]. A
letter or digit after \ forms an escape as messages print it: \n, \x00, \u00e9. A name
may stand in double quotes as messages print it: '"a b"[0]'.

Formats (default: by the suffix of OUT, else csv):
  csv   A row for each position. Its columns are the dimensions, with values of their
        coordinate variables or else indices, and the variables, which must have the
        same dimensions and ranges. Fill values are empty cells. Other values that are
        not finite are NaN, Inf and -Inf.
  json  {"vars":[{"name", "selection", "type", "dims", "shape", "data"}, …]} with nested
        arrays. Fill values, NaN and infinities are null.
  npy   numpy's format, big-endian as in the file.
  raw   Just the values, big-endian.
  nc    A classic netCDF file of the same version, or CDF-5 if --unpack makes integers
        unsigned, with the variables, their attributes, the dimensions cut to the selections, and the coordinate variables. The record
        dimension is kept, and a line is appended to the history attribute. If OUT ends
        in .cdfz, the file is archived.
CSV and JSON have the shortest digits that read back as the same number. Text is written
as strings along the last dimension, without trailing NULs. In JSON, text that is not UTF-8
is read as Latin-1, also on the page of "cdfz serve" and in catalogues. CSV on a terminal has escapes for control characters.

Fill values are those equal to the attributes _FillValue and missing_value. --keep-fill
writes them as numbers.

--unpack writes unpacked values: value * scale_factor + add_offset, and NaN for fill
values. The attribute _Unsigned is followed. The type is float or double, as in xarray
and netCDF4-python. Variables without such attributes are written as stored.

--time writes times as ISO 8601 in CSV and JSON, such as 2001-05-16T12:00:00. These are
variables with units like "days since 1850-01-01", in all calendars of the CF
conventions. Other variables are written as numbers.`,
		Example: cli.Examples(
			"cdfz get tas.nc.cdfz 'tas[0, :, :]' > first.csv",
			"cdfz get --time tas.nc.cdfz 'tas[time=2001, lat=52.5, lon=13.4]'",
			"cdfz get -o europe.nc tas.nc.cdfz 'tas[lat=35:70, lon=0:40]'",
			"cdfz get -o europe.nc.cdfz tas.nc.cdfz 'tas[lat=35:70, lon=0:40]'   # an archive",
			"cdfz get --unpack -o values.npy pr.nc.cdfz pr",
			"cdfz get -o parts/ --format npy tas.nc.cdfz tas lat lon",
			"cdfz get --explain https://example.org/tas.nc.cdfz 'tas[-1, 0, 0]'"),
		Args: func(_ *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				return errors.New("no FILE given")
			case 1:
				return errors.New("no VAR given")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			selections := make([]*formats.Selection, 0, len(args)-1)
			for i, arg := range args[1:] {
				s, err := formats.ParseSelection(arg)
				if err != nil {
					return unquoted(err, arg, i+2 < len(args))
				}
				selections = append(selections, s)
			}
			if err := v.check(len(selections)); err != nil {
				return err
			}
			if err := v.do(cmd.Context(), args[0], selections); err != nil {
				name := terminal.ShowName(args[0])
				v.failed(name, &shownError{err, name})
			}
			return nil
		},
	}
	run.Dest.ToObjects = true
	cmd.ValidArgsFunction = cli.CompleteVars
	f := cmd.Flags()
	cli.Flags(cmd, "Values", func(f *pflag.FlagSet) {
		cli.Choice(cmd, &v.format, "format", "what to write", formats.Formats...)
		f.BoolVar(&v.o.Unpack, "unpack", false, "write unpacked values")
		f.BoolVar(&v.o.Time, "time", false, "write times as ISO 8601")
		f.BoolVar(&v.o.Nearest, "nearest", false, "take the nearest value for values outside of an axis")
		f.BoolVar(&v.o.KeepFill, "keep-fill", false, "write fill values as numbers in CSV and JSON")
	})
	f.BoolVar(&v.explain, "explain", false, "report which blocks were needed and read (with --json as an object)")
	run.DestFlag(cmd, "write to `OUT`: a file, a folder, the URL of an object, or - (default);\na folder gets a file for each VAR, and - is standard output")
	run.ForceFlag(cmd)
	run.MemoryFlag(cmd)
	run.StatsFlag(cmd)
	f.BoolVar(&run.Term.JSON, "json", false, "report as JSON,\non standard error if the data is on standard output")
	return cmd
}

// unquoted adds a hint to an error about a selection that the shell seems to have
// split.
func unquoted(err error, arg string, more bool) error {
	open := strings.LastIndexByte(arg, '[')
	if open >= 0 && !strings.Contains(arg[open:], "]") && more || open < 0 && strings.HasSuffix(arg, "]") {
		return terminal.Hinted(err, "quote selections for the shell, as in 'tas[0, :]'")
	}
	return err
}

// check checks the flags.
func (v *getter) check(vars int) error {
	if v.run.Dest.Name == "" {
		v.run.Dest.Name = terminal.StdoutName
	}
	if err := v.run.Dest.CheckURL(); err != nil {
		return err
	}
	toFile := !v.run.Dest.IsStdout() && !v.run.Dest.IsDir()
	if !v.run.Dest.IsStdout() && v.run.Dest.IsDir() {
		if err := v.run.Targets.CheckDir(nil); err != nil {
			return err
		}
	}
	if v.format == "" {
		v.format = formats.CSV
		if toFile {
			if v.format = formats.FormatOf(v.run.Dest.Name); strings.HasSuffix(v.run.Dest.Name, fileio.Suffix) {
				v.format = formats.NC
			}
			if v.format == "" {
				return terminal.Hinted(fmt.Errorf("-o %s: expected a name that ends in .csv, .json, .npy, .raw, .nc or .cdfz", v.run.Dest.Name), "--format sets the format for any suffix")
			}
		}
	}
	switch {
	case v.archives() && s3.IsURL(v.run.Dest.Name):
		return terminal.Hinted(errors.New("an archive of a selection is written to a file only"), "cdfz copy uploads it")
	case v.o.Time && v.format.Binary():
		return fmt.Errorf("--time: expected --format csv or json, found %s", v.format)
	case vars > 1 && !v.run.Dest.IsDir() && v.format.Single():
		return terminal.Hinted(fmt.Errorf("--format %s: expected one variable for a file, found %d", v.format, vars), "-o DIR%c writes a file of each", filepath.Separator)
	case v.run.Dest.IsStdout() && v.format.Binary() && terminal.IsTerminal(v.run.Term.Out):
		return terminal.Hinted(errors.New("will not write binary data to a terminal"), "-o FILE writes to a file")
	}
	v.o.Escape = v.run.Dest.IsStdout() && terminal.IsTerminal(v.run.Term.Out)
	return nil
}

// getRun is a run of the verb on a file.
type getRun struct {
	*getter
	name    string
	in      *fileio.Input
	f       *archive.File
	watched bool     // count reads for --explain or the progress bar
	count   *counter // nil if not watched, and for joined files

	// Counts at the end of the last output.
	start              time.Time
	was                archive.Stats
	wasReads, wasBytes int64
}

func (v *getter) do(ctx context.Context, name string, selections []*formats.Selection) error {
	start := time.Now()
	r := &getRun{getter: v, name: name, start: start}
	r.watched = v.explain || v.run.Term.ShowsProgress()
	if err := r.open(ctx); err != nil {
		return err
	}
	defer r.in.Close()
	if v.format == formats.NC {
		v.o.History = historyLine(r.name, selections)
	}
	var sel []*formats.Values
	for _, s := range selections {
		x, err := s.Apply(ctx, r.f, &v.o)
		if err != nil {
			return nearName(v.nearValue(ctx, r.f, s, fileio.ExplainDamage(err, r.in, r.f, "cdfz verify lists all damage")))
		}
		// The range of values may have been meant as one of indices.
		if x.Len() == 0 && strings.Contains(s.Text, "=") {
			v.run.Term.Message("warning: %s: %s selects no values", r.name, display.Quoted(s.Text))
		}
		for _, note := range x.Notes() {
			v.run.Term.Message("%s: %s %s", r.name, display.Quoted(s.Text), terminal.WithoutPackages(note))
		}
		sel = append(sel, x)
	}
	if !v.run.Dest.IsDir() {
		return r.one(ctx, v.run.Dest.Name, sel)
	}
	for i, name := range targetNames(selections, string(v.format)) {
		if v.run.Term.Stopped(ctx) {
			break
		}
		path, err := v.run.Targets.PathOf(fileio.File{Rel: name}, func(name string) (string, error) { return name, nil })
		if err != nil {
			return err
		}
		if err := r.one(ctx, path, sel[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// open opens the file.
func (r *getRun) open(ctx context.Context) error {
	in, f, err := r.run.In.OpenNetCDF(ctx, r.name, r.run.Limits.OpenOptions(), fileio.NetCDF{Opened: r.watch, Explain: func(in *fileio.Input, err error) error {
		if errors.Is(err, archive.ErrCorrupt) {
			err = fileio.ExplainNotArchive(in, err)
		}
		return err
	}})
	if err != nil {
		return err
	}
	r.f = f
	if r.in = in; r.name != terminal.StdinName {
		r.name = terminal.ShowName(r.name)
	}
	return nil
}

// watch counts the reads of a file, if they are needed.
func (r *getRun) watch(in *fileio.Input) {
	if r.watched {
		r.count = &counter{}
		in.R = r.count.of(in.R)
	}
}

// shownError is an error without the file name at the start of its text, because
// messages begin with the name.
type shownError struct {
	error
	shown string
}

func (e *shownError) Error() string {
	return strings.TrimPrefix(terminal.WithoutPackages(e.error.Error()), e.shown+": ")
}

func (e *shownError) Unwrap() error { return e.error }

// one writes selections to one target.
func (r *getRun) one(ctx context.Context, path string, sel []*formats.Values) error {
	writer, err := formats.NewWriter(r.format, sel)
	if errors.Is(err, formats.ErrCombine) {
		return terminal.Hinted(err, "-o DIR%c writes a file of each", filepath.Separator)
	}
	if err != nil {
		return err
	}
	blocks := int64(0)
	stop := func() {}
	if r.watched {
		bytes := int64(0)
		if blocks, bytes, err = r.blocksOf(writer.Reads()); err != nil {
			return err
		}
		stop = r.show(blocks, bytes)
	}
	defer func() { stop() }()
	write := r.toSink
	if r.archives() {
		write = r.toArchive
	}
	n, err := write(ctx, path, writer)
	if err != nil {
		return fileio.ExplainDamage(err, r.in, r.f, "cdfz verify lists all damage")
	}
	stop()
	r.tell(path, sel, n, blocks)
	return nil
}

// blocksOf counts the blocks that selections need and the bytes to read for them: those
// of decoded blocks, or of values if the variable has no blocks.
func (r *getRun) blocksOf(sel []*formats.Values) (blocks, bytes int64, err error) {
	var vars []archive.VarInfo
	for _, v := range r.f.Vars() {
		vars = append(vars, v.Info())
	}
	seen := map[int]map[int64]bool{}
	for _, s := range sel {
		num, size := s.Var(), s.StoredType().Size()
		if !vars[num].Blocked {
			bytes += s.Len() * size
			blocks += vars[num].Blocks
			continue
		}
		i := &vars[num]
		of := seen[num]
		if of == nil {
			of = map[int64]bool{}
			seen[num] = of
		}
		len := size
		for _, b := range i.Block {
			len *= b
		}
		shape := r.f.Header().Vars[num].Shape
		err := s.Slab().Grid(shape, i.Block, func(grid []int64, _, _ int64) bool {
			b := int64(0)
			for k, g := range grid {
				b = b*((shape[k]-1)/i.Block[k]+1) + g
			}
			if !of[b] {
				of[b] = true
				blocks++
				bytes += len
			}
			return true
		})
		if err != nil {
			return 0, 0, err
		}
	}
	return blocks, bytes, nil
}

// show updates the progress bar while a selection is written. stop removes the bar.
func (r *getRun) show(blocks, total int64) (stop func()) {
	r.run.Term.StartProgress("get", total)
	report := r.run.Term.Step(r.in.Name, total, 0, 1)
	if report == nil {
		return func() {}
	}
	was := r.stats()
	_, wasBytes := r.count.counts()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if blocks > 0 {
					report(total / blocks * (r.stats().Blocks - was.Blocks))
				} else {
					_, bytes := r.count.counts()
					report(bytes - wasBytes)
				}
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(done)
		<-ended
		r.run.Term.StopProgress()
	})
}
