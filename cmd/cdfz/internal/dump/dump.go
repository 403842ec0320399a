// Package dump is the verb dump: CDL and NcML, as ncdump prints them. The module's package cdl does the work.
package dump

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cdl"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// dumper runs the verb dump.
type dumper struct {
	run   *cli.Run
	o     cdl.Options
	kind  bool
	mode  bool // print the mode of the kind, too
	ncgen bool
	vars  string
}

func Command(run *cli.Run) *cobra.Command {
	v := &dumper{run: run}
	cmd := &cobra.Command{
		Use:   "dump [flags] FILE",
		Short: "Print a file as CDL, as ncdump does",
		Long: `Prints a classic netCDF file, or the one in an archive, as CDL. The text and the
flags are those of ncdump. FILE - is standard input. A FILE that ends in .ncml, which cdfz
join makes, prints as the one file that its members are.

An archive prints as its netCDF file. -s shows its storage in the way that ncdump does
for netCDF-4 files: _ChunkSizes are block shapes, and filters are _Shuffle,
_DeflateLevel, _Fletcher32 and _Filter. If these cannot express the order or an optional
filter, _Filter has all filters of the variable, with ? for optional ones. _Codecs has
them as Zarr's codecs. _BlockSize is the target size of blocks. Filters are only named,
not used, so that unknown ones are shown too. cdfz gen makes the same filters of the
text. ncgen refuses filters that it does not know. --ncgen writes what ncgen takes
for a netCDF-4 file: filters that every netCDF-4 library has, for the variables that have
no others. Text without -s also suits classic files of ncgen.

-t prints the values of time variables as dates in quotes. These are variables with
units such as "days since 1850-01-01"; their calendar attribute is followed. -x prints
dimensions, attributes and variables as NcML.`,
		Example: cli.Examples(
			"cdfz dump -h tas.nc.cdfz              # the header",
			"cdfz dump -v lat,lon tas.nc.cdfz",
			"cdfz dump -hs tas.nc.cdfz             # with block shapes and filters",
			"cdfz dump --ncgen tas.nc.cdfz | ncgen -o tas.nc4",
			"cdfz dump -t -v time tas.nc.cdfz      # times as dates",
			"cdfz dump -x tas.nc.cdfz              # NcML",
			"cdfz dump -o cdl/ tas.nc.cdfz         # writes cdl/tas.cdl"),
		Args:              cli.OneFile,
		ValidArgsFunction: cli.CompleteFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			v.o.Vars = strings.FieldsFunc(v.vars, func(c rune) bool { return c == ',' })
			if cmd.Flags().Changed("vars") && len(v.o.Vars) == 0 {
				return fmt.Errorf("-v %s: expected names of variables, found none", v.vars)
			}
			if v.run.Dest.Name == "" {
				v.run.Dest.Name = terminal.StdoutName
			}
			if v.run.Dest.IsDir() {
				if err := v.run.Targets.CheckDir(args); err != nil {
					return err
				}
			}
			v.o.Times = v.o.Times || v.o.ISO
			v.o.Special = v.o.Special || v.ncgen
			v.kind = v.kind || v.mode
			v.o.Warn = func(text string) { v.run.Term.Message("warning: %s: %s", terminal.ShowName(args[0]), text) }
			if err := v.do(cmd.Context(), args[0], cmd.Flags().Changed("name")); err != nil && run.Term.Out.Err() == nil {
				run.Term.Fail(terminal.ShowName(args[0]), err)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	cli.Flags(cmd, "As in ncdump", func(f *pflag.FlagSet) {
		f.BoolVarP(&v.o.Header, "header", "h", false, "no data")
		f.BoolVarP(&v.o.Coords, "coords", "c", false, "data of coordinate variables only")
		f.StringVarP(&v.vars, "vars", "v", "", "data of the variables `A,B` only")
		f.BoolVarP(&v.o.Special, "special", "s", false, "special attributes too: format, blocks, filters")
		f.BoolVar(&v.ncgen, "ncgen", false, "-s with special attributes that ncgen takes")
		f.VarP(&digitsFlag{v: &v.o}, "precision", "p", "`F[,D]` significant digits of floats and doubles (default 7,15)")
		f.VarP(&indexFlag{v: &v.o, on: &v.o.Full}, "full", "f", "the index of each value as a comment, as in `LANG`: c, fortran")
		f.VarP(&indexFlag{v: &v.o, on: &v.o.Brief}, "brief", "b", "the indices of each row as a comment, as in `LANG`")
		f.VarP(&lineFlag{&v.o.LineLen}, "line", "l", "`LENGTH` of lines of data (default 80)")
		f.StringVarP(&v.o.Name, "name", "n", "", "`NAME` of the data set (default: that of the file)")
		f.BoolVarP(&v.o.Times, "times", "t", false, "print times as dates")
		f.BoolVarP(&v.o.ISO, "iso", "i", false, "print times as dates, with a T before the time of day")
	})
	run.MemoryFlag(cmd)
	cli.Flags(cmd, "As in ncdump", func(f *pflag.FlagSet) {
		f.BoolVarP(&v.o.NcML, "xml", "x", false, "print NcML, not CDL")
		f.BoolP("cache", "w", false, "ignored; ncdump has it for DAP URLs")
		f.BoolVarP(&v.kind, "kind", "k", false, "print the kind of file only")
		f.BoolVarP(&v.mode, "mode", "K", false, "print the kind of file and its mode in netCDF-C only")
		f.StringP("debug", "X", "", "ignored; ncdump has it for tests")
		cli.Rare(f, "cache", "debug")
	})
	cli.Flags(cmd, cli.OutputFlags, func(f *pflag.FlagSet) {
		f.BoolVar(&v.run.Rules.Force, "force", false, "overwrite OUT, but no archive and no netCDF file")
	})
	run.DestFlag(cmd, "write to `OUT`: a file, a folder for FILE.cdl, or - (default)")
	run.ReplaceOtherFlags(cmd)
	cli.CompleteVarList(cmd, "vars")
	cli.CompleteWords(cmd, "full", "c", "fortran")
	cli.CompleteWords(cmd, "brief", "c", "fortran")
	f.Bool("help", false, "help for dump") // without cobra's -h
	return cmd
}

func (v *dumper) do(ctx context.Context, name string, named bool) error {
	in, f, err := v.run.In.OpenNetCDF(ctx, name, v.run.Limits.OpenOptions(), fileio.NetCDF{})
	if err != nil {
		return err
	}
	defer in.Close()
	file := imageName(name, f)
	if !named {
		v.o.Name = cdl.Name(file)
	}
	v.o.Location = file
	if v.o.Special {
		v.o.Storage = storage(f)
		if i, ok := f.Info(); ok && v.ncgen {
			v.forNcgen(f)
		} else if ok {
			v.o.BlockSize = i.Block
		}
	}
	path := v.run.Dest.Name
	if v.run.Dest.IsDir() {
		path = filepath.Join(v.run.Dest.Name, cdl.Name(file)+v.suffix())
	}
	dst, err := v.run.Target(path, in).Sink(ctx)
	if err != nil {
		return longForce(err)
	}
	defer dst.Abort()
	switch _, ok := f.Info(); {
	case v.mode:
		_, err = fmt.Fprintln(dst, cdl.KindMode(f.Header().Version))
	case v.kind:
		_, err = fmt.Fprintln(dst, cdl.Kind(f.Header().Version))
	case ok && v.o.Special && !v.ncgen && !v.o.NcML:
		_, err = fmt.Fprintln(dst, "// This text is for cdfz gen. cdfz dump --ncgen writes one for ncgen.")
		fallthrough
	default:
		if err == nil {
			err = fileio.ExplainDamage(cdl.Dump(ctx, dst, f, &v.o), in, f, "cdfz verify lists all damage")
		}
	}
	if err == nil && dst.File() != nil {
		err = in.Changed()
	}
	if err != nil {
		return err
	}
	return longForce(dst.Commit(ctx))
}

// suffix returns the suffix of files below -o DIR/.
func (v *dumper) suffix() string {
	switch {
	case v.kind:
		return ".txt"
	case v.o.NcML:
		return ".ncml"
	}
	return ".cdl"
}

// longForce corrects the advice for an existing target: dump's -f is a flag of ncdump.
func longForce(err error) error {
	if errors.Is(err, atomicfile.ErrExists) {
		return terminal.Hinted(err, "--force overwrites it")
	}
	return err
}

// imageName returns the name of the netCDF file: x.nc for x.nc.cdfz, and for standard
// input the name recorded in the archive. URLs are shown without secrets.
func imageName(name string, f *archive.File) string {
	if name != terminal.StdinName {
		name = terminal.ShowName(name)
	}
	if i, ok := f.Info(); ok {
		if name == terminal.StdinName {
			name = i.ImageName
		} else if image, err := fileio.StripSuffix(name); err == nil {
			name = image
		}
	}
	if name == terminal.StdinName || name == "" {
		return "stdin"
	}
	return filepath.ToSlash(name)
}

// storage returns the function for Options.Storage, or nil for a classic file.
func storage(f *archive.File) func(int) *cdl.Storage {
	if _, ok := f.Info(); !ok {
		return nil
	}
	var vars []archive.VarInfo
	for _, v := range f.Vars() {
		vars = append(vars, v.Info())
	}
	return func(i int) *cdl.Storage {
		if !vars[i].Blocked {
			return nil
		}
		s := &cdl.Storage{Block: vars[i].Block, Codecs: codecsText(f, i, &vars[i])}
		for _, f := range vars[i].Chain {
			s.Filters = append(s.Filters, cdl.Filter{ID: f.ID, Params: f.Params, Optional: f.Optional})
		}
		return s
	}
}

// forNcgen changes the special attributes to those of a netCDF-4 file that ncgen can make
// without plugins. netCDF-4 has its own order of filters, and its own flags.
func (v *dumper) forNcgen(f *archive.File) {
	v.o.Format = "netCDF-4 classic model"
	if f.Header().Version == cdf3.Data64 { // which has other types, too
		v.o.Format = "netCDF-4"
	}
	order := []uint32{filters.Fletcher32, filters.Shuffle, filters.Deflate}
	all := v.o.Storage
	v.o.Storage = func(i int) *cdl.Storage {
		s := all(i)
		if s == nil {
			return nil
		}
		s.Codecs = ""
		if slices.ContainsFunc(s.Filters, func(f cdl.Filter) bool { return !slices.Contains(order, f.ID) }) {
			s.Filters = nil
			return s
		}
		slices.SortStableFunc(s.Filters, func(a, b cdl.Filter) int { return slices.Index(order, a.ID) - slices.Index(order, b.ID) })
		s.Filters = slices.CompactFunc(s.Filters, func(a, b cdl.Filter) bool { return a.ID == b.ID })
		for j := range s.Filters {
			if s.Filters[j].Optional = false; s.Filters[j].ID == filters.Shuffle {
				s.Filters[j].Params = nil
			}
		}
		return s
	}
}

// codecsText returns the chain of variable number i as a JSON array of codecs, or "" if
// a filter has none or is unknown.
func codecsText(f *archive.File, i int, v *archive.VarInfo) string {
	n := f.Header().Vars[i].Type.Size()
	for _, k := range v.Block {
		n *= k
	}
	codecs, err := v.Chain.Codecs(filters.Block{Len: int(n)})
	if err != nil {
		return ""
	}
	b, err := json.Marshal(append([]json.RawMessage{}, codecs...))
	if err != nil {
		return ""
	}
	return string(b)
}

// digitsFlag is -p F[,D].
type digitsFlag struct {
	v    *cdl.Options
	text string
}

func (f *digitsFlag) String() string { return f.text }
func (f *digitsFlag) Type() string   { return "F[,D]" }

func (f *digitsFlag) Set(s string) error {
	float, double, both := strings.Cut(s, ",")
	var n [2]int
	for i, w := range []string{float, double} {
		if i == 1 && !both {
			break
		}
		var err error
		if n[i], err = strconv.Atoi(w); err != nil || n[i] < 1 || n[i] > 20 {
			return errors.New("expected F or F,D with 1 to 20 digits")
		}
	}
	f.text, f.v.FloatDigits, f.v.DoubleDigits = s, n[0], n[1]
	return nil
}

// indexFlag is -f and -b. The last one on the command line decides the language.
type indexFlag struct {
	v    *cdl.Options
	on   *bool
	text string
}

func (f *indexFlag) String() string { return f.text }
func (f *indexFlag) Type() string   { return "LANG" }

// Set uses only the first letter, as ncdump does.
func (f *indexFlag) Set(s string) error {
	switch {
	case strings.HasPrefix(s, "c"), strings.HasPrefix(s, "C"):
		f.v.Fortran = false
	case strings.HasPrefix(s, "f"), strings.HasPrefix(s, "F"):
		f.v.Fortran = true
	default:
		return errors.New("expected c or fortran")
	}
	f.text, *f.on = s, true
	return nil
}

// lineFlag is -l.
type lineFlag struct{ n *int }

func (f *lineFlag) String() string { return "" }
func (f *lineFlag) Type() string   { return "LENGTH" }

func (f *lineFlag) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 10 {
		return errors.New("expected a length of at least 10")
	}
	*f.n = n
	return nil
}
