package filters

import (
	"strconv"
	"strings"
)

// SpecOptions are for [ParseChain] and [ParseVarSpec]; nil means all defaults.
type SpecOptions struct {
	// Compat reads constants as netcdf-c's sscanf does: what follows a number
	// is ignored, and numbers too large wrap around. The default refuses both.
	Compat bool
}

func (o *SpecOptions) compat() bool { return o != nil && o.Compat }

// ParseChain reads the filter specification of netCDF ("307,9|2,4": filters with
// their parameters, first to last when encoding). Parameters are constants with
// the type tags of netcdf-c's filters.md, appendix A; constants of 64 bits make
// two parameters, low word first. A tag "[hdf5]" may stand in front. The empty
// string is [ErrSpec], as is an empty filter, except that compat mode ignores a
// "|" at the end.
//
// The syntax does not say whether a filter is optional: here none is.
// Parameters are not checked against their filters: [NewCoder] does that.
func ParseChain(spec string, opts *SpecOptions) (Chain, error) {
	rest := spec
	if strings.HasPrefix(rest, "[") {
		tag, after, ok := strings.Cut(rest[1:], "]")
		if !ok {
			return nil, errorf(ErrSpec, "specification %q: ] after the format tag, found none", spec)
		}
		if !opts.compat() && tag != "hdf5" {
			return nil, errorf(ErrSpec, "specification %q: format hdf5, found %q", spec, tag)
		}
		rest = after
	}
	if opts.compat() {
		rest = strings.TrimSuffix(rest, "|")
	}
	if rest == "" {
		return nil, errorf(ErrSpec, "specification %q: a filter, found none", spec)
	}
	var c Chain
	for one := range strings.SplitSeq(rest, "|") {
		f, err := parseFilter(one, opts.compat())
		if err != nil {
			return nil, err
		}
		c = append(c, f)
	}
	if len(c) > MaxFilters {
		return nil, errorf(ErrSpec, "specification: at most %d filters, found %d", MaxFilters, len(c))
	}
	return c, nil
}

// parseFilter reads "id[,parameter]*".
func parseFilter(s string, compat bool) (Filter, error) {
	words := strings.Split(s, ",")
	var f Filter
	if compat {
		id, ok := scanUint32(words[0])
		if !ok {
			return f, errorf(ErrSpec, "filter %q: an id, found %q", s, words[0])
		}
		f.ID = id
	} else {
		id, err := strconv.ParseUint(strings.TrimLeft(words[0], " \t"), 10, 32)
		if err != nil {
			return f, errorf(ErrSpec, "filter %q: an id from 0 to %d, found %q", s, MaxID, words[0])
		}
		if id > MaxID {
			return f, errorf(ErrFilterID, "filter %q: an id from 0 to %d, found %d", s, MaxID, id)
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

// VarSpec is the argument of nccopy's option -F: which variables, which chain.
type VarSpec struct {
	// All is set for "*": every variable. Names is then empty.
	All bool
	// Names are the variables, without escapes and without the "/" of the root
	// group in front.
	Names []string
	// None is set where the chain is "none": no filters. Chain is then nil.
	None  bool
	Chain Chain
}

// ParseVarSpec reads "VAR[&VAR]*,SPEC": SPEC as for [ParseChain] or "none", VAR a
// name in which "\" makes the next byte an ordinary one, or "*" alone for all
// variables. "none" by itself is "*,none". In upper case it means the same.
// Whether the variables exist, and what several such options mean together, is
// not decided here.
func ParseVarSpec(s string, opts *SpecOptions) (VarSpec, error) {
	if strings.EqualFold(s, "none") {
		return VarSpec{All: true, None: true}, nil
	}
	var v VarSpec
	var name []byte
	star := false // name is an unescaped "*"
	names := func() error {
		n := strings.TrimPrefix(string(name), "/")
		if n == "" {
			return errorf(ErrSpec, "filter option %q: a variable, found an empty name", s)
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
				return VarSpec{}, errorf(ErrSpec, `filter option %q: a byte after \, found none`, s)
			}
			name, star = append(name, s[i]), false
		case '&', ',':
			if err := names(); err != nil {
				return VarSpec{}, err
			}
			if c == '&' {
				continue
			}
			if v.All {
				if len(v.Names) > 1 {
					return VarSpec{}, errorf(ErrSpec, "filter option %q: * alone, found other variables", s)
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
				return VarSpec{}, err
			}
			return v, nil
		default:
			star = c == '*' && len(name) == 0
			name = append(name, c)
		}
	}
	return VarSpec{}, errorf(ErrSpec, "filter option %q: a comma and filters after the variables, found none", s)
}
