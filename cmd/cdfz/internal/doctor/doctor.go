// Package doctor is the verb doctor: what is found of cdfz on a computer, and whether it works there.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/internal/kept"
	"github.com/cdfz-format/cdfz/lorenz"
)

// Findings are states of parts.
const (
	works   = "ok"
	missing = "missing" // it is not installed, or not asked for
	broken  = "broken"  // it is there and does not work
)

// finding is what is found of a part. It is the JSON of a report, too.
type finding struct {
	Part  string `json:"part"`
	State string `json:"state"`
	Found string `json:"found"`
	Hint  string `json:"hint,omitempty"` // what to do if it does not work
}

// doctor looks for the parts. It keeps a sample in a temporary folder while it does.
type doctor struct {
	ctx context.Context
	run *cli.Run
	dir string // the folder, or ""
	err error  // why
}

// parts are looked for in this order.
var parts = []struct {
	name string
	look func(*doctor) finding
}{
	{"program", (*doctor).program}, {"decoder", (*doctor).decoder}, {"limits", (*doctor).limits}, {"temp", (*doctor).temp},
	{"mount", (*doctor).mount}, {"run", (*doctor).runs}, {"plugins", (*doctor).plugins}, {"hdf5", (*doctor).hdf5},
	{"netcdf", (*doctor).netcdf}, {"python", (*doctor).python},
}

// Command is the verb doctor.
func Command(run *cli.Run) *cobra.Command {
	var names []string
	for _, p := range parts {
		names = append(names, p.name)
	}
	cmd := &cobra.Command{
		Use:   "doctor [flags] [PART]…",
		Short: "Tell what of cdfz is installed here, and whether it works",
		Long: `Looks for the parts of cdfz on this computer, and tries them with a small archive in a temporary
folder. Without PART it reports all, with exit code 0:

  program   this program: version, system, path
  decoder   the loops of the numeric codec: AVX2, or plain Go, which is slower
  limits    open files (ulimit -n) and processors
  temp      the folder of temporary files (TMPDIR)
  mount     cdfz mount: /dev/fuse, and for users other than root fusermount3
  run       cdfz run: /dev/fuse, and for users other than root user namespaces
  plugins   HDF5's filter plugins in --plugin-path and HDF5_PLUGIN_PATH
  hdf5      libh5lorenz.so, with which HDF5 reads lorenz
  netcdf    libnccdfz.so, with which programs of netCDF-C read archives; it is tried with ncdump
  python    the package cdfz of the python3 on PATH, and its decoder

With PART, only these are looked for, and the exit code is 1 if one of them is missing or broken.
docs/install.md describes how to install them.`,
		Example: cli.Examples(
			"cdfz doctor",
			"cdfz doctor run python        # may a job rely on these?",
			"cdfz doctor --json netcdf"),
		Args: func(_ *cobra.Command, args []string) error {
			for _, arg := range args {
				if !slices.Contains(names, arg) {
					return fmt.Errorf("expected %s, found %q", strings.Join(names, ", "), arg)
				}
			}
			return nil
		},
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			examine(cmd.Context(), run, args)
			return nil
		},
	}
	run.JSONFlag(cmd)
	return cmd
}

// examine reports the parts, all of them if none is named.
func examine(ctx context.Context, run *cli.Run, names []string) {
	d := &doctor{ctx: ctx, run: run}
	if d.dir, d.err = os.MkdirTemp("", "cdfz-doctor-"); d.err == nil {
		defer os.RemoveAll(d.dir)
		d.err = d.writeSample()
	}
	var rows [][]string
	var bad []string
	for _, p := range parts {
		if len(names) > 0 && !slices.Contains(names, p.name) {
			continue
		}
		f := p.look(d)
		f.Part = p.name
		if f.State != works && len(names) > 0 {
			bad = append(bad, p.name)
		}
		if run.Term.JSON {
			run.Term.Emit(f)
			continue
		}
		rows = append(rows, []string{f.Part, f.State, f.Found})
		if f.Hint != "" {
			rows = append(rows, []string{"", "", f.Hint})
		}
	}
	if len(rows) > 0 {
		display.WriteTable(run.Term.Out, rows)
	}
	for _, name := range bad {
		run.Term.Fail(name, errors.New("is missing or does not work"))
	}
}

func (d *doctor) program() finding {
	path, err := os.Executable()
	if err != nil {
		path = err.Error()
	}
	return finding{State: works, Found: fmt.Sprintf("cdfz %s %s/%s %s, %s", archive.Version, runtime.GOOS, runtime.GOARCH, runtime.Version(), display.Printable(path))}
}

func (d *doctor) decoder() finding {
	f := finding{State: works, Found: "plain Go"}
	if lorenz.Accelerated() {
		f.Found = "AVX2"
	}
	return f
}

func (d *doctor) limits() finding {
	f := finding{State: works, Found: fmt.Sprintf("%d open files, %s", kept.MaxOpen(), display.Count(int64(runtime.GOMAXPROCS(0)), "processor"))}
	if kept.MaxOpen() < 256 {
		f.State, f.Hint = broken, "ulimit -n 1024 allows more open files"
	}
	return f
}

func (d *doctor) temp() finding {
	if d.err != nil {
		return finding{State: broken, Found: d.err.Error(), Hint: "TMPDIR names another folder"}
	}
	return finding{State: works, Found: display.Printable(os.TempDir())}
}

func (d *doctor) plugins() finding {
	folders := d.run.PluginFolders()
	if len(folders) == 0 {
		return finding{State: missing, Found: "no folder is searched", Hint: "--plugin-path and HDF5_PLUGIN_PATH name folders, for plugins that others made"}
	}
	set, err := d.run.LoadPlugins()
	if err != nil {
		return finding{State: broken, Found: err.Error()}
	}
	f := finding{State: works, Found: fmt.Sprintf("%d libraries in %s", len(set.Libraries()), display.Printable(strings.Join(folders, ", ")))}
	if len(set.Libraries()) == 0 {
		f.State, f.Found = missing, "no library in "+display.Printable(strings.Join(folders, ", "))
	}
	return f
}
