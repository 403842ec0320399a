package main

import (
	"fmt"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/filters/spec"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// filterSpecs are the options -F of a command line.
type filterSpecs struct {
	ignoreMissing bool
	vars          []archive.VarFilter
}

// parse reads the options and finds what is wrong with them whatever the file.
func (s *filterSpecs) parse(specs []string) error {
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
				return fmt.Errorf("-F %s: contradicts an earlier -F for variable %s", text, quoted(name))
			case ok:
				return fmt.Errorf("-F %s: a second -F for variable %s", text, quoted(name))
			}
			given[name] = v
		}
		if err := checkChain(v.Chain); err != nil {
			return fmt.Errorf("-F %s: %w", text, err)
		}
		s.vars = append(s.vars, archive.VarFilter{Vars: names, Chain: v.Chain})
	}
	return nil
}

// checkChain finds filters that do not exist and parameters that they do not have.
// What depends on a variable is taken from one of 4-byte numbers.
func checkChain(c filters.Chain) error {
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

// forFile gives the chains for one file. A name that it does not have is an
// error, or left out if that is wanted.
func (s *filterSpecs) forFile(in *input) ([]archive.VarFilter, error) {
	if len(s.vars) == 0 {
		return nil, nil
	}
	h, err := cdf3.Read(in.r, in.size)
	if err != nil {
		return nil, err
	}
	has := map[string]bool{"*": true}
	for i := range h.Vars {
		has[h.Vars[i].Name] = true
	}
	var out []archive.VarFilter
	for _, f := range s.vars {
		var names []string
		for _, name := range f.Vars {
			switch {
			case has[name]:
				names = append(names, name)
			case !s.ignoreMissing:
				return nil, hinted(fmt.Errorf("-F names variable %s, which the file does not have", quoted(name)), "--ignore-missing passes over such names")
			}
		}
		if len(names) > 0 {
			out = append(out, archive.VarFilter{Vars: names, Chain: f.Chain})
		}
	}
	return out, nil
}

// withoutEffect lists the variables that -F names and that have no blocks of
// their own, so that their chain is not used.
func withoutEffect(t *atomicfile.File, n int64, given []archive.VarFilter) ([]string, error) {
	if t == nil || len(given) == 0 {
		return nil, nil
	}
	r, err := archive.New(t, n, nil)
	if err != nil {
		return nil, err
	}
	named := map[string]bool{}
	for _, f := range given {
		for _, name := range f.Vars {
			named[name] = true
		}
	}
	var out []string
	for _, v := range r.Vars() {
		if i := v.Info(); named[v.Name()] && !i.Blocked {
			out = append(out, fmt.Sprintf("-F has no effect on variable %s: %s", quoted(v.Name()), i.Why))
		}
	}
	return out, nil
}

// placeOf says what lies at a byte of an image.
func placeOf(h *cdf3.Header, off int64) string {
	if off < h.Len {
		return "the header"
	}
	for i := range h.Vars {
		v := &h.Vars[i]
		at := off - v.Begin
		if at < 0 {
			continue
		}
		rec := int64(0)
		if v.Record && h.RecSize > 0 {
			rec, at = at/h.RecSize, at%h.RecSize
		}
		if at < v.RecLen && (!v.Record || rec < h.NumRecs) {
			return "variable " + quoted(v.Name)
		}
	}
	return "padding"
}
