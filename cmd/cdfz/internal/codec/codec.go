// Package codec is the verb codec, which converts between the codecs of Zarr and the filters of HDF5.
package codec

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/discovery"
	"github.com/cdfz-format/cdfz/internal/spec"
)

// converter runs the verb codec.
type converter struct {
	run   *cli.Run
	typ   string
	shape []uint
	zarr  bool
}

// chainReport is the JSON of a converted chain.
type chainReport struct {
	Spec    string            `json:"spec"`
	Filters []filterReport    `json:"filters"`
	Codecs  []json.RawMessage `json:"codecs,omitempty"`
}

type filterReport struct {
	ID     uint32   `json:"id"`
	Name   string   `json:"name,omitempty"`
	Params []uint32 `json:"params"`
}

// Command is the verb codec.
func Command(run *cli.Run) *cobra.Command {
	c := &converter{run: run}
	cmd := &cobra.Command{
		Use:   "codec",
		Short: "Convert between Zarr's codecs and HDF5's filters",
		Long: `Converts chains of filters between Zarr's codecs as JSON and HDF5's ids and parameters in
the syntax of -F. Codecs of HDF5 plugins are included if --plugin-path or HDF5_PLUGIN_PATH
names folders.

Filters are in the order of encoding: the first one gets the values, and the last one makes
the stored bytes. In Zarr, the last codec is the compressor.`,
		Example: cli.Examples(
			`cdfz codec to-hdf5 '{"id":"zstd","level":5}'`,
			"cdfz codec to-hdf5 chain.json",
			"cdfz codec from-hdf5 '2,4|32015,5'",
			"cdfz codec from-hdf5 --type float --shape 100,200 --zarr '2|32001,0,0,0,0,5,1,1'"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("expected to-hdf5 or from-hdf5, found %q", args[0])
			}
			return terminal.Hinted(errors.New("expected to-hdf5 or from-hdf5"), "cdfz codec --help has examples")
		},
		Args: cobra.ArbitraryArgs,
	}
	to := &cobra.Command{
		Use:   "to-hdf5 [flags] JSON|FILE",
		Short: "Print the filters of codecs",
		Long: `Prints the ids and parameters of HDF5's filters for codecs of Zarr: one codec, a list of
them, or an object with filters and compressor, as text or in a file.`,
		Example: cli.Examples(
			`cdfz codec to-hdf5 '{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1}'`,
			"cdfz codec to-hdf5 air/.zarray"),
		Args: oneArg,
		RunE: func(_ *cobra.Command, args []string) error { return c.toHDF5(args[0]) },
	}
	from := &cobra.Command{
		Use:   "from-hdf5 [flags] FILTERS",
		Short: "Print the codecs of filters",
		Long: `Prints codecs of Zarr for filters in the syntax of -F. Some parameters depend on the blocks:
--type and --shape describe them.`,
		Example: cli.Examples(
			"cdfz codec from-hdf5 307,9",
			"cdfz codec from-hdf5 --type double --shape 1000 '2|1,6'"),
		Args: oneArg,
		RunE: func(_ *cobra.Command, args []string) error { return c.fromHDF5(args[0]) },
	}
	cli.Flags(from, "Blocks", func(f *pflag.FlagSet) {
		f.StringVar(&c.typ, "type", "", "`TYPE` of the values,\nbyte, short, int, float, double, ubyte, ushort, uint, int64, uint64 or char")
		f.UintSliceVar(&c.shape, "shape", nil, "shape of a block, as `N,N`")
		f.BoolVar(&c.zarr, "zarr", false, "print an object with filters and compressor, as in .zarray")
	})
	cli.CompleteWords(from, "type", slices.Sorted(maps.Keys(types))...)
	for _, sub := range []*cobra.Command{to, from} {
		run.JSONFlag(sub)
		cmd.AddCommand(sub)
	}
	return cmd
}

func oneArg(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return terminal.Hinted(fmt.Errorf("expected one argument, found %d", len(args)), "%s --help has examples", cmd.CommandPath())
	}
	return nil
}

// toHDF5 prints the filters of codecs. Text that does not begin like JSON is the name of a
// file.
func (c *converter) toHDF5(arg string) error {
	text := []byte(arg)
	if s := strings.TrimSpace(arg); s != "null" && !strings.HasPrefix(s, "{") && !strings.HasPrefix(s, "[") {
		b, err := readSmall(arg)
		if err != nil {
			c.run.Term.Fail(arg, err)
			return nil
		}
		text = b
	}
	chain, err := spec.ParseCodecs(text)
	if err != nil {
		return err
	}
	if c.run.Term.JSON {
		c.run.Term.Emit(reportChain(chain, nil))
		return nil
	}
	c.run.Term.Print("%s", chain)
	return nil
}

// maxFile bounds the length of a file with codecs.
const maxFile = 1 << 20

func readSmall(name string) ([]byte, error) {
	st, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, terminal.Hinted(err, "JSON of a codec begins with { or [")
	case !st.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case st.Size() > maxFile:
		return nil, fmt.Errorf("expected at most %d bytes, found %d", maxFile, st.Size())
	}
	return os.ReadFile(name)
}

func (c *converter) fromHDF5(text string) error {
	chain, err := spec.ParseChain(text, nil)
	if err != nil {
		return err
	}
	b, err := c.block()
	if err != nil {
		return err
	}
	discovery.Run() // plugins may have codecs for built-in filters
	full, err := chain.Complete(b)
	if err != nil && b.Size == 0 && b.Len == 0 {
		full, err = chain, nil // not all codecs need what the blocks would add
	}
	var codecs []json.RawMessage
	if err == nil {
		codecs, err = full.Codecs(b)
	}
	if errors.Is(err, filters.ErrParam) {
		return terminal.Hinted(err, "--type and --shape describe the blocks")
	}
	if err != nil {
		c.run.Term.Fail(text, err)
		return nil
	}
	var out any = codecs
	switch {
	case c.run.Term.JSON:
		out = reportChain(full, codecs)
	case c.zarr:
		out = filters.SplitCodecs(codecs)
	case len(codecs) == 1:
		out = codecs[0]
	}
	c.run.Term.Emit(out)
	return nil
}

// block describes the blocks of --type and --shape.
func (c *converter) block() (filters.Block, error) {
	var b filters.Block
	if c.typ != "" {
		t, ok := types[c.typ]
		if !ok {
			return b, fmt.Errorf("--type %s: expected %s", c.typ, strings.Join(slices.Sorted(maps.Keys(types)), ", "))
		}
		b.Kind, b.Size = t.kind, int(t.typ.Size())
	}
	if len(c.shape) == 0 {
		return b, nil
	}
	b.Len = max(b.Size, 1)
	for _, n := range c.shape {
		if n == 0 || int64(n) > maxBlock || int64(b.Len)*int64(n) > maxBlock {
			return b, errors.New("--shape: expected a block of 1 byte to 1 GiB, found " + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(c.shape)), ","), "[]"))
		}
		b.Len *= int(n)
		b.Shape = append(b.Shape, int(n))
	}
	return b, nil
}

// maxBlock is the length of the longest block of an archive.
const maxBlock = 1 << 30

var types = map[string]struct {
	typ  cdf3.Type
	kind filters.Kind
}{
	"byte": {cdf3.Byte, filters.Int}, "short": {cdf3.Short, filters.Int}, "int": {cdf3.Int, filters.Int}, "int64": {cdf3.Int64, filters.Int},
	"ubyte": {cdf3.UByte, filters.Uint}, "ushort": {cdf3.UShort, filters.Uint}, "uint": {cdf3.UInt, filters.Uint}, "uint64": {cdf3.UInt64, filters.Uint},
	"float": {cdf3.Float, filters.Float}, "double": {cdf3.Double, filters.Float}, "char": {cdf3.Char, filters.Text},
}

func reportChain(chain filters.Chain, codecs []json.RawMessage) chainReport {
	r := chainReport{Spec: chain.String(), Codecs: codecs, Filters: []filterReport{}}
	for _, f := range chain {
		r.Filters = append(r.Filters, filterReport{f.ID, filters.Name(f.ID), append([]uint32{}, f.Params...)})
	}
	return r
}
