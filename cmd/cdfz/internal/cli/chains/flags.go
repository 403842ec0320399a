package chains

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
)

// Help describes the syntax of -F for the help of a verb.
const Help = `-F sets the filters of single variables, as nccopy does: VARS,FILTERS. VARS are names
joined by &, or * for all others. FILTERS are ids, or names such as bzip2, with their
parameters, joined by |, or none. A ? after a filter makes it optional: blocks that it
cannot encode, or does not shorten, are stored without it. A backslash before "," or "&"
makes it part of a name. Scalars cannot be named, and * leaves them without filters.
--codec VARS,JSON sets filters as codecs of Zarr.`

// Specs holds the options of a command line about filters.
type Specs struct {
	specs, codecs []string // -F, --codec
	deflate       int      // -d; negative if it is missing
	shuffle       bool     // -s
	ignoreMissing bool
	compat        bool
	noDefault     bool
	lossy         []string // --lossy

	vars    []archive.VarFilter // one variable each, set by Parse
	rounded []string            // variables of --lossy
}

// WriteFlags adds --preset, --block and --zarr to a verb that writes archives. Their
// usages differ by verb.
func WriteFlags(cmd *cobra.Command, o *archive.WriteOptions, preset, block, zarr string) {
	cli.Flags(cmd, cli.FilterFlags, func(f *pflag.FlagSet) {
		cli.Choice(cmd, &o.Preset, "preset", preset, archive.Presets...)
		f.Var(&cli.SizeFlag{N: &o.Block, Min: archive.MinBlock, Max: archive.MaxBlock}, "block", block)
		cli.CompleteWords(cmd, "block", "64K", "256K", "1M", "4M")
		cli.Choice(cmd, &o.Zarr, "zarr", zarr, archive.ZarrAuto, archive.ZarrAlways, archive.ZarrConsolidated, archive.ZarrNever)
	})
}

// AddFlags adds the options to a verb.
func (s *Specs) AddFlags(cmd *cobra.Command) {
	cli.Flags(cmd, cli.FilterFlags, func(f *pflag.FlagSet) {
		f.StringArrayVarP(&s.specs, "filter", "F", nil, "filters of single variables, as `VARS,FILTERS`; repeatable")
		f.StringArrayVar(&s.codecs, "codec", nil, "filters of single variables as `VARS,JSON`, with codecs of Zarr:\nJSON is a codec, a list of codecs, an object with filters and compressor, or the name of a file with one of these")
		f.IntVarP(&s.deflate, "deflate", "d", -1, "deflate all variables without -F at `LEVEL` 1 to 9; 0: without filters")
		f.Lookup("deflate").DefValue = "0" // which help does not show
		f.BoolVarP(&s.shuffle, "shuffle", "s", false, "shuffle before -d")
		f.StringArrayVar(&s.lossy, "lossy", nil, "round the values of `VARS` with the first filter in their -F,\nquantize or bitround; the archive then restores the rounded values")
		f.BoolVar(&s.ignoreMissing, "ignore-missing", false, "-F may name variables that a file does not have")
		f.BoolVar(&s.noDefault, "no-default", false, "no filters for variables that no option names")
		f.BoolVar(&s.compat, "compat", false, "read -F as nccopy does: constants wrap around, several options for a variable are combined, missing variables and scalars are ignored; fletcher32 comes first, then shuffle, then the others")
		cli.Rare(f, "ignore-missing", "no-default", "compat")
	})
}
