package export

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats/refs"
)

// refsKind is a value of --refs.
type refsKind string

const (
	refsJSON    refsKind = "json"
	refsParquet refsKind = "parquet"
)

// references writes references to FILE.
func (v *exporter) references(ctx context.Context, in *fileio.Input, f *archive.File, rep *report) error {
	write := v.referencesJSON
	if v.refs == refsParquet {
		write = v.referencesParquet
	}
	res, err := write(ctx, in, refs.Source{Archive: f, Dataset: v.dataset, URL: v.url, Changed: in.Changed})
	switch {
	case errors.Is(err, refs.ErrClassic):
		return terminal.Hinted(err, "cdfz archive makes an archive")
	case errors.Is(err, refs.ErrInline) && v.dataset != nil:
		return terminal.Hinted(err, "all files but the last must have a number of indices that is a multiple of their blocks' length")
	case errors.Is(err, refs.ErrInline):
		return terminal.Hinted(err, "make an archive with blocks for all variables by cdfz copy --zarr always")
	case errors.Is(err, fs.ErrExist) && v.refs == refsParquet:
		return terminal.Hinted(err, "-f replaces references in Parquet without other files in the folder, and nothing else")
	case err != nil:
		return err
	}
	rep.Written, rep.Chunks, rep.Copied = res.Size, res.Chunks, res.Referred
	if len(res.Packages) > 0 {
		rep.warnings = append(rep.warnings, "readers need the Python package "+strings.Join(res.Packages, " and ")+"; archives made with --preset portable do not")
	}
	rep.needCodecs(res.Codecs)
	omit(f, rep, res.Omitted)
	return nil
}

func (v *exporter) referencesJSON(ctx context.Context, in *fileio.Input, src refs.Source) (*refs.Result, error) {
	s, err := v.run.Target(v.run.Dest.Name, in).Sink(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Abort()
	res, err := refs.WriteJSON(ctx, fileio.CtxWriter{Ctx: ctx, W: s}, src)
	if err != nil {
		return nil, err
	}
	return res, s.Commit(ctx)
}

func (v *exporter) referencesParquet(ctx context.Context, in *fileio.Input, src refs.Source) (*refs.Result, error) {
	return refs.WriteParquet(ctx, v.run.Dest.Name, src, v.run.Rules.Force, v.run.Targets.StoreRights(v.run.Dest.Name, in))
}
