package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/patterns"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/shards"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/s3"
)

// ListFlags adds --files-from and --null.
func (r *Run) ListFlags(cmd *cobra.Command) {
	Flags(cmd, TreeFlags, func(f *pflag.FlagSet) {
		f.StringVar(&r.Select.From, "files-from", "", "take the names of files from `LIST`, one a line; - is standard input")
		f.BoolVarP(&r.Select.Null, "null", "0", false, "names in LIST end in a zero byte, as find -print0 writes them")
	})
}

// ListHelp describes --files-from to the user.
const ListHelp = `--files-from LIST takes the names from LIST, one a line, instead of FILE. They are relative to
the current folder, or to the only FILE, a folder or a prefix s3://BUCKET/PREFIX/. Below -o DIR/ the
whole name is kept, without a leading slash. Empty lines are ignored. A file that is missing fails,
and the run goes on.`

// FilesOrList is MinFiles for verbs with --files-from. A list has at most one FILE, the folder or
// prefix that its names are relative to.
func (r *Run) FilesOrList(cmd *cobra.Command, args []string) error {
	switch {
	case r.Select.Balance && r.Select.Shard.N == 0:
		return errors.New("--balance: expected --shard I/N too")
	case r.Select.From == "" && r.Select.Null:
		return errors.New("--null: expected --files-from LIST too")
	case r.Select.From == "":
		return MinFiles(cmd, args)
	case len(args) > 1:
		return fmt.Errorf("--files-from: expected at most one FILE, the folder of the names, found %d", len(args))
	case len(args) == 1 && !s3.IsPrefix(args[0]):
		if st, err := os.Stat(args[0]); err != nil || !st.IsDir() || args[0] == terminal.StdinName {
			return fmt.Errorf("--files-from: expected a folder or a prefix for the names, found %s", terminal.ShowName(args[0]))
		}
	}
	return nil
}

// NoArchives is the error of a run that has found no file.
func (r *Run) NoArchives(args []string) {
	if r.Select.From != "" {
		r.Term.FailFile(terminal.ShowName(r.Select.From), errors.New("no names in this list"))
		return
	}
	r.Term.FailFile(strings.Join(args, ", "), errors.New("no archives below this folder"))
}

// SelectFlags adds the flags that choose files: --files-from, --null, --include, --exclude, --shard and --balance.
func (r *Run) SelectFlags(cmd *cobra.Command) {
	r.ListFlags(cmd)
	Flags(cmd, TreeFlags, func(f *pflag.FlagSet) {
		f.Var(&patternFlag{&r.Select.Rules, true}, "include", "take files and folders that match `PATTERN`,\nif no earlier pattern excludes them")
		f.Var(&patternFlag{&r.Select.Rules, false}, "exclude", "leave out files and folders that match `PATTERN`,\nif no earlier pattern includes them")
		f.Var(&shardFlag{&r.Select.Shard}, "shard", "work on shard I of N of the files")
		f.BoolVar(&r.Select.Balance, "balance", false, "divide shards by the sizes of all files, too (needs --shard)")
	})
}

// shardFlag is --shard.
type shardFlag struct{ s *shards.Shard }

// Type returns the name of the value in help.
func (f *shardFlag) Type() string { return "I/N" }

func (f *shardFlag) String() string { return f.s.String() }

// Set parses a value.
func (f *shardFlag) Set(s string) (err error) {
	*f.s, err = shards.Parse(s)
	return err
}

// PrefixHelp describes prefixes of stores to the user.
const PrefixHelp = `A FILE s3://BUCKET/PREFIX/, with a slash at the end, is a folder, too: all objects below it.
--stats prints how many requests the run made.`

// SelectHelp describes the flags of SelectFlags.
const SelectHelp = ListHelp + `

--include and --exclude choose below folders and from lists, with the patterns of rsync. The first
PATTERN that matches decides; what none matches is taken. What is in an excluded folder is left out.
* and ? match within a name, ** also slashes. A PATTERN without a slash matches the name of a file
or folder, one with a slash the end of its path, and one that begins with a slash the whole path
below FILE. One that ends in a slash matches only folders. A FILE that is named itself is always
taken.

--shard I/N works on a part of the files, so that N runs with I from 1 to N do all, on any computers
and at any times. The shard of a file depends only on N and on its path below FILE or in the list:
other files do not change it, and an archive is in the shard of its source. --balance gives each
shard at most 1.1 times its part of the bytes, or one larger file. Then all runs must see the same
files: each prints the number of its set of files, which must be equal.`

// patternFlag is --include or --exclude. Both add to one list, in the order of the command line.
type patternFlag struct {
	rules   *patterns.Rules
	include bool
}

// Type returns the name of the value in help.
func (f *patternFlag) Type() string { return "PATTERN" }

func (f *patternFlag) String() string { return "" }

// Set parses a pattern.
func (f *patternFlag) Set(s string) error {
	rule, err := patterns.Parse(s, f.include)
	if err != nil {
		return err
	}
	*f.rules = append(*f.rules, rule)
	return nil
}
