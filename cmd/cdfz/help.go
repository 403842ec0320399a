package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
)

// helpCmd shows the manual of a verb. For an unknown verb it fails, unlike cobra's own command.
func helpCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "help [VERB]",
		Short: "Describe a command in full; cdfz COMMAND --help fits a screen",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			if of, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, c := range of.Commands() {
					if !c.Hidden {
						names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
					}
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			switch {
			case err != nil:
				return err
			case len(rest) > 0 && of == cmd.Root():
				return unknownVerb(of, rest)
			case len(rest) > 0:
				return terminal.Hinted(fmt.Errorf("%s has no command %q", of.CommandPath(), rest[0]), "%s --help describes it", of.CommandPath())
			}
			of.InitDefaultHelpFlag()
			of.InitDefaultVersionFlag()
			cli.Manual(cmd.OutOrStdout(), of)
			return nil
		},
	}
}
