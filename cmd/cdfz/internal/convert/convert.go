// Package convert has the verb cdfz export.
package convert

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/chains"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/export/netcdf4"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/spec"
)

// exporter runs the verb export.
type exporter struct {
	*cli.App
	to    kind
	spec  string        // --filters
	chain filters.Chain // nil: the default
}

// Command makes cdfz export.
func Command(a *cli.App) *cobra.Command {
	v := &exporter{App: a}
	cmd := &cobra.Command{
		Use:   "export [flags] FILE -o OUT",
		Short: "Write an archive as netCDF-4",
		Long: `Writes an archive or a classic netCDF file as a netCDF-4 file (.nc4, .nc, .h5), for
programs that do not know cdfz. FILE may also be an http or https URL, or - for standard
input. -o - writes to standard output.

Chunks are the blocks of the archive. They are copied as they are stored where HDF5 knows
the filters: archives made with --preset portable or with -F. Others, among them those of
lorenz, are encoded with the filters of --filters: shuffle and deflate by default, which
every HDF5 has. The dimensions, attributes, variables and values are those of the
original, with the same types.

cdfz restore makes the original itself, which netCDF-4 programs read too.`,
		Example: cli.Examples(
			"cdfz export tas.nc.cdfz -o tas.nc4",
			"cdfz export --filters '2|32015,3' tas.nc.cdfz -o tas.nc4  # shuffle and zstd",
			"cdfz export --filters none tas.nc.cdfz -o tas.nc4         # lorenz becomes plain values"),
		Args:              cli.OneFile,
		ValidArgsFunction: cli.CompleteFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := v.check(args); err != nil {
				return err
			}
			if err := v.run(cmd.Context(), args[0]); err != nil {
				a.FailFile(cli.ShowName(args[0]), err)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&v.spec, "filters", "", "`SPEC` of the filters of variables that are not copied, or none (default shuffle and deflate)")
	cli.Choice(cmd, &v.to, "to", "what to write, whatever the name of OUT", toNetCDF4)
	a.DestFlag(cmd, "write to `OUT`, or - for standard output")
	a.ForceFlag(cmd)
	a.StatsFlag(cmd)
	a.JSONFlag(cmd)
	return cmd
}

// endings are the endings of OUT that tell what to write.
var endings = map[string]kind{".nc4": toNetCDF4, ".nc": toNetCDF4, ".h5": toNetCDF4, ".hdf5": toNetCDF4}

// check checks the command line.
func (v *exporter) check(args []string) error {
	if v.Dest == "" {
		return cli.Hinted(errors.New("no OUT given"), "-o OUT names it")
	}
	switch {
	case v.to != "":
	case v.Dest == cli.StdoutName:
		v.to = toNetCDF4
	default:
		if v.to = endings[strings.ToLower(filepath.Ext(strings.TrimRight(v.Dest, "/")))]; v.to == "" {
			return cli.Hinted(fmt.Errorf("-o %s: unknown ending", v.Dest), "--to %s tells what to write", toNetCDF4)
		}
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
		if err == nil && !netcdf4.Known(c) {
			err = cli.Hinted(errors.New("HDF5 does not know all of these filters"), "cdfz filters lists their numbers")
		}
		if err != nil {
			return fmt.Errorf("--filters %s: %w", v.spec, err)
		}
		v.chain = c
	}
	return v.CheckDest(args)
}

// run exports a file.
func (v *exporter) run(ctx context.Context, name string) error {
	in, err := v.Open(ctx, name)
	if err != nil {
		return err
	}
	defer in.Close()
	f, err := archive.New(in.R, in.Size, v.OpenOptions())
	if err != nil {
		return cli.ExplainNotArchive(in, err)
	}
	j := cli.Job{Name: name, Rel: filepath.Base(cli.LocalName(name)), Size: f.Image().Size()}
	v.StartProgress("export", cli.Files{Jobs: []cli.Job{j}})
	defer v.StopProgress()
	rep := &report{File: cli.ReportName(name), Target: v.Dest, To: v.to, Size: in.Size}
	start := time.Now()
	if err = v.netCDF4(ctx, in, f, rep); errors.Is(err, archive.ErrCorrupt) {
		err = cli.Hinted(err, "cdfz verify lists all damage")
	}
	if err != nil {
		return err
	}
	rep.Seconds = cli.Round(time.Since(start).Seconds(), 6)
	v.StopProgress()
	rep.print(v.App, in)
	return nil
}
