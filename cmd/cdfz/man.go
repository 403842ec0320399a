//go:build man

package main

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/cdfz-format/cdfz/archive"
)

// The pages are made once, by those who install the program: it starts faster
// without what makes them.
func init() { verbs = append(verbs, verb{"man", (*app).manCmd}) }

func (a *app) manCmd() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages into a folder",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			// No date: the same program writes the same pages.
			date := time.Unix(0, 0).UTC()
			header := &doc.GenManHeader{Title: "CDFZ", Section: "1", Source: "cdfz " + archive.Version, Date: &date}
			all := a.root(nil) // this run has no verb but man
			all.DisableAutoGenTag = true
			if err := doc.GenManTree(all, header, args[0]); err != nil {
				a.fail(args[0], err)
			}
			return nil
		},
	}
}
