package catalogue

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cataloguefile"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/remote"
)

// findTrees finds the tree files of FILEs that archive --whole has made.
func (v *cataloguer) findTrees(ctx context.Context, failed func(name string, err error)) {
	for _, name := range v.files {
		of, err := fileio.FindTree(ctx, name)
		switch {
		case errors.Is(err, fs.ErrPermission): // only those who may read all of the tree may read its file
		case err != nil:
			failed(terminal.ShowName(fileio.TreePath(name)), err)
		case of != nil:
			v.trees = append(v.trees, of)
		}
	}
}

// entry returns the entry of the file with a name, or nil.
func (v *cataloguer) entry(name string) *treefile.Entry {
	for _, of := range v.trees {
		if rel := of.RelOf(name); rel != "" && !strings.HasPrefix(rel, "../") {
			if e := of.Tree.ByStored(rel); e != nil {
				return e
			}
		}
	}
	return nil
}

// selects selects archives, and files that were kept as they are.
func (v *cataloguer) selects(e fileio.Entry) (string, error) {
	if v.entry(e.Name) != nil {
		return "", nil
	}
	return fileio.Archives(e)
}

// plain returns the row of a file that was kept as it is, nil for others. It has what the tree file lists.
func (v *cataloguer) plain(j *cli.Job) []cataloguefile.Row {
	e := v.entry(j.Name)
	if e == nil || e.Kind != treefile.Plain {
		return nil
	}
	name := terminal.ReportName(j.Name)
	if !remote.IsURL(j.Name) {
		name = filepath.Clean(j.Name)
	}
	row := cataloguefile.Row{Image: strings.ToValidUTF8(filepath.Base(filepath.FromSlash(e.Path)), "\uFFFD"), SHA256: e.SHA256, ImageSize: e.Size}
	row.SetName(name)
	return []cataloguefile.Row{row}
}
