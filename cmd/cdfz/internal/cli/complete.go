package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/remote"
)

// CompleteArchives completes arguments with the names of archives.
func CompleteArchives(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{fileio.Suffix[1:]}, cobra.ShellCompDirectiveFilterFileExt
}

// CompleteFile completes the first argument with names of files.
func CompleteFile(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// CompleteVars completes the first argument with names of files and the others with
// the variables of that file.
func CompleteVars(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return CompleteFile(cmd, args, word)
	}
	return varNames(cmd, args), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// CompleteVarList completes a flag with names of variables, joined by commas, of the file
// that is the first argument.
func CompleteVarList(cmd *cobra.Command, flag string) {
	complete(cmd, flag, func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		names := varNames(cmd, args)
		done := word[:strings.LastIndexByte(word, ',')+1]
		for i := range names {
			names[i] = done + names[i]
		}
		return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

// varNames returns the variables of the file that is the first argument, unless it must
// be downloaded.
func varNames(cmd *cobra.Command, args []string) []string {
	if len(args) == 0 || remote.IsURL(args[0]) || args[0] == terminal.StdinName {
		return nil
	}
	f, err := archive.Open(cmd.Context(), args[0], nil)
	if err != nil {
		return nil
	}
	defer f.Close()
	var names []string
	for _, v := range f.Vars() {
		if display.Printable(v.Name()) == v.Name() {
			names = append(names, v.Name())
		}
	}
	return names
}

// CompleteWords completes a flag with words.
func CompleteWords(cmd *cobra.Command, flag string, words ...string) {
	complete(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func complete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic("internal error: " + err.Error())
	}
}
