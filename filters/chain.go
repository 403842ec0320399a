package filters

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Filter is one stage of a chain as HDF5 stores it.
type Filter struct {
	// ID is HDF5's filter id, at most [MaxID].
	ID uint32
	// Params are HDF5's client data values (cd_values).
	Params []uint32
	// Optional is HDF5's H5Z_FLAG_OPTIONAL. The encoder skips the filter for blocks
	// where it fails, or where it compresses and does not shorten its input.
	Optional bool
	// Name is informational and may be empty.
	Name string
}

// String returns the filter in the syntax of package spec: "32015,3", or "32015,3?" if it
// is optional.
func (f Filter) String() string {
	var b strings.Builder
	b.WriteString(strconv.FormatUint(uint64(f.ID), 10))
	for _, p := range f.Params {
		b.WriteByte(',')
		b.WriteString(strconv.FormatUint(uint64(p), 10))
	}
	if f.Optional {
		b.WriteByte('?')
	}
	return b.String()
}

// describe formats a filter for an error message: "32004 (lz4)".
func describe(f Filter) string {
	name := f.Name
	if name == "" {
		name = Name(f.ID)
	}
	if name == "" {
		return f.String()
	}
	return fmt.Sprintf("%s (%s)", f, name)
}

// Chain is the list of filters applied to a block, first to last when encoding. A nil
// or empty chain leaves blocks unchanged.
type Chain []Filter

// Add returns the chain with f at its end, as H5Pset_filter does. An id above [MaxID] is
// [ErrFilterID], and one filter too many is [ErrParam]. The filter need not be registered
// before the chain is used. c is not changed.
func (c Chain) Add(f Filter) (Chain, error) {
	if f.ID > MaxID {
		return nil, errorf(ErrFilterID, "filter id: expected at most %d, found %d", MaxID, f.ID)
	}
	if len(c) >= MaxFilters {
		return nil, errorf(ErrParam, "chain: expected at most %d filters, found %d", MaxFilters, len(c)+1)
	}
	f.Params = slices.Clone(f.Params)
	return append(slices.Clip(c), f), nil
}

// AddDeflate is H5Pset_deflate: it adds deflate as an optional filter, so that blocks that
// it does not shorten are stored without it. A level that is not from 0 to 9 is
// [ErrParam].
func (c Chain) AddDeflate(level int) (Chain, error) {
	if level < 0 || level > 9 {
		return nil, errorf(ErrParam, "deflate: expected a level from 0 to 9, found %d", level)
	}
	return c.Add(Filter{ID: Deflate, Params: []uint32{uint32(level)}, Optional: true})
}

// At returns filter n, counted from 0, as H5Pget_filter does. Its name is that in the
// chain, else that of [Name], else empty. A number out of range is [ErrNoFilter]. The
// number of filters (H5Pget_nfilters) is len(c).
func (c Chain) At(n int) (Filter, error) {
	if n < 0 || n >= len(c) {
		return Filter{}, errorf(ErrNoFilter, "filter %d of a chain of %d", n, len(c))
	}
	f := c[n]
	f.Params = slices.Clone(f.Params)
	if f.Name == "" {
		f.Name = Name(f.ID)
	}
	return f, nil
}

// IDs lists the ids of the filters, as nc_inq_var_filter_ids does.
func (c Chain) IDs() []uint32 {
	ids := make([]uint32, len(c))
	for i, f := range c {
		ids[i] = f.ID
	}
	return ids
}

// Find returns the first filter with the given id, as nc_inq_var_filter_info does. Its
// name is as in [Chain.At]. Without such a filter, the error is [ErrNoFilter].
func (c Chain) Find(id uint32) (Filter, error) {
	i := slices.IndexFunc(c, func(f Filter) bool { return f.ID == id })
	if i < 0 {
		return Filter{}, errorf(ErrNoFilter, "chain %q has no filter %d", c, id)
	}
	return c.At(i)
}

// String returns the chain in the syntax of package spec with unsigned decimal
// numbers: "2,4|32015,3". That syntax has no place for names.
func (c Chain) String() string {
	s := make([]string, len(c))
	for i, f := range c {
		s[i] = f.String()
	}
	return strings.Join(s, "|")
}

// Clone returns a copy that shares no memory with c.
func (c Chain) Clone() Chain {
	c = slices.Clone(c)
	for i := range c {
		c[i].Params = slices.Clone(c[i].Params)
	}
	return c
}

// Complete returns the chain for the blocks that b describes. It adds parameters that
// depend on the blocks, such as the element size of shuffle, and the names of plugins. Filters that are not
// registered are not changed, and neither are optional filters that do not apply to the
// blocks: [NewCoder] skips both. A required filter that does not apply is
// [ErrInapplicable]. Call it once per variable, before [NewCoder] and before the chain is stored.
func (c Chain) Complete(b Block) (Chain, error) {
	c = c.Clone()
	for i, f := range c {
		m := need(f.ID)
		if m == nil {
			continue
		}
		if m.Origin != "" && f.Name == "" {
			c[i].Name = m.Name
		}
		params, err := m.complete(f.Params, b)
		if f.Optional && errors.Is(err, ErrInapplicable) {
			continue
		}
		if err == nil {
			err = m.check(params)
		}
		if err != nil {
			return nil, err
		}
		c[i].Params = params
	}
	return c, nil
}

// Given returns the chain as a user would write it, without the parameters that
// [Chain.Complete] adds, for display.
func (c Chain) Given() Chain {
	c = c.Clone()
	for i, f := range c {
		if m := find(f.ID); m != nil && m.Given != nil && m.check(f.Params) == nil {
			c[i].Params = m.Given(f.Params)
		}
	}
	return c
}
