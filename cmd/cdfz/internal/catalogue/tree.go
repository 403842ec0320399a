package catalogue

import (
	"context"
	"path"
	"path/filepath"
	"strings"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cataloguefile"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/remote"
)

// selects selects archives, and files that were kept as they are.
func (v *cataloguer) selects(e fileio.Entry) (string, error) {
	if v.trees.Entry(e.Name) != nil {
		return "", nil
	}
	return fileio.Archives(e)
}

// plain returns the row of a file that was kept as it is, nil for others. It has what the tree file lists.
func (v *cataloguer) plain(ctx context.Context, j *cli.Job) ([]cataloguefile.Row, error) {
	e := v.trees.Entry(j.Name)
	if e == nil || e.Kind != treefile.Plain {
		return nil, nil
	}
	kind := "empty"
	if e.Size > 0 {
		in, err := v.run.In.OpenFile(ctx, j.File)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		if kind, err = in.Kind(); err != nil {
			return nil, err
		}
	}
	return []cataloguefile.Row{rowOf(j.Name, e, kind)}, nil
}

// rowOf returns the row of an entry without variables.
func rowOf(name string, e *treefile.Entry, kind string) cataloguefile.Row {
	row := cataloguefile.Row{Image: strings.ToValidUTF8(path.Base(e.Path), "\uFFFD"), SHA256: e.SHA256, ImageSize: e.Size, Kind: kind}
	if !remote.IsURL(name) {
		name = filepath.Clean(name)
	}
	row.SetName(terminal.ReportName(name))
	return row
}

// links returns the rows of symbolic links, and of further names of files that were kept as they are. In a store, archives
// have further names, too.
func (v *cataloguer) links() (rows []cataloguefile.Row) {
	for _, of := range v.trees {
		for i, e := range of.Tree.Entries() {
			if !of.Has(e.Path) || !v.run.Select.Chooses(of.Inner(e.Path)) {
				continue
			}
			switch e.Kind {
			case treefile.Link:
				rows = append(rows, rowOf(of.NameOf(e.Placed()), &e, "link"))
			case treefile.HardLink:
				if first := of.Tree.Linked(&of.Tree.Entries()[i]); first.Kind == treefile.Plain || remote.IsURL(of.Folder) {
					e.Size, e.SHA256 = first.Size, first.SHA256
					rows = append(rows, rowOf(of.NameOf(e.Path), &e, "hard link"))
				}
			}
		}
	}
	return rows
}
