package main

import (
	_ "embed"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
)

// version is the version of cdfz.
const version = archive.Version

// licences has the modules that the program links on all systems and the code of others in its pages, a line for each, and
// the texts of their licences.
// make licences writes it.
//
//go:embed licences.txt
var licences string

func versionCmd(r *cli.Run) *cobra.Command {
	var texts bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version of cdfz, the system and the processor it was built for, and
the version of Go that built it. A program from between two releases has a
version that ends with -dev, and the commit that it was built from.`,
		Example: `  cdfz version
  cdfz version --licenses | less        # what cdfz consists of, and the terms`,
		Args: cobra.NoArgs,
		Run: func(*cobra.Command, []string) {
			if texts {
				fmt.Fprint(r.Term.Out, licences)
				return
			}
			r.Term.Print("cdfz %s %s/%s %s%s", version, runtime.GOOS, runtime.GOARCH, runtime.Version(), commit())
		},
	}
	c.Flags().BoolVar(&texts, "licenses", false, "print the modules that the program links, and their licences")
	return c
}

// commit returns which commit the program was built from, as text after the version, or nothing for a release and
// where that is unknown.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || !strings.HasSuffix(version, "-dev") {
		return ""
	}
	var id, changed string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			id = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = ", changed"
		}
	}
	if len(id) < 12 {
		return ""
	}
	return fmt.Sprintf(", commit %s%s", id[:12], changed)
}
