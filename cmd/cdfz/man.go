//go:build man

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
)

// The pages are made once, on installation. The program starts faster without this
// code.
func init() { verbs = append(verbs, verb{"man", manCmd}) }

func manCmd(r *cli.Run) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages into a folder",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			all := root(r, nil) // this run has no verb but man
			all.DisableAutoGenTag = true
			all.InitDefaultHelpCmd()
			if err := manTree(all, args[0]); err != nil {
				r.Term.Fail(args[0], err)
			}
			return nil
		},
	}
}

// manTree writes the pages of a command and its subcommands.
func manTree(cmd *cobra.Command, dir string) error {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() && c.Name() != "completion" {
			if err := manTree(c, dir); err != nil {
				return err
			}
		}
	}
	joinUsages := func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "\n", " ") }
	cmd.LocalFlags().VisitAll(joinUsages)
	cmd.InheritedFlags().VisitAll(joinUsages)
	// No date, so that the same program writes the same pages.
	date := time.Unix(0, 0).UTC()
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	header := &doc.GenManHeader{Title: strings.ToUpper(name), Section: "1", Source: "cdfz " + archive.Version, Manual: "cdfz", Date: &date}
	var b bytes.Buffer
	if err := doc.GenMan(cmd, header, &b); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+".1"), []byte(withExitStatus(b.String())), 0o644)
}

// withExitStatus adds a section that the library lacks, after the examples.
func withExitStatus(page string) string {
	page = strings.Replace(page, ".SH EXAMPLE\n", ".SH EXAMPLES\n", 1)
	const next = ".SH SEE ALSO"
	section := ".SH EXIT STATUS\n" + terminal.ExitText + "\n\n"
	if i := strings.LastIndex(page, next); i >= 0 {
		return page[:i] + section + page[i:]
	}
	return page + "\n" + section
}
