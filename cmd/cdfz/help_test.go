package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
)

// commands calls do with every command and its subcommands, as the program has them.
func commands(t *testing.T, do func(t *testing.T, cmd *cobra.Command)) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.InitDefaultHelpFlag()
		cmd.InitDefaultVersionFlag()
		t.Run(cmd.CommandPath(), func(t *testing.T) { do(t, cmd) })
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	all := root(cli.New(nil, io.Discard, io.Discard), nil)
	all.InitDefaultHelpCmd()
	all.InitDefaultCompletionCmd()
	walk(all)
}

// TestHelp checks that the help of every command fits a screen, and that the manual has everything.
func TestHelp(t *testing.T) {
	commands(t, func(t *testing.T, cmd *cobra.Command) {
		var help, manual bytes.Buffer
		cli.Help(&help, cmd)
		cli.Manual(&manual, cmd)
		require.LessOrEqual(t, strings.Count(help.String(), "\n"), cli.HelpLines)
		for line := range strings.Lines(help.String()) {
			require.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), cli.HelpColumns, line)
		}
		words := strings.Fields(manual.String())
		text := strings.Join(words, " ")
		for _, part := range []string{cmd.Long, cmd.Example} {
			require.Contains(t, text, strings.Join(strings.Fields(part), " "))
		}
		flags := func(f *pflag.Flag) {
			_, usage := pflag.UnquoteUsage(f)
			shown := strings.Contains(help.String(), "--"+f.Name+" ") || strings.Contains(help.String(), "--"+f.Name+"[=")
			if f.Hidden {
				require.False(t, shown, f.Name)
				require.NotContains(t, text, "--"+f.Name+" ")
				return
			}
			require.Contains(t, text, "--"+f.Name)
			for _, part := range strings.Split(usage, "\n") { // a default may be between the parts
				require.Contains(t, text, strings.TrimRight(strings.Join(strings.Fields(part), " "), ",;:"), f.Name)
			}
			if f.NoOptDefVal != "" && f.Value.Type() != "bool" {
				require.Contains(t, manual.String(), "--"+f.Name+"[=")
			}
			if !shown || strings.Contains(usage, "\n") {
				require.Contains(t, help.String(), cli.ManualCommand(cmd)+" describes everything.", f.Name)
			}
		}
		cmd.LocalFlags().VisitAll(flags)
		cmd.InheritedFlags().VisitAll(flags)
	})
}

var exampleComment = regexp.MustCompile(` +# .*|\$[A-Z_]+`)

// TestHelpExamples checks that cdfz takes the flags and the number of arguments of all examples.
func TestHelpExamples(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("archives", 0o755)) // of --files-from
	commands(t, func(t *testing.T, cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			line = exampleComment.ReplaceAllStringFunc(line, func(s string) string {
				if s[0] == '$' {
					return "1"
				}
				return ""
			})
			for _, words := range shellCommands(line) {
				if words[0] != "cdfz" || strings.Contains(line, "xargs") {
					continue
				}
				all := root(cli.New(nil, io.Discard, io.Discard), nil)
				of, args, err := all.Find(words[1:])
				require.NoError(t, err, line)
				require.NoError(t, of.ParseFlags(args), line)
				require.NoError(t, of.ValidateArgs(of.Flags().Args()), line)
			}
		}
	})
}

// shellCommands splits a line of a shell into commands, and these into words without their quotes. It
// knows what the examples have.
func shellCommands(line string) (all [][]string) {
	var words []string
	var word []byte
	var quote byte
	started, skip := false, false
	end := func() {
		if started && !skip {
			words = append(words, string(word))
		}
		if started {
			skip = false
		}
		word, started = nil, false
	}
	for i := range len(line) {
		switch c := line[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word = append(word, c)
		case c == '\'' || c == '"':
			quote, started = c, true
		case c == ' ' || c == '\n':
			end()
		case c == '<' || c == '>':
			end()
			skip = true // the name of a file follows
		case strings.IndexByte("|&;", c) >= 0:
			if end(); len(words) > 0 {
				all = append(all, words)
			}
			words = nil
		default:
			word, started = append(word, c), true
		}
	}
	if end(); len(words) > 0 {
		all = append(all, words)
	}
	return all
}
