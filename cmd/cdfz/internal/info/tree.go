package info

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
)

// stateReport is the state of a member of a volume in JSON.
type stateReport struct {
	Packed string `json:"packed,omitempty"` // when its volume was packed
	// Current is the volume that has the current state, if this is an older one.
	Current string `json:"current_volume,omitempty"`
}

func describeState(s fileio.State) (rep stateReport) {
	if !s.Packed.IsZero() {
		rep.Packed = packedText(s)
	}
	if s.Current != "" {
		rep.Current = terminal.ReportName(s.Current)
	}
	return rep
}

// cells are two columns: when the volume was packed, and the state.
func cells(s fileio.State) []string {
	switch packed := packedText(s); {
	case s.Volume == "":
		return []string{"-", "-"}
	case !s.Known:
		return []string{packed, "-"}
	case s.Current == "":
		return []string{packed, "current"}
	default:
		return []string{packed, "older than in " + display.Quoted(terminal.ShowName(s.Current))}
	}
}

func packedText(s fileio.State) string {
	if s.Packed.IsZero() {
		return "-"
	}
	return s.Packed.UTC().Format(time.RFC3339)
}

// stateOf is a state of a file in JSON.
type stateOf struct {
	Volume string `json:"volume"`
	stateReport
}

// addStates adds the states of a member of a volume to the report on it. state is known in a run over a folder.
func (v *informer) addStates(ctx context.Context, rep *infoReport, in *fileio.Input, state fileio.State) error {
	if state.Volume != "" {
		rep.stateReport = describeState(state)
		text := display.Quoted(terminal.ShowName(state.Volume)) + ", packed " + packedText(state)
		if row := cells(state); state.Known {
			text += ", " + row[1]
		}
		rep.volumes = [][]string{{"volume", text}}
		return nil
	}
	list, err := v.run.In.StatesOf(ctx, in)
	if err != nil {
		return err
	}
	for _, s := range list {
		text := display.Quoted(terminal.ShowName(s.Volume)) + ", packed " + packedText(s)
		if len(list) > 1 && s.Current == "" {
			text += ", current"
		} else if len(list) > 1 {
			text += ", older"
		}
		title := "also in"
		if in.InVolume(s.Volume) {
			title, rep.stateReport = "volume", describeState(s)
		}
		rep.volumes = append(rep.volumes, []string{title, text})
		rep.States = append(rep.States, stateOf{terminal.ReportName(s.Volume), describeState(s)})
	}
	slices.SortStableFunc(rep.volumes, func(a, b []string) int { return -cmp.Compare(a[0], b[0]) }) // its own first
	return nil
}

// other is the JSON of a file that is kept as it is, or of a link.
type other struct {
	File   string `json:"file"`
	Kind   string `json:"kind"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256,omitempty"`
	To     string `json:"to,omitempty"` // of a link
	stateReport
}

// others are the files of whole trees that are no archives.
type others struct {
	trees fileio.Trees
	table [][]string
	count int64
	size  int64
}

// selects selects archives, and files that are kept as they are.
func (o *others) selects(e fileio.Entry) (string, error) {
	if o.trees.Entry(e.Name) != nil {
		return "", nil
	}
	return fileio.Archives(e)
}

// other reports a file that is kept as it is.
func (v *informer) other(ctx context.Context, j *cli.Job, e *treefile.Entry, state fileio.State) error {
	rep := &other{File: terminal.ReportName(j.Name), Kind: "empty", Size: j.Size, SHA256: e.SHA256, stateReport: describeState(state)}
	if state.Current != "" {
		rep.SHA256 = j.SHA256 // the tree file has that of the current state
	}
	if v.sha256 {
		if rep.SHA256 != "" {
			v.sumLine(rep.SHA256, j.LocalName())
		}
		return nil
	}
	if j.Size > 0 {
		in, err := v.run.In.OpenFile(ctx, j.File)
		if err != nil {
			return err
		}
		defer in.Close()
		if rep.Kind, err = in.Kind(); err != nil {
			return err
		}
	}
	v.addOther(rep, j.Name, state)
	return nil
}

// addOther adds a row to the table of other files, or prints its JSON.
func (v *informer) addOther(rep *other, name string, state fileio.State) {
	if v.run.Term.JSON {
		v.run.Term.Emit(rep)
		return
	}
	o := &v.others
	size := strconv.FormatInt(rep.Size, 10)
	if rep.Kind == kindLink {
		size = "-"
	} else {
		o.count++
		o.size += rep.Size
	}
	o.table = append(o.table, append([]string{display.Quoted(terminal.ShowName(name)), size, rep.Kind}, cells(state)...))
}

const kindLink = "link"

// links reports the links of the trees.
func (v *informer) links() {
	if v.sha256 {
		return
	}
	for _, l := range v.others.trees.Links(func(string) bool { return true }) {
		rep := &other{File: terminal.ReportName(l.Name), Kind: l.Kind, Size: l.Size, SHA256: l.SHA256, To: l.To}
		v.addOther(rep, l.Name, fileio.State{})
	}
}

// withoutStates removes the last two columns of a table if no file is in a volume.
func withoutStates(table [][]string) [][]string {
	for _, row := range table[1:] {
		if row[len(row)-2] != "-" {
			return table
		}
	}
	for i, row := range table {
		table[i] = row[:len(row)-2]
	}
	return table
}
