package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
)

// version is the version of cdfz.
const version = archive.Version

func versionCmd(r *cli.Run) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run: func(*cobra.Command, []string) {
			r.Term.Print("cdfz %s %s/%s %s", version, runtime.GOOS, runtime.GOARCH, runtime.Version())
		},
	}
}
