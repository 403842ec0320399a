package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/filters"
)

// lossReport is the JSON of values that were rounded before they were archived.
type lossReport struct {
	SourceSHA256 string    `json:"source_sha256"`
	Vars         []lossVar `json:"variables"`
}

type lossVar struct {
	Name   string `json:"name"`
	Filter string `json:"filter"` // as in -F
}

// lossOf describes what an archive lost, or returns nil.
func lossOf(f *archive.File) *lossReport {
	info, _ := f.Info()
	if info.Loss == nil {
		return nil
	}
	r := &lossReport{SourceSHA256: info.Loss.SourceSHA256}
	h := f.Header()
	for _, v := range info.Loss.Vars {
		name := fmt.Sprintf("number %d", v.Var)
		if v.Var < len(h.Vars) {
			name = h.Vars[v.Var].Name
		}
		r.Vars = append(r.Vars, lossVar{name, filters.Chain{v.Filter}.Given().String()})
	}
	return r
}

// String names the variables.
func (r *lossReport) String() string {
	const most = 5
	var names []string
	for i, v := range r.Vars {
		if i == most && len(r.Vars) > most+1 {
			names = append(names, fmt.Sprintf("and %d more", len(r.Vars)-most))
			break
		}
		names = append(names, cli.Quoted(v.Name))
	}
	return "values of " + strings.Join(names, ", ") + " were rounded before they were archived"
}

// roundedIn returns the number of rounded variables in a new archive.
func roundedIn(res *archive.Result) int {
	if res.Loss == nil {
		return 0
	}
	return len(res.Loss.Vars)
}

// explainLoss adds advice to the error about values that a filter would round.
func explainLoss(err error) error {
	if errors.Is(err, filters.ErrRounds) {
		return cli.Hinted(err, "--lossy rounds the values of the variables that it names")
	}
	return err
}

// warn reports that a restored file differs from the source. r may be nil.
func (r *lossReport) warn(a *cli.App, name string) {
	if r != nil {
		a.Message("warning: %s: %s; the file differs from the source", name, r)
	}
}
