// Package chains turns the options of a command line about filters (-F and its kin) into
// chains for the variables of a file.
package chains

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/discovery"
	"github.com/cdfz-format/cdfz/internal/spec"
)

// all is the name that stands for all variables.
const all = "*"

// Parse parses the options and checks all that does not depend on a file.
func (s *Specs) Parse() error {
	if len(s.specs) > 0 {
		discovery.Run() // they may have names of plugins
	}
	for _, text := range s.specs {
		if err := s.parseOne("-F", text, func() (spec.Vars, error) {
			return spec.ParseVars(text, &spec.Options{Compat: s.compat})
		}); err != nil {
			return err
		}
	}
	for _, text := range s.codecs {
		if err := s.parseOne("--codec", text, func() (spec.Vars, error) { return spec.ParseVarsCodecs(text, os.ReadFile) }); err != nil {
			return err
		}
	}
	if err := s.parseLossy(); err != nil {
		return err
	}
	return s.parseDeflate()
}

// parseLossy parses --lossy. Loss is for variables that are named, in -F too.
func (s *Specs) parseLossy() error {
	for _, text := range s.lossy {
		names, err := spec.ParseNames(text)
		if err != nil {
			return fmt.Errorf("--lossy %s: %w", text, err)
		}
		for _, name := range names {
			switch i := slices.IndexFunc(s.vars, func(f archive.VarFilter) bool { return f.Vars[0] == name }); {
			case i < 0:
				return terminal.Hinted(fmt.Errorf("--lossy: no -F names variable %s", display.Quoted(name)), "-F '%s,52727,10' keeps ten bits of the mantissa", name)
			case slices.Contains(s.rounded, name):
				return fmt.Errorf("--lossy: variable %s is named twice", display.Quoted(name))
			}
			s.rounded = append(s.rounded, name)
		}
	}
	return nil
}

// Lossy lists the variables of --lossy.
func (s *Specs) Lossy() []string { return s.rounded }

// Given reports whether there is an option about filters.
func (s *Specs) Given() bool { return len(s.vars) > 0 || s.noDefault }

// parseOne parses an option and adds its chain to that of its variables.
func (s *Specs) parseOne(option, text string, parse func() (spec.Vars, error)) error {
	v, err := parse()
	if err == nil {
		err = Check(v.Chain)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", option, text, err)
	}
	names := v.Names
	if v.All {
		names = []string{all}
	}
	for _, name := range names {
		if err := s.add(name, v); err != nil {
			return fmt.Errorf("%s %s: %w", option, text, err)
		}
	}
	return nil
}

// add sets the chain of a variable. Two options for a variable are an error. In compat mode
// they are combined as nccopy does it: "none" prevails, and otherwise the filters of the
// second option follow those of the first, except that one with the same id replaces it.
func (s *Specs) add(name string, v spec.Vars) error {
	i := slices.IndexFunc(s.vars, func(f archive.VarFilter) bool { return f.Vars[0] == name })
	if i < 0 {
		s.vars = append(s.vars, archive.VarFilter{Vars: []string{name}, Chain: s.ordered(v.Chain)})
		return nil
	}
	before := &s.vars[i]
	switch {
	case !s.compat && (len(before.Chain) == 0) != v.None:
		return fmt.Errorf("contradicts an earlier option for variable %s", display.Quoted(name))
	case !s.compat:
		return fmt.Errorf("a second option for variable %s", display.Quoted(name))
	case v.None:
		before.Chain = nil
	case len(before.Chain) > 0:
		before.Chain = s.ordered(append(before.Chain.Clone(), v.Chain...))
	}
	return nil
}

// ordered sorts a chain as netCDF-4 does in compat mode, in which a chain has a filter once.
func (s *Specs) ordered(c filters.Chain) filters.Chain {
	var out filters.Chain
	for _, f := range c {
		i := slices.IndexFunc(out, func(g filters.Filter) bool { return g.ID == f.ID })
		if s.compat && i >= 0 {
			out[i] = f
			continue
		}
		out = append(out, f)
	}
	if s.compat {
		slices.SortStableFunc(out, func(a, b filters.Filter) int { return nc4Rank(a.ID) - nc4Rank(b.ID) })
	}
	return out
}

// nc4Rank is the place of a filter in netCDF-4 files that netcdf-c writes:
// fletcher32 first, then shuffle, then all others in the order of their definition.
func nc4Rank(id uint32) int {
	switch id {
	case filters.Fletcher32:
		return 0
	case filters.Shuffle:
		return 1
	}
	return 2
}

// parseDeflate turns -d and -s into a chain of all variables.
func (s *Specs) parseDeflate() error {
	switch {
	case s.deflate < 0 && s.shuffle:
		return terminal.Hinted(errors.New("-s: expected -d too"), "-F '*,2' shuffles without compression")
	case s.deflate < 0:
		return nil
	case slices.ContainsFunc(s.vars, func(f archive.VarFilter) bool { return f.Vars[0] == all }):
		return fmt.Errorf("-d %d: contradicts an earlier option for all variables", s.deflate)
	}
	var c filters.Chain
	if s.deflate > 0 {
		if s.shuffle {
			c = append(c, filters.Filter{ID: filters.Shuffle})
		}
		c = append(c, filters.Filter{ID: filters.Deflate, Params: []uint32{uint32(s.deflate)}})
	}
	if err := Check(c); err != nil {
		return fmt.Errorf("-d %d: %w", s.deflate, err)
	}
	s.vars = append(s.vars, archive.VarFilter{Vars: []string{all}, Chain: c})
	return nil
}

// Check rejects wrong parameters and unknown filters, unless these are optional.
// Parameters that depend on a variable are checked for integers of 8 bytes, which allow the most
// bits, and for floats if the chain is not for integers.
func Check(c filters.Chain) error {
	if len(c) > 0 {
		discovery.Run() // plugins may have codecs for built-in filters
	}
	var ours filters.Chain // plugins may need the types of the variables
	for _, f := range c {
		m, ok := filters.Lookup(f.ID)
		if !ok && !f.Optional {
			return &filters.UnknownFilterError{ID: f.ID, Params: f.Params, Name: filters.Name(f.ID)}
		}
		if ok && m.Origin == "" {
			f.Optional = false // or wrong parameters would only mean that no block has the filter
			ours = append(ours, f)
		}
	}
	var first error
	for _, kind := range []filters.Kind{filters.Int, filters.Float} {
		full, err := ours.Complete(filters.Block{Len: 8192, Kind: kind, Size: 8, Shape: []int{1024}})
		if err == nil {
			_, err = filters.NewCoder(full)
		}
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// Warnings lists the optional filters that this program lacks.
func (s *Specs) Warnings() []string {
	var out []string
	for _, v := range s.vars {
		for _, f := range v.Chain {
			if _, ok := filters.Lookup(f.ID); ok {
				continue
			}
			text := fmt.Sprintf("filter %d is optional and unknown: no block has it", f.ID)
			if name := filters.Name(f.ID); name != "" {
				text = strings.Replace(text, " is", " ("+name+") is", 1)
			}
			if !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return out
}
