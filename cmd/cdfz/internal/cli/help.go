package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
)

// HelpLines and HelpColumns are the size of the screen that --help fits.
const (
	HelpLines   = 60
	HelpColumns = 100
)

// helpExamples is the number of examples that --help shows. The manual has all.
const helpExamples = 3

// headColumns is the width of the column of flags, unless a flag is longer.
const headColumns = 27

// A Heading is a heading of flags in the help of a verb.
type Heading string

// The headings of flags that several verbs have. They follow the verb's own headings in this order.
const (
	FilterFlags Heading = "Filters"
	ProofFlags  Heading = "Proof"
	TreeFlags   Heading = "Trees"
	OutputFlags Heading = "Output"
	RunFlags    Heading = "The run" // flags without a heading, too
)

var lastHeadings = []Heading{FilterFlags, ProofFlags, TreeFlags, OutputFlags, RunFlags}

// The annotations of flags.
const (
	headingKey = "cdfz_heading"
	rareKey    = "cdfz_rare"
)

// Flags puts the flags that define adds to cmd below a heading, in this order. The usage of a flag may
// have several lines: --help shows the first one, and the manual all.
func Flags(cmd *cobra.Command, heading Heading, define func(f *pflag.FlagSet)) {
	f := cmd.Flags()
	f.SortFlags = false
	before := map[*pflag.Flag]bool{}
	f.VisitAll(func(g *pflag.Flag) { before[g] = true })
	define(f)
	f.VisitAll(func(g *pflag.Flag) {
		if !before[g] && g.Annotations[headingKey] == nil {
			annotate(g, headingKey, string(heading))
		}
	})
}

// Rare leaves flags to the manual.
func Rare(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		annotate(f.Lookup(name), rareKey, "true")
	}
}

func annotate(f *pflag.Flag, key, value string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[key] = []string{value}
}

// Help writes the page of cmd that fits a screen: the first paragraph of the text, the first examples and
// the flags that are not rare.
func Help(w io.Writer, cmd *cobra.Command) { writeHelp(w, cmd, false) }

// Manual writes all that is known about cmd, as plain text.
func Manual(w io.Writer, cmd *cobra.Command) { writeHelp(w, cmd, true) }

func writeHelp(w io.Writer, cmd *cobra.Command, all bool) {
	var b strings.Builder
	long := strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short))
	more := false                                                                   // is in the manual only
	if first, _, cut := strings.Cut(long, "\n\n"); cut && !all && cmd.HasParent() { // the root has exit codes
		long, more = first, true
	}
	fmt.Fprintf(&b, "%s\n\nUsage:\n", long)
	for line := range strings.Lines(cmd.UseLine()) {
		fmt.Fprintf(&b, "  %s\n", strings.TrimSpace(line))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\nCommands:\n")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				fmt.Fprintf(&b, "  %-10s  %s\n", c.Name(), c.Short)
			}
		}
	}
	if lines := slices.Collect(strings.Lines(cmd.Example)); len(lines) > 0 {
		if len(lines) > helpExamples && !all {
			lines, more = lines[:helpExamples], true
		}
		fmt.Fprintf(&b, "\nExamples:\n%s\n", strings.TrimRight(strings.Join(lines, ""), "\n"))
	}
	if writeFlags(&b, cmd, all) {
		more = true
	}
	switch {
	case all && cmd.HasParent(): // the text of the root has them
		fmt.Fprintf(&b, "\nExit codes: %s\n", strings.TrimRight(terminal.ExitText, "\n"))
	case more:
		fmt.Fprintf(&b, "\n%s describes everything.\n", ManualCommand(cmd))
	}
	_, _ = io.WriteString(w, b.String()) // as the library does
}

// ManualCommand is the command that shows the manual of cmd.
func ManualCommand(cmd *cobra.Command) string {
	_, verb, _ := strings.Cut(cmd.CommandPath(), " ")
	return strings.TrimSpace(cmd.Root().Name() + " help " + verb)
}

// writeFlags writes the flags of cmd below their headings. It reports whether it left any text out.
func writeFlags(b *strings.Builder, cmd *cobra.Command, all bool) (more bool) {
	groups := map[Heading][]*pflag.Flag{}
	var headings []Heading
	add := func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		if f.Annotations[rareKey] != nil && !all {
			more = true
			return
		}
		h := RunFlags
		if v := f.Annotations[headingKey]; v != nil {
			h = Heading(v[0])
		}
		if groups[h] == nil {
			headings = append(headings, h)
		}
		groups[h] = append(groups[h], f)
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	slices.SortStableFunc(headings, func(x, y Heading) int {
		return cmp.Compare(slices.Index(lastHeadings, x), slices.Index(lastHeadings, y))
	})
	for _, h := range headings {
		fmt.Fprintf(b, "\n%s:\n", h)
		for _, f := range groups[h] {
			head, text := describe(f)
			if first, _, cut := strings.Cut(text, "\n"); cut && !all {
				text, more = strings.TrimRight(first, ",;:"), true
			}
			lines := []string{text}
			if all {
				lines = wrap(text, HelpColumns-headColumns-2)
			}
			if utf8.RuneCountInString(head) > headColumns && utf8.RuneCountInString(head)+2+utf8.RuneCountInString(lines[0]) > HelpColumns {
				fmt.Fprintln(b, head)
				head = ""
			}
			for _, line := range lines {
				fmt.Fprintf(b, "%-*s  %s\n", headColumns, head, line)
				head = ""
			}
		}
	}
	return more
}

// describe returns a flag as it is given on the command line, and its usage.
func describe(f *pflag.Flag) (head, text string) {
	head = "      --" + f.Name
	if f.Shorthand != "" {
		head = "  -" + f.Shorthand + ", --" + f.Name
	}
	value, text := pflag.UnquoteUsage(f)
	switch {
	case f.NoOptDefVal != "" && value != "":
		head += "[=" + value + "]"
	case value != "":
		head += " " + value
	}
	if !slices.Contains([]string{"", "0", "false", "[]"}, f.DefValue) {
		first, rest, cut := strings.Cut(text, "\n")
		end := first[len(strings.TrimRight(first, ",;:")):]
		text = fmt.Sprintf("%s (default %s)%s", strings.TrimSuffix(first, end), strings.Trim(f.DefValue, "[]"), end)
		if cut {
			text += "\n" + rest
		}
	}
	return head, text
}

// wrap cuts text into lines of at most n characters.
func wrap(text string, n int) (lines []string) {
	var line string
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > n {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}
