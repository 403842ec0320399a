package info

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
)

// datasetReport is the JSON of joined files.
type datasetReport struct {
	File   string       `json:"file"`
	Format string       `json:"format"`
	Size   int64        `json:"size"` // of the joined file
	Dim    string       `json:"dim"`
	New    bool         `json:"new"`
	Len    int64        `json:"length"` // of the dimension
	Files  int          `json:"files"`
	First  string       `json:"first"` // location of the first file
	Last   string       `json:"last"`
	Vars   []datasetVar `json:"vars"`
}

type datasetVar struct {
	Name   string   `json:"name"`
	Type   string   `json:"type"`
	Dims   []string `json:"dims"`
	Shape  []int64  `json:"shape"`
	Joined bool     `json:"joined"` // has the joined dimension
	Raw    int64    `json:"raw"`
}

// dataset reports joined files. It opens the first of them only.
func (v *informer) dataset(ctx context.Context, j fileio.File) error {
	if v.sha256 || v.blocks || v.why {
		return errors.New("--sha256, --blocks and --why are for archives, found a description of joined files")
	}
	in, d, f, err := v.run.In.OpenDataset(ctx, j, v.run.Limits.OpenOptions())
	if err != nil {
		return err
	}
	defer in.Close()
	desc, h := d.Description(), f.Header()
	rep := &datasetReport{
		File: terminal.ReportName(j.Name), Format: fmt.Sprintf("CDF-%d", h.Version), Size: f.Image().Size(), Dim: desc.Dim, New: desc.New,
		Len: d.Len(), Files: desc.FileCount(), First: terminal.ReportName(desc.Members[0].Location), Last: terminal.ReportName(desc.Members[len(desc.Members)-1].Location), Vars: []datasetVar{},
	}
	for i, w := range f.Vars() {
		rep.Vars = append(rep.Vars, datasetVar{w.Name(), w.Type().String(), w.Dims(), w.Shape(), slices.Contains(w.Dims(), desc.Dim), h.Vars[i].Len})
	}
	if v.run.Term.JSON {
		v.run.Term.Emit(rep)
		return nil
	}
	kind := "existing dimension"
	if desc.New {
		kind = "new dimension"
	}
	display.WriteTable(v.run.Term.Out, [][]string{
		{"dataset", display.Quoted(terminal.ShowName(j.Name))},
		{"format", rep.Format},
		{"size", fmt.Sprintf("%d (%s)", rep.Size, display.Size(rep.Size))},
		{"joined along", fmt.Sprintf("%s = %d, %s", display.Quoted(rep.Dim), rep.Len, kind)},
		{"files", fmt.Sprintf("%d, %s to %s", rep.Files, display.Quoted(rep.First), display.Quoted(rep.Last))},
	})
	v.run.Term.Print("")
	table := [][]string{{"variable", "type", "dimensions", "raw", "joined"}}
	for _, w := range rep.Vars {
		dims := make([]string, len(w.Dims))
		for i := range dims {
			dims[i] = fmt.Sprintf("%s=%d", display.Quoted(w.Dims[i]), w.Shape[i])
		}
		yes := "no"
		if w.Joined {
			yes = "yes"
		}
		table = append(table, []string{display.Quoted(w.Name), w.Type, "(" + strings.Join(dims, ",") + ")", strconv.FormatInt(w.Raw, 10), yes})
	}
	display.WriteTable(v.run.Term.Out, table, false, false, false, true, false)
	return nil
}
