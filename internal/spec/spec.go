// Package spec reads the text form of filter chains: the specifications of netCDF
// ("2,4|32015,3"), Zarr's codecs as JSON, and the argument of nccopy's option -F
// ("tas&pr,2,4|32015,3").
//
// Use [ParseChain] for a chain, [ParseCodecs] for JSON and [ParseVars] for an option. The
// package imports only package filters. It knows the syntax but not the filters:
// [filters.NewCoder] checks ids and parameters.
package spec

import (
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/filters"
)

// Options of [ParseChain] and [ParseVars]. Nil means the defaults.
type Options struct {
	// Compat reads specifications as netcdf-c 4.9.0 does: it ignores text after a
	// number, numbers that are too large wrap around, an id may have 32 bits, and an
	// empty text means no filters. By default all of these are errors. Compat mode does
	// not know the mark of optional filters.
	Compat bool
}

func (o *Options) compat() bool { return o != nil && o.Compat }

// ParseChain parses a filter specification of netCDF. "307,9|2,4" stands for two
// filters with their parameters, in the order of encoding. Parameters are constants
// with the type tags of netcdf-c's filters.md, appendix A. A 64-bit constant makes two
// parameters, low word first. A format number in brackets may precede the filters and
// means nothing. An empty string or filter is [ErrSpec], but a "|" at the end is ignored, as
// netcdf-c does. The order of the filters and filters that occur twice are kept.
//
// A name of package filters stands for its id, in any case: "bzip2,9". That is cdfz's addition,
// and not known in compat mode.
//
// A "?" at the end of a filter marks it as optional. That is cdfz's addition to the
// syntax. Filters are required otherwise.
func ParseChain(spec string, opts *Options) (filters.Chain, error) {
	return parseChain(spec, 0, opts.compat())
}

// parseChain parses a chain. at is its offset in the text.
func parseChain(spec string, at int, compat bool) (filters.Chain, error) {
	rest, skipped, err := cutFormat(spec, at, compat)
	if err != nil {
		return nil, err
	}
	at += skipped
	if compat {
		if rest == "" {
			return nil, nil
		}
	}
	rest = strings.TrimSuffix(rest, "|")
	if rest == "" {
		return nil, errorAt(ErrSpec, at, "empty filter specification")
	}
	var c filters.Chain
	for one := range strings.SplitSeq(rest, "|") {
		f, err := parseFilter(one, at, compat)
		if err != nil {
			return nil, err
		}
		if len(c) == filters.MaxFilters && !compat {
			return nil, errorAt(ErrSpec, at, "expected at most %d filters", filters.MaxFilters)
		}
		c = append(c, f)
		at += len(one) + 1
	}
	return c, nil
}

// cutFormat removes a format number, as in "[1]307,9". netcdf-c 4.9.0 parses it
// (sscanf "%d") and then frees the wrong pointer, so no text with one is in use.
func cutFormat(spec string, at int, compat bool) (rest string, n int, err error) {
	if !strings.HasPrefix(spec, "[") {
		return spec, 0, nil
	}
	tag, rest, ok := strings.Cut(spec[1:], "]")
	if !ok {
		return "", 0, errorAt(ErrSpec, at, "expected a ] after the format number")
	}
	if compat {
		_, _, _, ok = scanDigits(tag)
	} else {
		_, bad := strconv.ParseUint(tag, 10, 31)
		ok = bad == nil
	}
	if !ok {
		return "", 0, errorAt(ErrSpec, at+1, "expected a format number in brackets, found %q", tag)
	}
	return rest, len(tag) + 2, nil
}

// parseFilter parses "id[,parameter]*". at is its offset in the text.
func parseFilter(s string, at int, compat bool) (filters.Filter, error) {
	var f filters.Filter
	if !compat {
		s, f.Optional = strings.CutSuffix(s, "?")
	}
	words := strings.Split(s, ",")
	if err := parseID(&f, words[0], at, compat); err != nil {
		return f, err
	}
	parse := parseConst
	if compat {
		parse = scanConst
	}
	for i, w := range words[1:] {
		at += len(words[i]) + 1
		word := strings.TrimLeft(w, " \t")
		v, err := parse(word, at+len(w)-len(word))
		if err != nil {
			return f, err
		}
		f.Params = append(f.Params, v...)
	}
	return f, nil
}

func parseID(f *filters.Filter, word string, at int, compat bool) error {
	if compat {
		id, ok := scanUint32(word)
		if !ok {
			return errorAt(ErrSpec, at, "expected a filter id, found %q", word)
		}
		f.ID = id
		return nil
	}
	word = strings.TrimLeft(word, " \t")
	id, err := strconv.ParseUint(word, 10, 32)
	if err != nil {
		if f.ID = idOf(word); f.ID != 0 {
			return nil
		}
		return errorAt(ErrSpec, at, "expected a filter id from 0 to %d or a name, found %q", filters.MaxID, word)
	}
	if id > filters.MaxID {
		return errorAt(filters.ErrFilterID, at, "expected a filter id from 0 to %d, found %d", filters.MaxID, id)
	}
	f.ID = uint32(id)
	return nil
}

// idOf returns the id of a filter with a name, or 0. Registered filters come first: names of the registry are not
// unique.
func idOf(name string) uint32 {
	if name == "" {
		return 0
	}
	for _, ids := range [][]uint32{filters.Registered(), filters.Known()} {
		for _, id := range ids {
			if strings.EqualFold(filters.Name(id), name) {
				return id
			}
		}
	}
	return 0
}
