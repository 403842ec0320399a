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

// setState sets what the rows of a member of a volume tell about its state.
func setState(rows []cataloguefile.Row, s fileio.State) {
	name := func(name string) string {
		if !remote.IsURL(name) {
			name = filepath.Clean(name)
		}
		return strings.ToValidUTF8(terminal.ReportName(name), "\uFFFD")
	}
	volume, current := name(s.Volume), ""
	if s.Current != "" {
		current = name(s.Current)
	}
	for i := range rows {
		rows[i].Volume, rows[i].CurrentVolume = volume, current
		if !s.Packed.IsZero() {
			rows[i].Packed = s.Packed.UnixMicro()
		}
	}
}

// plain returns the row of a file that was kept as it is, nil for others. It has what the tree file lists.
func (v *cataloguer) plain(ctx context.Context, j *cli.Job) ([]cataloguefile.Row, error) {
	e := v.trees.Entry(j.Name)
	if e == nil || e.Kind != treefile.Plain {
		return nil, nil
	}
	state, err := j.State(ctx)
	if err != nil {
		return nil, err
	}
	own := *e
	if state.Current != "" { // the tree file lists the current state
		own.Size, own.SHA256 = j.Size, j.SHA256
	}
	kind := "empty"
	if own.Size > 0 {
		in, err := v.run.In.OpenFile(ctx, j.File)
		if err != nil {
			return nil, err
		}
		defer in.Close()
		if kind, err = in.Kind(); err != nil {
			return nil, err
		}
	}
	return []cataloguefile.Row{rowOf(j.Name, &own, kind)}, nil
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

// links returns the rows of symbolic links and further names.
func (v *cataloguer) links() (rows []cataloguefile.Row) {
	for _, l := range v.trees.Links(v.run.Select.Chooses) {
		e := *l.Entry
		e.Size, e.SHA256 = l.Size, l.SHA256
		rows = append(rows, rowOf(l.Name, &e, l.Kind))
	}
	return rows
}
