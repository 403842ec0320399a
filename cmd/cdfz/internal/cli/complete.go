package cli

import (
	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/remote"
)

// CompleteArchives completes arguments with the names of archives.
func CompleteArchives(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{Suffix[1:]}, cobra.ShellCompDirectiveFilterFileExt
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
	if remote.IsURL(args[0]) || args[0] == StdinName {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	f, err := archive.Open(cmd.Context(), args[0], nil)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer f.Close()
	var names []string
	for _, v := range f.Vars() {
		if Printable(v.Name()) == v.Name() {
			names = append(names, v.Name())
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// CompleteWords completes a flag with words.
func CompleteWords(cmd *cobra.Command, flag string, words ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic("internal error: " + err.Error())
	}
}
