package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/bench"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/convert"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/get"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/plugins"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/receipts"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/web"
)

// verb makes a command.
type verb struct {
	name    string
	command func(*cli.App) *cobra.Command
}

// verbs are the commands in the order of the help.
var verbs = []verb{
	{"archive", archiveCmd}, {"restore", restoreCmd}, {"copy", copyCmd}, {"verify", verifyCmd}, {"receipts", receipts.Command},
	{"repair", repairCmd}, {"parity", protect.Command},
	{"info", infoCmd}, {"get", get.Command}, {"dump", dumpCmd}, {"mount", mountCmd}, {"serve", web.Command},
	{"export", convert.Command}, {"gen", genCmd}, {"bench", bench.Command},
	{"filters", filtersCmd}, {"plugins", plugins.Command}, {"codec", plugins.CodecCommand}, {"version", versionCmd},
}

// root builds the command line with the verb that args begin with, or with all verbs.
func root(a *cli.App, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "cdfz",
		Short: "Compressed archives of classic netCDF files",
		Long: `cdfz turns classic netCDF files (CDF-1, CDF-2, CDF-5) into compressed archives and
restores them bit for bit. An archive x.nc.cdfz is a ZIP file, and in most cases a
Zarr store that xarray and other tools open directly.

Exit codes: ` + cli.ExitText,
		Version:           archive.Version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              unknownVerb,
		RunE:              noVerb,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	root.Example = cli.Examples(
		"cdfz archive data/                    # every classic file below data/",
		"cdfz verify --against data/ data/     # prove the archives against the originals",
		"cdfz restore data/tas.nc.cdfz         # the original again, bit for bit",
		"cdfz get data/tas.nc.cdfz 'tas[0]'    # a part of a variable as CSV")
	root.SetVersionTemplate("cdfz {{.Version}}\n")
	root.SetFlagErrorFunc(cli.FlagError)
	a.CommonFlags(root)
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		plugins.OnDemand(a)
		if cmd.Name() != "get" {
			cli.CatchStop()
		}
	}
	cobra.EnableCommandSorting = false
	all := verbs
	if len(args) > 0 {
		if i := slices.IndexFunc(verbs, func(v verb) bool { return v.name == args[0] }); i >= 0 {
			all = verbs[i : i+1]
			root.CompletionOptions.DisableDefaultCmd = true
		}
	}
	for _, v := range all {
		root.AddCommand(v.command(a))
	}
	return root
}

func noVerb(*cobra.Command, []string) error {
	return cli.Hinted(errors.New("no command given"), "cdfz --help lists the commands")
}

func unknownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, v := range verbs {
		names = append(names, v.name)
	}
	err := fmt.Errorf("unknown command %q", args[0])
	if near := cli.Nearest(args[0], names); near != "" {
		return cli.Hinted(err, "did you mean cdfz %s?", near)
	}
	return cli.Hinted(err, "cdfz --help lists the commands")
}

func versionCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run: func(*cobra.Command, []string) {
			a.Print("cdfz %s %s/%s %s", archive.Version, runtime.GOOS, runtime.GOARCH, runtime.Version())
		},
	}
}
