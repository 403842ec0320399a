package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stats"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/observer"
)

// statsFlag is --filter-stats. It adds a collector to the context of the command.
type statsFlag struct {
	run        *Run
	cmd        *cobra.Command
	c          *stats.Collector
	json, vars bool
	text       string
}

// statsWords are the words in a value of --filter-stats.
var statsWords = []string{"table", "json", "vars"}

func (f *statsFlag) takes(s string) bool {
	for word := range strings.SplitSeq(s, ",") {
		if !slices.Contains(statsWords, word) {
			return false
		}
	}
	return true
}

// StatsFlag adds --filter-stats.
func (r *Run) StatsFlag(cmd *cobra.Command) {
	f := &statsFlag{run: r, cmd: cmd}
	cmd.Flags().Var(f, "filter-stats", "print on standard error what each filter did,\nas HDF5 does; json: for programs; vars: for each variable")
	cmd.Flags().Lookup("filter-stats").NoOptDefVal = "table"
	Rare(cmd.Flags(), "filter-stats")
	CompleteWords(cmd, "filter-stats", "table", "json", "vars", "json,vars")
}

func (f *statsFlag) String() string { return f.text }

// Type returns the name of the value in help.
func (f *statsFlag) Type() string { return "table|json|vars" }

// Set parses words separated by commas.
func (f *statsFlag) Set(s string) error {
	if !f.takes(s) {
		return fmt.Errorf("expected table, json or vars, found %q", s)
	}
	words := strings.Split(s, ",")
	f.json, f.vars = slices.Contains(words, "json"), slices.Contains(words, "vars")
	f.text = s
	if f.c == nil {
		f.c = stats.New()
		f.cmd.SetContext(observer.With[filters.Observer](f.cmd.Context(), f.c.Observe))
		f.run.Term.AtExit(f.print)
	}
	return nil
}

// print prints the statistics on standard error.
func (f *statsFlag) print() {
	if !f.json {
		var b strings.Builder
		_ = f.c.WriteTable(&b, f.vars) // cannot fail
		for line := range strings.Lines(b.String()) {
			f.run.Term.Log([]byte(display.Printable(strings.TrimSuffix(line, "\n")) + "\n"))
		}
		return
	}
	f.run.Term.Log(display.JSON(struct {
		Rows []stats.Row `json:"filter_stats"`
	}{f.c.Rows(f.vars)}))
}
