package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/internal/s3"
)

// Counting returns a context whose requests to object stores are counted for --stats.
func (r *Run) Counting(ctx context.Context) context.Context { return s3.Count(ctx, &r.requests) }

// RequestsFlag adds --stats.
func (r *Run) RequestsFlag(cmd *cobra.Command) {
	on := cmd.Flags().Bool("stats", false, "print on standard error how many requests to object stores the run made")
	Rare(cmd.Flags(), "stats")
	r.Term.AtExit(func() {
		if *on {
			r.printRequests()
		}
	})
}

func (r *Run) printRequests() {
	c := r.requests.Counts()
	if r.Term.JSON {
		r.Term.Log(display.JSON(struct {
			Requests s3.Counts `json:"requests"`
		}{c}))
		return
	}
	text := fmt.Sprintf("requests: %d LIST, %d GET, %d HEAD, %d PUT", c.List, c.Get, c.Head, c.Put)
	if c.Post > 0 {
		text += fmt.Sprintf(", %d POST", c.Post)
	}
	if c.Delete > 0 {
		text += fmt.Sprintf(", %d DELETE", c.Delete)
	}
	r.Term.Log([]byte(text + "\n"))
}
