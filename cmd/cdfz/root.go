package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/bench"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/catalogue"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stop"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/codec"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/copy"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/doctor"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/dump"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/export"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/filters"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/find"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/gen"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/get"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/info"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/join"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/mount"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/pack"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/parity"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/plugins"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/receipts"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/repair"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/restore"
	runverb "github.com/cdfz-format/cdfz/cmd/cdfz/internal/run" // main has a function run
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/serve"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/verify"
)

// verb makes a command.
type verb struct {
	name    string
	command func(*cli.Run) *cobra.Command
}

// verbs are the commands in the order of the help.
var verbs = []verb{
	{"archive", archive.Command}, {"restore", restore.Command}, {"copy", copy.Command}, {"verify", verify.Command}, {"receipts", receipts.Command},
	{"repair", repair.Command}, {"parity", parity.Command}, {"pack", pack.Command},
	{"info", info.Command}, {"catalogue", catalogue.Command}, {"find", find.Command}, {"join", join.Command}, {"get", get.Command}, {"dump", dump.Command}, {"mount", mount.Command}, {"run", runverb.Command}, {"serve", serve.Command},
	{"export", export.Command}, {"gen", gen.Command}, {"bench", bench.Command},
	{"filters", filters.Command}, {"plugins", plugins.Command}, {"codec", codec.Command}, {"doctor", doctor.Command}, {"version", versionCmd},
}

// root builds the command line with the verb that args begin with, or with all verbs.
func root(r *cli.Run, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "cdfz",
		Short: "Compressed archives of classic netCDF files",
		Long: `cdfz turns classic netCDF files (CDF-1, CDF-2, CDF-5) into compressed archives and
restores them bit for bit. An archive x.nc.cdfz is a ZIP file, and in most cases a
Zarr store that xarray and other tools open directly.

Exit codes: ` + terminal.ExitText,
		Version:           version,
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
	r.CommonFlags(root)
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if err := cli.CheckPlaces(cmd); err != nil {
			return err
		}
		if err := cli.CheckOptional(cmd, args); err != nil {
			return err
		}
		r.PluginsOnDemand()
		if cmd.Name() != "get" {
			stop.Catch()
		}
		return nil
	}
	root.SetHelpCommand(helpCmd())
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { cli.Help(cmd.OutOrStdout(), cmd) })
	cobra.EnableCommandSorting = false
	all := verbs
	if len(args) > 0 {
		if i := slices.IndexFunc(verbs, func(v verb) bool { return v.name == args[0] }); i >= 0 {
			all = verbs[i : i+1]
			root.CompletionOptions.DisableDefaultCmd = true
		}
	}
	for _, v := range all {
		root.AddCommand(v.command(r))
	}
	return root
}

func noVerb(*cobra.Command, []string) error {
	return terminal.Hinted(errors.New("no command given"), "cdfz --help lists the commands")
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
	if near := display.Nearest(args[0], names); near != "" {
		return terminal.Hinted(err, "did you mean cdfz %s?", near)
	}
	return terminal.Hinted(err, "cdfz --help lists the commands")
}
