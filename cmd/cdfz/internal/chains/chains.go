// Package chains turns the options -F of a command line into chains of filters for the
// variables of a file.
package chains

import (
	"fmt"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/spec"
)

// Specs holds the options -F of a command line.
type Specs struct {
	// IgnoreMissing allows names that a file does not have.
	IgnoreMissing bool
	vars          []archive.VarFilter
}

// Parse parses the options and checks all that does not depend on a file.
func (s *Specs) Parse(specs []string) error {
	given := map[string]spec.Vars{}
	for _, text := range specs {
		v, err := spec.ParseVars(text, nil)
		if err != nil {
			return fmt.Errorf("-F %s: %w", text, err)
		}
		names := v.Names
		if v.All {
			names = []string{"*"}
		}
		for _, name := range names {
			before, ok := given[name]
			switch {
			case ok && before.None != v.None:
				return fmt.Errorf("-F %s: contradicts an earlier -F for variable %s", text, cli.Quoted(name))
			case ok:
				return fmt.Errorf("-F %s: a second -F for variable %s", text, cli.Quoted(name))
			}
			given[name] = v
		}
		if err := Check(v.Chain); err != nil {
			return fmt.Errorf("-F %s: %w", text, err)
		}
		s.vars = append(s.vars, archive.VarFilter{Vars: names, Chain: v.Chain})
	}
	return nil
}

// Check rejects unknown filters and wrong parameters. Parameters that depend on a
// variable are checked for 4-byte numbers.
func Check(c filters.Chain) error {
	for _, f := range c {
		if _, ok := filters.Lookup(f.ID); !ok {
			return &filters.UnknownFilterError{ID: f.ID, Params: f.Params, Name: filters.Name(f.ID)}
		}
	}
	c, err := c.Complete(filters.Block{Len: 4096, Kind: filters.Int, Size: 4, Shape: []int{1024}})
	if err == nil {
		_, err = filters.NewCoder(c)
	}
	return err
}

// ForFile returns the chains for a file. A name that the file lacks is an error, unless
// ignored on request.
func (s *Specs) ForFile(h *cdf3.Header) ([]archive.VarFilter, error) {
	has := map[string]bool{"*": true}
	all := make([]string, len(h.Vars))
	for i := range h.Vars {
		all[i] = h.Vars[i].Name
		has[all[i]] = true
	}
	var out []archive.VarFilter
	for _, f := range s.vars {
		var names []string
		for _, name := range f.Vars {
			switch {
			case has[name]:
				names = append(names, name)
			case !s.IgnoreMissing:
				err := fmt.Errorf("-F names variable %s, which the file does not have", cli.Quoted(name))
				if near := cli.Nearest(name, all); near != "" {
					return nil, cli.Hinted(err, "did you mean %s? --ignore-missing ignores such names", cli.Quoted(near))
				}
				return nil, cli.Hinted(err, "--ignore-missing ignores such names")
			}
		}
		if len(names) > 0 {
			out = append(out, archive.VarFilter{Vars: names, Chain: f.Chain})
		}
	}
	return out, nil
}

// WithoutEffect lists the variables named by -F whose chain is not used because they
// have no blocks.
func WithoutEffect(f *archive.File, given []archive.VarFilter) []string {
	named := map[string]bool{}
	for _, f := range given {
		for _, name := range f.Vars {
			named[name] = true
		}
	}
	var out []string
	for _, v := range f.Vars() {
		if i := v.Info(); named[v.Name()] && !i.Blocked {
			if i.Pooled {
				i.Why = "it is too small for blocks of its own"
			}
			out = append(out, fmt.Sprintf("-F has no effect on variable %s: %s", cli.Quoted(v.Name()), i.Why))
		}
	}
	return out
}
