// Package filters is the verb filters, which lists filters. The module's package filters has them.
package filters

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
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/filters"
)

// filterReport is the JSON of one filter.
type filterReport struct {
	ID       uint32 `json:"id"`
	Name     string `json:"name"`
	Class    string `json:"class"` // range of The HDF Group's registry
	BuiltIn  bool   `json:"built_in"`
	Plugin   string `json:"plugin,omitempty"` // the library that provides it
	Encodes  bool   `json:"encodes"`
	Codec    string `json:"codec,omitempty"`
	Package  string `json:"package,omitempty"` // of Python, for the codec; empty: numcodecs
	Payload  string `json:"payload"`           // which other programs can decode the stored bytes
	Registry string `json:"registry,omitempty"`
}

func Command(run *cli.Run) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "filters [flags] [FILTER…]",
		Short: "List filters and the Zarr codecs paired with them",
		Long: `Lists the filters that -F takes: HDF5's id, the name, the Zarr codec that is paired with
it, whether cdfz encodes or only decodes it, and which other programs can decode the
stored bytes.

The ids of other registered filters are listed by name. Filters of HDF5 plugins are listed
too if --plugin-path or HDF5_PLUGIN_PATH names folders.

A FILTER is an id or a name. If FILTERs are given, only these are described. Their ids need
not be built in.`,
		Example: cli.Examples(
			"cdfz filters",
			"cdfz filters 300           # what kind of id is that?",
			"cdfz filters blosc zfp",
			"cdfz filters --plugin-path default"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(run.PluginFolders()) > 0 {
				if _, err := run.LoadPlugins(); err != nil {
					run.Term.Fail("plugins", err)
					return nil
				}
			}
			if len(args) > 0 {
				return describeFilters(run, args)
			}
			listFilters(run)
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) (words []string, _ cobra.ShellCompDirective) {
			for _, id := range filters.Registered() {
				words = append(words, filters.Name(id))
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
	}
	run.JSONFlag(cmd)
	return cmd
}

// payloads names the programs that decode the stored bytes of filters whose pairing does
// not show it (docs/filters.md).
var payloads = map[uint32]string{
	filters.Shuffle:     "HDF5 and Zarr, if blocks have whole elements",
	filters.Szip:        "HDF5 and NCZarr",
	filters.LZ4:         "HDF5: the codec lz4 has another header",
	filters.ScaleOffset: "HDF5: the codec fixedscaleoffset is another format",
	32013:               "HDF5: the codec zfpy has another header",
	32022:               "all: values are only rounded",
	32023:               "all: values are only rounded",
	32025:               "HDF5: the codec delta is another format",
}

// registryURL is The HDF Group's description of the registered filters.
const registryURL = "https://github.com/HDFGroup/hdf5_plugins/blob/master/docs/RegisteredFilterPlugins.md"

func reportFilter(id uint32) filterReport {
	r := filterReport{ID: id, Name: filters.Name(id), Class: filters.Class(id), Payload: payloads[id], Codec: filters.CodecID(id), Package: filters.CodecPackage(id)}
	if m, ok := filters.Lookup(id); ok {
		r.BuiltIn, r.Plugin, r.Encodes = m.Origin == "", m.Origin, !m.DecodeOnly && !m.EncodeOnly
	}
	if r.Class != "predefined" && r.Class != "private" && r.Name != "" {
		r.Registry = registryURL
	}
	switch {
	case r.Payload != "" || r.Name == "":
	case r.Class == "private" && r.Codec == "":
		r.Payload = "cdfz"
	case r.Class == "private":
		r.Payload = "Zarr"
	case r.Codec != "":
		r.Payload = "HDF5 and Zarr"
	default:
		r.Payload = "HDF5"
	}
	return r
}

func listFilters(run *cli.Run) {
	var rows []filterReport
	var others []string
	for _, id := range filters.Known() {
		r := reportFilter(id)
		if rows = append(rows, r); !r.BuiltIn && r.Plugin == "" {
			others = append(others, fmt.Sprintf("%d %s", id, r.Name))
		}
	}
	if run.Term.JSON {
		run.Term.Emit(rows)
		return
	}
	table := [][]string{{"id", "name", "codec", "encodes", "stored bytes are read by"}}
	for _, r := range rows {
		payload := r.Payload
		if r.Plugin != "" {
			payload += ", from the plugin " + filepath.Base(r.Plugin)
		}
		if r.BuiltIn || r.Plugin != "" {
			table = append(table, []string{strconv.FormatUint(uint64(r.ID), 10), r.Name, cmp.Or(r.codec(), "-"), yesNo(r.Encodes), payload})
		}
	}
	display.WriteTable(run.Term.Out, table)
	fmt.Fprintf(run.Term.Out, "\nnot built in: %s\n%s\n", strings.Join(others, ", "), registryURL)
}

func describeFilters(run *cli.Run, args []string) error {
	var rows []filterReport
	for _, arg := range args {
		id, err := filterID(arg)
		if err != nil {
			return err
		}
		rows = append(rows, reportFilter(id))
	}
	if run.Term.JSON {
		run.Term.Emit(rows)
		return nil
	}
	for _, r := range rows {
		name := r.Name
		if name == "" {
			name = "no name"
		}
		fmt.Fprintf(run.Term.Out, "%d: %s\n  id: %s\n", r.ID, display.Printable(name), classText[r.Class])
		switch {
		case r.BuiltIn && r.Encodes:
			fmt.Fprintln(run.Term.Out, "  built in")
		case r.BuiltIn:
			fmt.Fprintln(run.Term.Out, "  built in, decodes only")
		case r.Plugin != "" && r.Encodes:
			run.Term.Print("  plugin: %s", r.Plugin)
		case r.Plugin != "":
			run.Term.Print("  plugin: %s, decodes only", r.Plugin)
		default:
			fmt.Fprintln(run.Term.Out, "  not built in")
		}
		if r.Codec != "" {
			run.Term.Print("  codec: %s", r.codec())
		}
		if r.Payload != "" {
			fmt.Fprintf(run.Term.Out, "  stored bytes are read by: %s\n", r.Payload)
		}
		if r.Registry != "" {
			fmt.Fprintf(run.Term.Out, "  %s\n", r.Registry)
		}
	}
	return nil
}

// classText explains the ranges of ids.
var classText = map[string]string{
	"predefined": "0 to 255, reserved for HDF5",
	"testing":    "256 to 511, for tests",
	"registered": "512 to 32767, registered with The HDF Group",
	"private":    "32768 to 65535, not registered",
}

// filterID returns the filter with an id or a name.
func filterID(arg string) (uint32, error) {
	if id, err := strconv.ParseUint(arg, 10, 32); err == nil {
		if id > filters.MaxID {
			return 0, fmt.Errorf("filter id: expected at most %d, found %d", filters.MaxID, id)
		}
		return uint32(id), nil
	}
	known := filters.Known()
	i := slices.IndexFunc(known, func(id uint32) bool { return strings.EqualFold(filters.Name(id), arg) })
	if i < 0 {
		return 0, terminal.Hinted(fmt.Errorf("unknown filter %q", arg), "cdfz filters lists them")
	}
	return known[i], nil
}

// codec returns the codec and the Python package that it needs.
func (r filterReport) codec() string {
	if r.Package == "" {
		return r.Codec
	}
	return fmt.Sprintf("%s (%s)", r.Codec, r.Package)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
