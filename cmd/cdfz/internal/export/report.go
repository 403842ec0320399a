package export

import (
	"fmt"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
)

// kind is a value of --to.
type kind string

const (
	toNetCDF4 kind = "nc4"
	toZarr    kind = "zarr"
	toRefs    kind = "refs"
)

// report is the JSON of an export.
type report struct {
	File     string    `json:"file"`
	Target   string    `json:"target"`
	To       kind      `json:"to"`
	Size     int64     `json:"size"`        // of FILE
	Written  int64     `json:"target_size"` // bytes
	Chunks   int64     `json:"chunks"`
	Copied   int64     `json:"chunks_copied"`
	Encoded  []string  `json:"variables_encoded,omitempty"` // netCDF-4: those with chunks that are not copied
	Seconds  float64   `json:"seconds"`
	Omitted  []omitted `json:"omitted,omitempty"`
	warnings []string
	lorenz   bool // whether the user asked for lorenz, and so for blocks as they are stored
}

// omitted is an attribute that the target cannot hold.
type omitted struct {
	Var  string `json:"variable,omitempty"`
	Attr string `json:"attribute"`
	Why  string `json:"why"`
}

// print reports an export.
func (rep *report) print(v *cli.Run, in *fileio.Input) {
	for _, text := range rep.warnings {
		v.Term.Message("warning: %s: %s", in.Name, text)
	}
	for _, o := range rep.Omitted {
		of := ""
		if o.Var != "" {
			of = " of " + display.Quoted(o.Var)
		}
		v.Term.Message("warning: %s: attribute %s%s is left out: %s", in.Name, display.Quoted(o.Attr), of, o.Why)
	}
	switch {
	case v.Dest.IsStdout():
	case v.Term.JSON:
		v.Term.Emit(rep)
	case rep.To == toRefs:
		v.Term.Report("%s: %s, references to %d of %s", rep.Target, display.Size(rep.Written), rep.Copied, display.Count(rep.Chunks, "chunk"))
	default:
		encoded := ""
		if rep.lorenz && rep.Copied > 0 && len(rep.Encoded) > 0 {
			encoded = "; encoded: " + listed(rep.Encoded)
		}
		v.Term.Report("%s: %s -> %s, %d of %s copied as stored%s", rep.Target, display.Size(rep.Size), display.Size(rep.Written), rep.Copied, display.Count(rep.Chunks, "chunk"), encoded)
	}
}

// listed lists names of variables in a line.
func listed(names []string) string {
	const most = 8 // fit in a line of a terminal
	rest := ""
	if n := len(names) - most; n > 1 {
		names, rest = names[:most], fmt.Sprintf(" and %d more", n)
	}
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = display.Quoted(n)
	}
	return strings.Join(quoted, ", ") + rest
}

// varName returns the name of a variable in a report, and "" for -1, the file.
func varName(f *archive.File, v int) string {
	if v < 0 {
		return ""
	}
	return f.Header().Vars[v].Name
}
