// Package find is the verb find: files of a catalogue by what is in them.
package find

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cataloguefile"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
)

// finder runs the verb find.
type finder struct {
	run        *cli.Run
	catalogues []string
	query      cataloguefile.Query
	long, null bool
	stac       bool
	older      bool                // states of files in volumes, too
	item       *cataloguefile.Item // of the last file that was found, with --stac
	found      bool
	table      [][]string
	held       int // bytes of the table
}

// maxHeld bounds the bytes of a table that is held. A longer table is printed in parts, each with its own widths
// of columns: a small catalogue can claim any number of long rows.
const maxHeld = 16 << 20

var heading = []string{"file", "variable", "dimensions", "times", "latitudes", "longitudes"}

// Command makes cdfz find.
func Command(run *cli.Run) *cobra.Command {
	v := &finder{run: run}
	cmd := &cobra.Command{
		Use:   "find [flags] --catalogue CAT.parquet [NAME…]",
		Short: "Find files in a catalogue by variables, times and places",
		Long: `Prints the files of a catalogue that have a variable which meets all conditions, one a line. The
catalogue is one that cdfz catalogue has made, also at a URL. The files themselves are not opened.

NAME is the name of a variable, or a shell pattern in quotes, such as 'tas*'. With several,
one must match.

--time takes a year, a month, a day or a range of them, such as 1987, 1987-01..1988-06 or
1987.., and finds variables with times in it: from the first to the last, without a look at
gaps. --bbox finds variables with places in W,S,E,N in degrees: one of their points, if they are
at up to 1,000 stations, profiles or other single places, or else a box that overlaps with this
one. -10 and 350 are the same longitude, and a box with W greater than E, such as
170,-10,-170,10, goes across the date line. Variables without times, or without latitudes and longitudes, are not found then. --attr
NAME=VALUE compares an attribute of the variable or else of the file, as a number or with VALUE
as a pattern.

--path and --kind find files, also those that archive --whole has kept as they are and links, which have no
variables. A pattern of --path is for the whole path, and its * matches slashes, too. Kinds are
archive, classic netCDF, netCDF-4, compressed, empty, other, link and hard link.

Of files in volumes, the current state is found, that in the volume that was packed last. --older finds earlier ones, too, and
--long then has columns with the time of packing and the state.

--stac prints an item of a SpatioTemporal Asset Catalog for each file, one a line, with the
variables that were found.

The exit code is 1 if nothing is found.`,
		Example: cli.Examples(
			"cdfz find --catalogue cat.parquet tas --time 1987",
			"cdfz find --catalogue cat.parquet 'ta*' --bbox -10,35,30,60 --long",
			"cdfz find --catalogue cat.parquet --standard-name air_temperature --attr realm=atmos",
			"cdfz find --catalogue cat.parquet --kind netCDF-4 --path '*1987*'",
			"cdfz find --catalogue cat.parquet tas -0 | xargs -0 cdfz verify --",
			"cdfz find --catalogue cat.parquet --stac >items.ndjson"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v.query.Variables = args
			if err := v.check(); err != nil {
				return err
			}
			v.do(cmd.Context())
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cli.Flags(cmd, "Conditions", func(f *pflag.FlagSet) {
		f.StringArrayVar(&v.catalogues, "catalogue", nil, "search `CAT.parquet`; repeatable")
		f.Var(&parsed{"TIME", func(s string) (err error) { v.query.Times, err = cataloguefile.ParseTimes(s); return err }}, "time", "find times in a year, month, day or FROM..TO")
		f.Var(&parsed{"W,S,E,N", func(s string) (err error) { v.query.Box, err = cataloguefile.ParseBox(s); return err }}, "bbox", "find places in this box, in degrees")
		f.StringArrayVar(&v.query.StandardNames, "standard-name", nil, "find this standard_name, or those that match a `PATTERN`; repeatable")
		f.Var(&parsed{"NAME=VALUE", func(s string) error {
			c, err := cataloguefile.ParseAttribute(s)
			v.query.Attributes = append(v.query.Attributes, c)
			return err
		}}, "attr", "find this attribute of variable or file; repeatable, all must match")
		f.StringArrayVar(&v.query.Paths, "path", nil, "find files whose path matches a `PATTERN`; repeatable")
		f.StringArrayVar(&v.query.Kinds, "kind", nil, "find files of this `KIND`, such as archive or netCDF-4; repeatable")
	})
	cli.Flags(cmd, "States", func(f *pflag.FlagSet) {
		f.BoolVar(&v.older, "older", false, "find older states of files in volumes, too")
	})
	cli.Flags(cmd, cli.OutputFlags, func(f *pflag.FlagSet) {
		f.BoolVarP(&v.long, "long", "l", false, "print a table of the variables that were found")
		f.BoolVarP(&v.null, "null", "0", false, "end names in a zero byte, as xargs -0 reads them")
		f.BoolVar(&v.stac, "stac", false, "print files as items of a SpatioTemporal Asset Catalog")
	})
	run.JSONFlag(cmd)
	if err := cmd.MarkFlagFilename("catalogue", "parquet"); err != nil {
		panic("internal error: " + err.Error())
	}
	return cmd
}

// parsed is a flag whose value is parsed by a function.
type parsed struct {
	kind string
	set  func(string) error
}

// Type returns the name of the value in help.
func (f *parsed) Type() string { return f.kind }

func (f *parsed) String() string { return "" }

// Set parses a value.
func (f *parsed) Set(s string) error { return f.set(s) }

// check checks the command line.
func (v *finder) check() error {
	if len(v.catalogues) == 0 {
		return terminal.Hinted(errors.New("no catalogue given"), "--catalogue CAT.parquet names it; cdfz catalogue makes one")
	}
	forms := 0
	for _, given := range []bool{v.long, v.null, v.stac, v.run.Term.JSON} {
		if given {
			forms++
		}
	}
	if forms > 1 {
		return errors.New("expected one of --long, --null, --stac and --json")
	}
	for _, p := range slices.Concat(v.query.Variables, v.query.StandardNames, v.query.Paths) {
		if err := cataloguefile.CheckPattern(p); err != nil {
			return err
		}
	}
	for _, k := range v.query.Kinds {
		if !slices.Contains(cataloguefile.Kinds, k) {
			return fmt.Errorf("--kind: expected one of %s, found %q", strings.Join(cataloguefile.Kinds, ", "), k)
		}
	}
	return nil
}

func (v *finder) do(ctx context.Context) {
	if v.older {
		heading = append(heading, "packed", "state")
	}
	v.table = [][]string{heading}
	failed := false
	for _, name := range v.catalogues {
		if err := v.search(ctx, name); err != nil {
			v.run.Term.FailFile(terminal.ShowName(name), err)
			failed = true
		}
		if v.run.Term.Stopped(ctx) {
			return
		}
	}
	if v.found && v.long {
		display.WriteTable(v.run.Term.Out, v.table)
	}
	if !v.found && !failed {
		v.run.Term.SetCode(terminal.ExitFailed)
	}
}

// search prints what is found in a catalogue.
func (v *finder) search(ctx context.Context, name string) error {
	in, err := v.run.In.Open(ctx, name)
	if err != nil {
		return err
	}
	defer in.Close()
	c, err := cataloguefile.Open(in.R, in.Size)
	if err != nil {
		return err
	}
	last := ""
	v.item = nil // of a catalogue that ended with an error
	for {
		r, err := c.Next()
		if errors.Is(err, io.EOF) {
			v.endItem()
			return nil
		}
		if err = cmp.Or(err, ctx.Err(), v.run.Term.Out.Err()); err != nil {
			return err
		}
		if r.CurrentVolume != "" && !v.older || !v.query.Matches(r) {
			continue
		}
		v.found = true
		switch {
		case v.stac && r.Variable == "" && r.Kind != cataloguefile.KindArchive && r.Kind != cataloguefile.KindClassic: // no data
		case v.stac:
			if v.item == nil || r.Name() != last {
				v.endItem()
				v.item = cataloguefile.NewItem(r)
			}
			v.item.Add(r)
		case v.run.Term.JSON:
			v.run.Term.Emit(jsonOf(r))
		case v.long:
			line := []string{display.Quoted(r.Name()), display.Quoted(r.Variable), dims(r), times(r), span(r.LatMin, r.LatMax), longitudes(r)}
			if v.older {
				line = append(line, cmp.Or(packed(r), "-"), state(r))
			}
			v.addLine(line)
		case r.Name() == last:
		case v.null:
			fmt.Fprintf(v.run.Term.Out, "%s\x00", r.Name())
		case terminal.IsTerminal(v.run.Term.Out):
			v.run.Term.Print("%s", r.Name())
		default:
			fmt.Fprintln(v.run.Term.Out, r.Name())
		}
		last = r.Name()
	}
}

// endItem prints the item of a file all of whose variables were seen.
func (v *finder) endItem() {
	if v.item != nil {
		v.run.Term.Emit(v.item)
		v.item = nil
	}
}

// addLine adds a line to the table, and prints the table if it is long.
func (v *finder) addLine(line []string) {
	const lineLen = 128 // bytes besides the texts
	v.table = append(v.table, line)
	v.held += lineLen
	for _, cell := range line {
		v.held += len(cell)
	}
	if v.held >= maxHeld {
		display.WriteTable(v.run.Term.Out, v.table)
		v.table, v.held = nil, 0
	}
}

// dims is (time=24,lat=16) for a row.
func dims(r *cataloguefile.Row) string {
	words := make([]string, len(r.Shape))
	for i, n := range r.Shape {
		words[i] = display.Quoted(r.Dimensions[i]) + "=" + strconv.FormatInt(n, 10)
	}
	return "(" + strings.Join(words, ",") + ")"
}

// packed is when the volume of a row was packed, "" if that is unknown.
func packed(r *cataloguefile.Row) string {
	if r.Packed == 0 {
		return ""
	}
	return time.UnixMicro(r.Packed).UTC().Format(time.RFC3339)
}

// state is the state of a file in a volume.
func state(r *cataloguefile.Row) string {
	switch {
	case r.Volume == "":
		return "-"
	case r.CurrentVolume == "":
		return "current"
	}
	return "older than in " + display.Quoted(r.CurrentVolume)
}

// times is 1987-01-01..1987-12-31 for a row. Midnight is left out.
func times(r *cataloguefile.Row) string {
	if r.TimeStart == "" {
		return "-"
	}
	const midnight = "T00:00:00"
	start, end := r.TimeStart, r.TimeEnd
	if strings.HasSuffix(start, midnight) && strings.HasSuffix(end, midnight) {
		start, end = strings.TrimSuffix(start, midnight), strings.TrimSuffix(end, midnight)
	}
	if start == end {
		return start
	}
	return start + ".." + end
}

// span is -90..90.
func span(lo, hi *float64) string {
	switch {
	case lo == nil:
		return "-"
	case *lo == *hi:
		return degrees(*lo)
	}
	return degrees(*lo) + ".." + degrees(*hi)
}

// degrees formats an angle with six decimals at most.
func degrees(x float64) string { return strconv.FormatFloat(display.Round(x, 6), 'f', -1, 64) }

func longitudes(r *cataloguefile.Row) string {
	if r.LonCircle {
		return span(r.LonMin, r.LonMax) + " (all)"
	}
	return span(r.LonMin, r.LonMax)
}

// row is the JSON of a row.
type row struct {
	File         string   `json:"file"`
	Image        string   `json:"image"`
	SHA256       string   `json:"sha256,omitempty"`
	ImageSize    int64    `json:"image_size"`
	ArchiveSize  int64    `json:"archive_size,omitempty"`
	Variable     string   `json:"variable"`
	Type         string   `json:"type"`
	Dims         []string `json:"dims"`
	Shape        []int64  `json:"shape"`
	Units        string   `json:"units,omitempty"`
	StandardName string   `json:"standard_name,omitempty"`
	LongName     string   `json:"long_name,omitempty"`
	Calendar     string   `json:"calendar,omitempty"`
	TimeStart    string   `json:"time_start,omitempty"`
	TimeEnd      string   `json:"time_end,omitempty"`
	LatMin       *float64 `json:"lat_min,omitempty"`
	LatMax       *float64 `json:"lat_max,omitempty"`
	LonMin       *float64 `json:"lon_min,omitempty"`
	LonMax       *float64 `json:"lon_max,omitempty"`
	LonCircle    bool     `json:"lon_circle,omitempty"`
	Points       int      `json:"points,omitempty"`
	Filters      string   `json:"filters,omitempty"`
	Proved       string   `json:"proved,omitempty"`
	Kind         string   `json:"kind,omitempty"`
	Volume       string   `json:"volume,omitempty"`
	Packed       string   `json:"packed,omitempty"`
	Current      string   `json:"current_volume,omitempty"`
}

func jsonOf(r *cataloguefile.Row) *row {
	o := &row{
		File: r.Name(), Image: r.Image, SHA256: r.SHA256, ImageSize: r.ImageSize, ArchiveSize: r.ArchiveSize,
		Variable: r.Variable, Type: r.Type, Dims: r.Dimensions, Shape: r.Shape, Units: r.Units, StandardName: r.StandardName, LongName: r.LongName,
		Calendar: r.Calendar, TimeStart: r.TimeStart, TimeEnd: r.TimeEnd, LatMin: r.LatMin, LatMax: r.LatMax, LonMin: r.LonMin, LonMax: r.LonMax,
		LonCircle: r.LonCircle, Filters: r.Filters, Kind: r.Kind, Volume: r.Volume, Packed: packed(r), Current: r.CurrentVolume,
	}
	if r.Points != nil {
		o.Points = r.Points.Len()
	}
	if r.Proved != 0 {
		o.Proved = time.UnixMicro(r.Proved).UTC().Format(time.RFC3339)
	}
	return o
}
