package main

import (
	"fmt"
	"strings"

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

// checkShell makes completion fail for an unknown shell. cobra's own command prints the help then.
func checkShell(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Args = cobra.ArbitraryArgs
		c.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			var shells []string
			for _, s := range cmd.Commands() {
				shells = append(shells, s.Name())
			}
			return fmt.Errorf("expected one of %s, found %q", strings.Join(shells, ", "), args[0])
		}
	}
}
