package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats/zarr"
)

// zarrStore writes a folder that is a Zarr store.
func (v *exporter) zarrStore(ctx context.Context, in *fileio.Input, f *archive.File, rep *report) error {
	res, err := zarr.Write(ctx, v.run.Dest.Name, f, &zarr.Options{
		Format: v.format, Filters: v.chain, Workers: v.run.Limits.Coders(), Overwrite: v.run.Rules.Force, Rights: v.run.Targets.StoreRights(v.run.Dest.Name, in), Changed: in.Changed, Progress: v.run.Term.Step(in.Name, f.Image().Size(), 0, 1)})
	if errors.Is(err, fs.ErrExist) {
		return terminal.Hinted(err, "-f replaces Zarr stores without other files in them, and nothing else")
	}
	if err != nil {
		return err
	}
	rep.Written, rep.Chunks, rep.Copied = res.Size, res.Chunks, res.Copied
	if res.Lorenz {
		rep.warnings = append(rep.warnings, "readers need the Python package cdfz for lorenz; exports without --filters 52723 do not")
	}
	rep.needCodecs(res.Codecs)
	for _, n := range res.Missing {
		rep.warnings = append(rep.warnings, fmt.Sprintf("variable %s cannot be an array of Zarr and is left out", display.Quoted(varName(f, n))))
	}
	omit(f, rep, res.Omitted)
	return nil
}

// needCodecs reports codecs that plugins define.
func (r *report) needCodecs(ids []string) {
	for _, id := range ids {
		r.warnings = append(r.warnings, fmt.Sprintf("readers need the codec %s, which a plugin defines", display.Quoted(id)))
	}
}

// omit reports attributes that Zarr cannot hold.
func omit(f *archive.File, rep *report, list []archive.Omitted) {
	for _, o := range list {
		rep.Omitted = append(rep.Omitted, omitted{varName(f, o.Var), o.Attr, o.Why})
	}
}
