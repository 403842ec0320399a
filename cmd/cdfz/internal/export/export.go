// Package export is the verb export: netCDF-4 files, Zarr stores and references from archives. The packages
// below exports do the work, one for each format.
package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/joined"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/chains"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats/netcdf4"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats/zarr"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/spec"
	"github.com/cdfz-format/cdfz/remote"
)

// exporter runs the verb export.
type exporter struct {
	run   *cli.Run
	to    kind
	spec  string        // --filters
	chain filters.Chain // nil: the default

	registered bool // whether --filters is the number that The HDF Group has registered for lorenz
	// of --refs, --url and --zarr-format
	refs    refsKind
	dataset *joined.Dataset // FILE, if it is one
	url     string
	format  int
	viewer  string // --viewer
}

// Command makes cdfz export.
func Command(run *cli.Run) *cobra.Command {
	v := &exporter{run: run}
	cmd := &cobra.Command{
		Use:   "export [flags] FILE -o OUT",
		Short: "Write an archive as netCDF-4 or Zarr",
		Long: `Writes an archive or a classic netCDF file for programs that do not know cdfz: as a
netCDF-4 file (.nc4, .nc, .h5) or as a folder that is a Zarr store (.zarr). FILE may also
be an http, https, s3 or gs URL, - for standard input, or the NcML file of many files that
cdfz join makes.

-o - writes to standard output, and -o s3://BUCKET/KEY writes a file to an object store.

Chunks are the blocks of the archive. Stored blocks are copied if HDF5 or Zarr knows
their filters, as with --preset portable. Other blocks, such as those of lorenz, are
encoded with the filters of --filters: by default shuffle and deflate for netCDF-4, and
blosc with zstd for Zarr. With --filters 52723, blocks of lorenz are copied, too, and other
variables are encoded with lorenz, except coordinates of netCDF-4. Readers then need the
plugin libh5lorenz.so for HDF5, or the Python package cdfz for Zarr.

A netCDF-4 file has the dimensions, attributes, variables, values and types of the
original. A Zarr store has the contents of the Zarr view of an archive.

--refs json and --refs parquet write references instead, with which fsspec, xarray and zarr
read the archive itself, at its path or at --url. They need the Python package cdfz for
blocks of lorenz. With parquet, OUT is a folder, and readers load only some of its files.
For an NcML file, they refer to the archives that it joins, and nothing is copied.

--viewer DIR writes the page of cdfz serve as a folder of files that needs no server: it opens
archives at any address and those that are dropped on it.

Most programs that read netCDF-4 also read the original, which cdfz restore makes.`,
		Example: cli.Examples(
			"cdfz export tas.nc.cdfz -o tas.nc4",
			"cdfz export --filters '2|32015,3' tas.nc.cdfz -o tas.nc4  # shuffle and zstd",
			"cdfz export --filters none tas.nc.cdfz -o tas.nc4         # lorenz becomes plain values",
			"cdfz export --filters 52723 tas.nc.cdfz -o tas.nc4        # lorenz stays: readers need a plugin",
			"cdfz export tas.nc.cdfz -o tas.zarr                       # also with --zarr-format 3",
			"cdfz export --refs json --url https://example.org/tas.nc.cdfz tas.nc.cdfz -o tas.json",
			"cdfz export --refs parquet tas.nc.cdfz -o tas.parq",
			"cdfz export --refs parquet tas.ncml -o tas.parq           # many archives as one dataset",
			"cdfz export --viewer viewer/                              # a page for archives on any web server"),
		Args: func(cmd *cobra.Command, args []string) error {
			if v.viewer != "" && len(args) == 0 {
				return nil
			}
			return cli.OneFile(cmd, args)
		},
		ValidArgsFunction: cli.CompleteFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if v.viewer != "" {
				if len(args) > 0 || v.run.Dest.Name != "" {
					return errors.New("--viewer: expected no FILE and no OUT")
				}
				if err := v.writeViewer(v.viewer); err != nil {
					run.Term.FailFile(terminal.ShowName(v.viewer), err)
				}
				return nil
			}
			if err := v.check(args); err != nil {
				return err
			}
			if err := v.do(cmd.Context(), args[0]); err != nil {
				run.Term.FailFile(terminal.ShowName(args[0]), err)
			}
			return nil
		},
	}
	cli.Flags(cmd, cli.FilterFlags, func(f *pflag.FlagSet) {
		f.StringVar(&v.spec, "filters", "", "`SPEC` of the filters of variables that are not copied, or none;\ndefault: shuffle and deflate, for Zarr blosc")
	})
	cli.Flags(cmd, "Form", func(f *pflag.FlagSet) {
		cli.Choice(cmd, &v.to, "to", "what to write, whatever the name of OUT", toNetCDF4, toZarr)
		f.IntVar(&v.format, "zarr-format", 2, "version `N` of Zarr, 2 or 3")
		cli.Choice(cmd, &v.refs, "refs", "write references to FILE in this form, as kerchunk does", refsJSON, refsParquet)
		f.StringVar(&v.viewer, "viewer", "", "write a page that shows archives without a server to the new folder `DIR`;\nno FILE and no OUT are needed")
		f.StringVar(&v.url, "url", "", "`URL` or path at which readers find FILE (default: FILE)")
	})
	run.DestFlag(cmd, "write to `OUT`: a name, the URL of an object, or - for standard output")
	run.ForceFlag(cmd)
	run.MemoryFlag(cmd)
	run.StatsFlag(cmd)
	run.JSONFlag(cmd)
	return cmd
}

// endings are the endings of OUT that tell what to write.
var endings = map[string]kind{".nc4": toNetCDF4, ".nc": toNetCDF4, ".h5": toNetCDF4, ".hdf5": toNetCDF4, ".zarr": toZarr}

// check checks the command line.
func (v *exporter) check(args []string) error {
	if v.run.Dest.Name == "" {
		return terminal.Hinted(errors.New("no OUT given"), "-o OUT names it")
	}
	switch {
	case v.refs != "" && v.to != "":
		return errors.New("expected --to or --refs, found both")
	case v.refs != "":
		v.to = toRefs
	case v.to != "":
	case v.run.Dest.IsStdout():
		v.to = toNetCDF4
	default:
		if v.to = endings[strings.ToLower(filepath.Ext(strings.TrimRight(v.run.Dest.Name, "/")))]; v.to == "" {
			return terminal.Hinted(fmt.Errorf("-o %s: unknown suffix", v.run.Dest.Name), "--to %s or --to %s selects the format", toNetCDF4, toZarr)
		}
	}
	return cmp.Or(v.checkFlags(args), v.checkDest(args))
}

// checkDest checks OUT.
func (v *exporter) checkDest(args []string) error {
	switch {
	case v.to != toZarr && v.refs != refsParquet:
		v.run.Dest.ToObjects = true
		return v.run.Targets.Check(args)
	case v.run.Dest.IsStdout() && v.to == toZarr:
		return errors.New("-o -: a Zarr store is a folder")
	case v.run.Dest.IsStdout():
		return errors.New("-o -: references in Parquet are a folder")
	case remote.IsURL(v.run.Dest.Name):
		return fmt.Errorf("-o %s: cannot write a folder to a URL", terminal.ShowTarget(v.run.Dest.Name))
	case v.refs == refsParquet && strings.Contains(filepath.Base(v.run.Dest.Name), ".json"):
		return terminal.Hinted(fmt.Errorf("-o %s: readers take a name with .json for references in JSON", v.run.Dest.Name), "use a name that ends in .parq")
	}
	return nil
}

// checkFlags checks the other flags.
func (v *exporter) checkFlags(args []string) error {
	switch {
	case v.format != 2 && v.format != 3:
		return fmt.Errorf("--zarr-format: expected 2 or 3, found %d", v.format)
	case v.format == 3 && v.to != toZarr:
		return errors.New("--zarr-format is for Zarr stores")
	case v.url != "" && v.to != toRefs:
		return errors.New("--url is for --refs")
	case v.spec != "" && v.to == toRefs:
		return errors.New("--filters: references change no filters")
	case v.url == "" && v.to == toRefs:
		if args[0] == terminal.StdinName {
			return terminal.Hinted(errors.New("standard input has no path to refer to"), "add --url with the place of FILE")
		}
		if v.url = terminal.ReportName(args[0]); !remote.IsURL(v.url) {
			var err error
			if v.url, err = filepath.Abs(v.url); err != nil {
				return err
			}
		}
	}
	if v.to == toNetCDF4 && netcdf4.Registered != 0 && v.spec == strconv.Itoa(int(netcdf4.Registered)) {
		v.spec, v.registered = strconv.Itoa(int(filters.Lorenz)), true
	}
	switch v.spec {
	case "":
	case "none":
		v.chain = filters.Chain{}
	default:
		c, err := spec.ParseChain(v.spec, nil)
		if err == nil {
			err = chains.Check(c)
		}
		if err == nil && v.to == toNetCDF4 && !netcdf4.Known(c) {
			err = terminal.Hinted(errors.New("HDF5 does not know all of these filters"), "cdfz filters lists their numbers")
		}
		if err == nil && v.to == toZarr && !zarr.Known(v.format, c) {
			err = terminal.Hinted(fmt.Errorf("readers of Zarr v%d do not know all of these filters", v.format), "cdfz filters lists their codecs")
		}
		if err != nil {
			return fmt.Errorf("--filters %s: %w", v.spec, err)
		}
		v.chain = c
	}
	return nil
}

// write writes OUT.
func (v *exporter) write(ctx context.Context, in *fileio.Input, f *archive.File, rep *report) error {
	switch v.to {
	case toZarr:
		return v.zarrStore(ctx, in, f, rep)
	case toRefs:
		return v.references(ctx, in, f, rep)
	}
	return v.netCDF4(ctx, in, f, rep)
}

// open opens FILE.
func (v *exporter) open(ctx context.Context, name string) (in *fileio.Input, f *archive.File, err error) {
	if fileio.IsDataset(name) {
		in, v.dataset, f, err = v.run.In.OpenDataset(ctx, fileio.File{Name: name}, v.run.Limits.OpenOptions())
		return in, f, err
	}
	return v.run.In.OpenNetCDF(ctx, name, v.run.Limits.OpenOptions(), fileio.NetCDF{Explain: fileio.ExplainNotNetCDF})
}

// do exports a file.
func (v *exporter) do(ctx context.Context, name string) error {
	in, f, err := v.open(ctx, name)
	if err != nil {
		return err
	}
	defer in.Close()
	v.run.Term.StartProgress("export", f.Image().Size())
	defer v.run.Term.StopProgress()
	rep := &report{File: terminal.ReportName(name), Target: v.run.Dest.Name, To: v.to, Size: in.Size}
	start := time.Now()
	if err = v.write(ctx, in, f, rep); err != nil {
		return fileio.ExplainDamage(err, in, f, "cdfz verify lists all damage")
	}
	rep.Seconds = display.Round(time.Since(start).Seconds(), 6)
	v.run.Term.StopProgress()
	rep.print(v.run, in)
	return nil
}
