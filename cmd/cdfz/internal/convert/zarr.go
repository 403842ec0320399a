package convert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/export/refs"
	"github.com/cdfz-format/cdfz/export/zarr"
)

// zarrStore writes a folder that is a Zarr store.
func (v *exporter) zarrStore(ctx context.Context, in *cli.Input, f *archive.File, rep *report) error {
	res, err := zarr.Write(ctx, v.Dest, f, &zarr.Options{
		Format: v.format, Filters: v.chain, Workers: v.Workers, Overwrite: v.Force, Progress: v.Step(in.Name, f.Image().Size(), 0, 1)})
	if errors.Is(err, fs.ErrExist) {
		return cli.Hinted(err, "-f replaces Zarr stores, and nothing else")
	}
	if err != nil {
		return err
	}
	rep.Written, rep.Chunks, rep.Copied = res.Size, res.Chunks, res.Copied
	for _, n := range res.Missing {
		rep.warnings = append(rep.warnings, fmt.Sprintf("variable %s cannot be an array of Zarr and is left out", cli.Quoted(varName(f, n))))
	}
	omit(f, rep)
	return in.Changed()
}

// omit reports the attributes that the Zarr view leaves out.
func omit(f *archive.File, rep *report) {
	for _, o := range f.Omitted() {
		rep.Omitted = append(rep.Omitted, omitted{varName(f, o.Var), o.Attr, o.Why})
	}
}

// references writes references to FILE.
func (v *exporter) references(ctx context.Context, in *cli.Input, f *archive.File, rep *report) error {
	s, err := v.Sink(v.Dest, in)
	if err != nil {
		return err
	}
	defer s.Abort()
	res, err := refs.WriteJSON(ctx, cli.CtxWriter{Ctx: ctx, W: s}, f, v.url)
	switch {
	case errors.Is(err, refs.ErrClassic):
		return cli.Hinted(err, "cdfz archive makes an archive")
	case errors.Is(err, refs.ErrInline):
		return cli.Hinted(err, "make an archive with blocks for all variables by cdfz copy --zarr always")
	case err != nil:
		return err
	}
	rep.Chunks, rep.Copied = res.Chunks, res.Referred
	if s.T != nil {
		rep.Written = s.T.Size()
	}
	if len(res.Packages) > 0 {
		rep.warnings = append(rep.warnings, "readers need the Python package "+strings.Join(res.Packages, " and ")+"; archives made with --preset portable do not")
	}
	omit(f, rep)
	if err := in.Changed(); err != nil {
		return err
	}
	return s.Commit()
}
