// Package spec reads the text form of filter chains: the specifications of netCDF
// ("2,4|32015,3") and the argument of nccopy's option -F ("tas&pr,2,4|32015,3").
//
// Use [ParseChain] for a chain and [ParseVars] for an option. The package imports only
// package filters. It knows the syntax but not the filters: [filters.NewCoder] checks
// ids and parameters.
package spec

import (
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/filters"
)

// Options of [ParseChain] and [ParseVars]. Nil means the defaults.
type Options struct {
	// Compat reads constants as netcdf-c's sscanf does: it ignores text after a
	// number, and numbers that are too large wrap around. By default both are errors.
	Compat bool
}

func (o *Options) compat() bool { return o != nil && o.Compat }

// ParseChain parses a filter specification of netCDF. "307,9|2,4" stands for two
// filters with their parameters, in the order of encoding. Parameters are constants
// with the type tags of netcdf-c's filters.md, appendix A. A 64-bit constant makes two
// parameters, low word first. The format tag "[hdf5]" may precede the filters. An empty
// string or filter is [ErrSpec], but compat mode ignores a trailing "|".
//
// The syntax cannot mark filters as optional, so all are required.
func ParseChain(spec string, opts *Options) (filters.Chain, error) {
	rest := spec
	if strings.HasPrefix(rest, "[") {
		tag, after, ok := strings.Cut(rest[1:], "]")
		if !ok {
			return nil, errorf(ErrSpec, "specification %q: missing ] after the format tag", spec)
		}
		if !opts.compat() && tag != "hdf5" {
			return nil, errorf(ErrSpec, "specification %q: expected format hdf5, found %q", spec, tag)
		}
		rest = after
	}
	if opts.compat() {
		rest = strings.TrimSuffix(rest, "|")
	}
	if rest == "" {
		return nil, errorf(ErrSpec, "empty filter specification")
	}
	var c filters.Chain
	for one := range strings.SplitSeq(rest, "|") {
		f, err := parseFilter(one, opts.compat())
		if err != nil {
			return nil, err
		}
		c = append(c, f)
	}
	if len(c) > filters.MaxFilters {
		return nil, errorf(ErrSpec, "specification: expected at most %d filters, found %d", filters.MaxFilters, len(c))
	}
	return c, nil
}

// parseFilter parses "id[,parameter]*".
func parseFilter(s string, compat bool) (filters.Filter, error) {
	words := strings.Split(s, ",")
	var f filters.Filter
	if compat {
		id, ok := scanUint32(words[0])
		if !ok {
			return f, errorf(ErrSpec, "filter %q: expected an id, found %q", s, words[0])
		}
		f.ID = id
	} else {
		id, err := strconv.ParseUint(strings.TrimLeft(words[0], " \t"), 10, 32)
		if err != nil {
			return f, errorf(ErrSpec, "filter %q: expected an id from 0 to %d, found %q", s, filters.MaxID, words[0])
		}
		if id > filters.MaxID {
			return f, errorf(filters.ErrFilterID, "filter %q: expected an id from 0 to %d, found %d", s, filters.MaxID, id)
		}
		f.ID = uint32(id)
	}
	for _, w := range words[1:] {
		parse := parseConst
		if compat {
			parse = scanConst
		}
		v, err := parse(strings.TrimLeft(w, " \t"))
		if err != nil {
			return f, err
		}
		f.Params = append(f.Params, v...)
	}
	return f, nil
}

// Vars is the argument of nccopy's option -F: a chain and the variables it applies to.
type Vars struct {
	// All is set for "*": every variable. Names is then empty.
	All bool
	// Names are the variables, without escapes and without the "/" of the root
	// group.
	Names []string
	// None is set if the chain is "none", which means no filters. Chain is then nil.
	None  bool
	Chain filters.Chain
}

// ParseVars parses "VAR[&VAR]*,SPEC". SPEC is a chain as in [ParseChain], or "none" in
// any case. VAR is a name, in which "\" escapes the next byte, or a single "*" for all
// variables. The text "none" is short for "*,none". Callers check that the variables
// exist and combine several options.
func ParseVars(s string, opts *Options) (Vars, error) {
	if strings.EqualFold(s, "none") {
		return Vars{All: true, None: true}, nil
	}
	var v Vars
	var name []byte
	star := false // name is an unescaped "*"
	names := func() error {
		n := strings.TrimPrefix(string(name), "/")
		if n == "" {
			return errorf(ErrSpec, "filter option %q: empty variable name", s)
		}
		v.All = v.All || star
		v.Names = append(v.Names, n)
		name, star = name[:0], false
		return nil
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i == len(s) {
				return Vars{}, errorf(ErrSpec, `filter option %q: expected a character after \`, s)
			}
			name, star = append(name, s[i]), false
		case '&', ',':
			if err := names(); err != nil {
				return Vars{}, err
			}
			if c == '&' {
				continue
			}
			if v.All {
				if len(v.Names) > 1 {
					return Vars{}, errorf(ErrSpec, "filter option %q: expected * alone, found other variables", s)
				}
				v.Names = nil
			}
			rest := s[i+1:]
			if strings.EqualFold(rest, "none") {
				v.None = true
				return v, nil
			}
			var err error
			v.Chain, err = ParseChain(rest, opts)
			if err != nil {
				return Vars{}, err
			}
			return v, nil
		default:
			star = c == '*' && len(name) == 0
			name = append(name, c)
		}
	}
	return Vars{}, errorf(ErrSpec, "filter option %q: expected a comma and filters after the variables", s)
}
