// Package report has what several verbs report in the same way: damage, values that were rounded, and
// parity. Its types are also the JSON of reports.
package report

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/filters"
)

// Loss is the JSON of values that were rounded before they were archived.
type Loss struct {
	SourceSHA256 string    `json:"source_sha256"`
	Vars         []LossVar `json:"variables"`
}

// LossVar is a variable whose values were rounded.
type LossVar struct {
	Name   string `json:"name"`
	Filter string `json:"filter"` // as in -F
}

// LossOf describes what an archive lost, or returns nil.
func LossOf(f *archive.File) *Loss {
	info, _ := f.Info()
	if info.Loss == nil {
		return nil
	}
	r := &Loss{SourceSHA256: info.Loss.SourceSHA256}
	h := f.Header()
	for _, v := range info.Loss.Vars {
		name := fmt.Sprintf("number %d", v.Var)
		if v.Var < len(h.Vars) {
			name = h.Vars[v.Var].Name
		}
		r.Vars = append(r.Vars, LossVar{name, filters.Chain{v.Filter}.Given().String()})
	}
	return r
}

// String names the variables.
func (r *Loss) String() string {
	const most = 5
	var names []string
	for i, v := range r.Vars {
		if i == most && len(r.Vars) > most+1 {
			names = append(names, fmt.Sprintf("and %d more", len(r.Vars)-most))
			break
		}
		names = append(names, display.Quoted(v.Name))
	}
	return "values of " + strings.Join(names, ", ") + " were rounded before they were archived"
}

// Rounded returns the number of rounded variables in a new archive.
func Rounded(res *archive.Result) int {
	if res.Loss == nil {
		return 0
	}
	return len(res.Loss.Vars)
}

// ExplainLoss adds advice to the error about values that a filter would round.
func ExplainLoss(err error) error {
	if errors.Is(err, filters.ErrRounds) {
		return terminal.Hinted(err, "--lossy rounds the values of the variables that it names")
	}
	return err
}

// Warn reports that a restored file differs from the source. r may be nil.
func (r *Loss) Warn(p *terminal.Printer, name string) {
	if r != nil {
		p.Message("warning: %s: %s; the file differs from the source", name, r)
	}
}
