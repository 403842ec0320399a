// Package plugins is the verb plugins, which lists HDF5 plugins. Package hdf5plugin finds and loads them.
package plugins

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/hdf5plugin"
)

// report is the JSON of the verb plugins.
type report struct {
	Path      []string        `json:"path"`
	Libraries []libraryReport `json:"libraries,omitempty"`
	Pairs     []pairReport    `json:"pairs,omitempty"`
}

// libraryReport is a library in the search path.
type libraryReport struct {
	Path    string        `json:"path"`
	Ignored string        `json:"ignored,omitempty"` // the reason
	Filter  *filterOf     `json:"filter,omitempty"`
	Codecs  []codecReport `json:"codecs,omitempty"`
	Note    string        `json:"note,omitempty"`
}

type filterOf struct {
	ID       uint32 `json:"id"`
	Name     string `json:"name"`
	Encodes  bool   `json:"encodes"`
	Decodes  bool   `json:"decodes"`
	CanApply bool   `json:"can_apply"`
	SetLocal bool   `json:"set_local"`
}

type codecReport struct {
	ID      string `json:"id"`
	Filter  uint32 `json:"filter"`
	Default bool   `json:"default,omitempty"` // only for a filter without a codec
}

// pairReport is a filter with its codec.
type pairReport struct {
	ID        uint32 `json:"id"`
	Name      string `json:"name"`
	Filter    string `json:"filter_library,omitempty"`
	Codec     string `json:"codec,omitempty"`
	CodecPath string `json:"codec_library,omitempty"`
	Use       string `json:"use"`
}

// The parts of the report, which are also arguments.
var parts = []string{"path", "list", "pairs"}

// Command is the verb plugins.
func Command(run *cli.Run) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugins [flags] [path|list|pairs]…",
		Short: "List HDF5 plugins, and the codecs paired with them",
		Long: `Searches for HDF5's filter plugins and netcdf-c's codecs, and lists the search path, the
libraries in it, and which filters and codecs they add. All verbs use these filters.

Plugins are used only on request: cdfz searches the folders in --plugin-path and in the
variable HDF5_PLUGIN_PATH, in this order. Folders are separated by ":". The word default
stands for the folders that HDF5 searches without that variable. Files named lib*.so* are
tried in the order of their names, and the first library with a filter id provides it.
Filters that are built in are never taken from plugins. A library's own codec for them
replaces that of cdfz. A default codec of a library is only for filters without one.

Libraries are loaded by another program, cdfz-plugin-host, which must be in the folder of cdfz or on
PATH. If a plugin crashes, hangs or takes all memory, its block fails. Blocks that a plugin
does not restore exactly are not written, so lossy filters can only decode.`,
		Example: cli.Examples(
			"cdfz plugins --plugin-path default",
			"cdfz plugins path                                      # which folders?",
			"cdfz plugins pairs --json --plugin-path ~/plugins",
			"cdfz get --plugin-path ~/plugins a.nc.cdfz 'tas[0]'    # read what a plugin wrote",
			"HDF5_PLUGIN_PATH=~/plugins cdfz verify data/"),
		Args: func(_ *cobra.Command, args []string) error {
			for _, arg := range args {
				if !slices.Contains(parts, arg) {
					return fmt.Errorf("expected path, list or pairs, found %q", arg)
				}
			}
			return nil
		},
		ValidArgs: parts,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = parts
			}
			list(run, args)
			return nil
		},
	}
	run.JSONFlag(cmd)
	return cmd
}

func list(run *cli.Run, parts []string) {
	r := report{Path: run.PluginFolders()}
	found := 0
	if slices.Contains(parts, "list") || slices.Contains(parts, "pairs") {
		builtIn := filters.Registered()
		set, err := run.LoadPlugins()
		if err != nil {
			run.Term.Fail("plugins", err)
			return
		}
		found = len(set.Libraries())
		if slices.Contains(parts, "list") {
			r.Libraries = libraryRows(set.Libraries())
		}
		if slices.Contains(parts, "pairs") {
			r.Pairs = pairRows(set.Pairs(), builtIn)
		}
	}
	if run.Term.JSON {
		run.Term.Emit(r)
		return
	}
	if slices.Contains(parts, "path") {
		printPath(run, r.Path)
	}
	if len(r.Libraries) > 0 {
		printLibraries(run, r.Libraries)
	}
	if len(r.Pairs) > 0 {
		printPairs(run, r.Pairs)
	}
	if len(r.Libraries) == 0 && len(r.Pairs) == 0 {
		explainNone(run, parts, r.Path, found)
	}
}

// explainNone tells on standard error why no plugins are listed, unless the search path does.
func explainNone(run *cli.Run, parts, path []string, found int) {
	switch listed := slices.Contains(parts, "path"); {
	case found > 0:
		run.Term.Message("no plugin in %s can be used: cdfz plugins list has the reasons", strings.Join(path, ", "))
	case len(path) > 0 && (!listed || len(parts) > 1):
		run.Term.Message("no plugins in %s", strings.Join(path, ", "))
	case len(path) == 0 && !listed:
		run.Term.Message("no plugins, since no folders are searched")
		run.Term.Message("hint: --plugin-path FOLDERS names folders; --plugin-path default takes those of HDF5")
	}
}

func libraryRows(libraries []hdf5plugin.Library) []libraryReport {
	var out []libraryReport
	for _, l := range libraries {
		r := libraryReport{Path: l.Path, Ignored: l.Ignored, Note: l.Note}
		if f := l.Filter; f != nil {
			r.Filter = &filterOf{f.ID, f.Name, f.Encodes, f.Decodes, f.CanApply, f.SetLocal}
		}
		for _, c := range l.Codecs {
			r.Codecs = append(r.Codecs, codecReport{c.ID, c.Filter, c.Default})
		}
		out = append(out, r)
	}
	return out
}

func pairRows(pairs []hdf5plugin.Pair, builtIn []uint32) []pairReport {
	var out []pairReport
	for _, p := range pairs {
		r := pairReport{ID: p.ID, Filter: p.Path, CodecPath: p.CodecPath, Use: string(p.Action())}
		if p.Filter != nil && !slices.Contains(builtIn, p.ID) {
			r.Name = p.Filter.Name
		}
		r.Name = cmp.Or(r.Name, filters.Name(p.ID))
		if p.Codec != nil {
			r.Codec = p.Codec.ID
		}
		if slices.Contains(builtIn, p.ID) {
			r.Use, r.Codec = "built in", filters.CodecID(p.ID) // as cdfz filters lists it
			if m, _ := filters.Lookup(p.ID); p.Codec != nil && m.Codec.Origin == p.CodecPath {
				r.Use += ", with this codec"
			} else if p.Codec != nil {
				r.Use += fmt.Sprintf(", codec %s is not used", p.Codec.ID)
			}
		} else if p.Filter != nil && !p.Filter.Encodes {
			r.Use += ", decodes only"
		} else if p.Filter != nil && !p.Filter.Decodes {
			r.Use += ", encodes only: not used"
		}
		out = append(out, r)
	}
	return out
}

func printPath(run *cli.Run, path []string) {
	if len(path) == 0 {
		run.Term.Print("no search path: name folders with --plugin-path or HDF5_PLUGIN_PATH. The word default stands for:")
		for _, dir := range hdf5plugin.DefaultFolders() {
			run.Term.Print("  %s", dir)
		}
		return
	}
	run.Term.Print("search path:")
	for _, dir := range path {
		run.Term.Print("  %s", dir)
	}
}

func printLibraries(run *cli.Run, libraries []libraryReport) {
	run.Term.Print("")
	run.Term.Print("libraries:")
	for _, l := range libraries {
		text := ""
		switch f := l.Filter; {
		case l.Ignored != "":
			text = "ignored: " + strings.TrimPrefix(l.Ignored, l.Path+": ") // of dlerror
		case f != nil:
			text = fmt.Sprintf("filter %d (%s)", f.ID, f.Name)
			for _, has := range []struct {
				what string
				yes  bool
			}{{"no encoder", !f.Encodes}, {"no decoder", !f.Decodes}, {"can_apply", f.CanApply}, {"set_local", f.SetLocal}} {
				if has.yes {
					text += ", " + has.what
				}
			}
		}
		for _, c := range l.Codecs {
			if text != "" {
				text += "; "
			}
			text += fmt.Sprintf("codec %s for filter %d", c.ID, c.Filter)
			if c.Default {
				text += " by default"
			}
		}
		if l.Note != "" {
			text += "; " + l.Note
		}
		run.Term.Print("  %s", l.Path)
		run.Term.Print("    %s", text)
	}
}

func printPairs(run *cli.Run, pairs []pairReport) {
	run.Term.Print("")
	rows := [][]string{{"id", "name", "codec", "use", "library"}}
	for _, p := range pairs {
		library := filepath.Base(p.Filter)
		switch {
		case p.Filter == "":
			library = filepath.Base(p.CodecPath)
		case p.CodecPath != "" && p.CodecPath != p.Filter:
			library += " and " + filepath.Base(p.CodecPath)
		}
		rows = append(rows, []string{strconv.FormatUint(uint64(p.ID), 10), cmp.Or(p.Name, "-"), cmp.Or(p.Codec, "-"), p.Use, library})
	}
	display.WriteTable(run.Term.Out, rows)
}
