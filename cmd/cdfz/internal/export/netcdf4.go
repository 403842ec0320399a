package export

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats/netcdf4"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// netCDF4 writes a netCDF-4 file. Its metadata are written last but come first, so
// standard output gets it from a temporary file.
func (v *exporter) netCDF4(ctx context.Context, in *fileio.Input, f *archive.File, rep *report) error {
	if v.run.Dest.IsStdout() {
		t, err := atomicfile.Temp()
		if err != nil {
			return err
		}
		defer t.Close()
		if err := v.writeNetCDF4(ctx, t, in, f, rep); err != nil {
			return err
		}
		_, err = io.Copy(fileio.CtxWriter{Ctx: ctx, W: v.run.Term.Out}, io.NewSectionReader(t, 0, rep.Written))
		return err
	}
	s, err := v.run.Target(v.run.Dest.Name, in).Sink(ctx)
	if err != nil {
		return err
	}
	defer s.Abort()
	if err := v.writeNetCDF4(ctx, s.File(), in, f, rep); err != nil {
		return err
	}
	return s.Commit(ctx)
}

func (v *exporter) writeNetCDF4(ctx context.Context, dst netcdf4.Target, in *fileio.Input, f *archive.File, rep *report) error {
	res, err := netcdf4.Write(ctx, dst, f, &netcdf4.Options{Filters: v.chain, Registered: v.registered, Workers: v.run.Limits.Coders(), Progress: v.run.Term.Step(in.Name, f.Image().Size(), 0, 1)})
	switch {
	case errors.Is(err, netcdf4.ErrLimit):
		return terminal.Hinted(err, "a netCDF-4 file cannot hold this file")
	case err != nil:
		return err
	}
	rep.Written, rep.Chunks, rep.Copied = res.Size, res.Chunks, res.Copied
	for _, n := range res.Encoded {
		rep.Encoded = append(rep.Encoded, varName(f, n))
	}
	if res.Lorenz {
		rep.lorenz = true
		number := filters.Lorenz
		if v.registered {
			number = uint32(netcdf4.Registered)
		}
		rep.warnings = append(rep.warnings, fmt.Sprintf("readers need the HDF5 plugin for lorenz, filter %d; exports without --filters %[1]d do not", number))
	}
	for _, o := range res.Omitted {
		rep.Omitted = append(rep.Omitted, omitted{varName(f, o.Var), o.Attr, o.Why})
	}
	return in.Changed()
}
