package chains

import (
	"fmt"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
)

// ForFile returns the chains for a file with the given header. A variable that the file
// lacks is an error, unless ignored on request, and so is a scalar. hasFilters is set if
// the file is an archive, whose filters are kept.
func (s *Specs) ForFile(h *cdf3.Header, hasFilters bool) ([]archive.VarFilter, error) {
	names := make([]string, len(h.Vars))
	rank := map[string]int{all: 1}
	for i := range h.Vars {
		names[i] = h.Vars[i].Name
		rank[names[i]] = len(h.Vars[i].DimIDs)
	}
	var out []archive.VarFilter
	some := false // an option for all variables
	for _, f := range s.vars {
		name := f.Vars[0]
		n, ok := rank[name]
		switch {
		case !ok && (s.ignoreMissing || s.compat), ok && n == 0 && s.compat:
			continue
		case !ok:
			err := terminal.Lasting(fmt.Errorf("-F names variable %s, which the file does not have", display.Quoted(name)))
			if near := display.Nearest(name, names); near != "" {
				return nil, terminal.Hinted(err, "did you mean %s? --ignore-missing ignores such names", display.Quoted(near))
			}
			return nil, terminal.Hinted(err, "--ignore-missing ignores such names")
		case n == 0 && len(f.Chain) > 0:
			return nil, terminal.Lasting(fmt.Errorf("-F names variable %s, which is a scalar and cannot have filters", display.Quoted(name)))
		}
		some = some || name == all
		out = append(out, f)
	}
	if s.noDefault && !some && !hasFilters {
		out = append(out, archive.VarFilter{Vars: []string{all}})
	}
	return out, nil
}

// WithoutEffect explains which variables do not get their chain: those without blocks,
// and scalars under "*".
func WithoutEffect(f *archive.File, given []archive.VarFilter) []string {
	if len(given) == 0 {
		return nil
	}
	named, scalars := map[string]bool{}, 0
	for _, f := range given {
		for _, name := range f.Vars {
			named[name] = name != all || len(f.Chain) > 0
		}
	}
	var out []string
	for _, v := range f.Vars() {
		i := v.Info()
		switch {
		case named[v.Name()] && !i.Blocked:
			if i.Pooled {
				i.Why = "it shares its blocks with other small variables"
			}
			out = append(out, fmt.Sprintf("-F has no effect on variable %s: %s", display.Quoted(v.Name()), i.Why))
		case named[all] && i.Blocked && len(v.Shape()) == 0:
			scalars++
		}
	}
	if scalars > 0 {
		out = append(out, fmt.Sprintf("%s cannot have filters: stored unchanged", display.Count(int64(scalars), "scalar variable")))
	}
	return out
}
