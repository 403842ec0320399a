package hdf5plugin

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/internal/hostproto"
)

// Library is a file that could be a plugin.
type Library struct {
	Path string
	// Ignored is the reason why it is not a plugin. The other fields are empty then.
	Ignored string
	// Filter is HDF5's half, or nil.
	Filter *Filter
	// Codecs are netcdf-c's half: the library's own codec (NCZ_get_codec_info), and any
	// number of default ones (NCZ_codec_info_defaults).
	Codecs []Codec
	// Note states which half is there but unusable, and why.
	Note string
}

// Filter is the description of a filter in its library (H5Z_class2_t).
type Filter struct {
	ID       uint32
	Name     string // HDF5's comment, which may be empty
	Encodes  bool   // encoder_present
	Decodes  bool   // decoder_present
	CanApply bool
	SetLocal bool
}

// Codec is the description of a codec in its library (NCZ_codec_t).
type Codec struct {
	ID      string
	Filter  uint32 // id of the filter that it is for
	Modify  bool   // whether there is NCZ_modify_parameters, which is never called
	Default bool   // only for a filter that has no codec
}

func newLibrary(path string, l hostproto.Library) Library {
	out := Library{Path: path, Ignored: l.Ignored, Note: l.Note}
	if f := l.Filter; f != nil {
		out.Filter = &Filter{f.ID, nameOf(f.Name), f.Encodes, f.Decodes, f.CanApply, f.SetLocal}
	}
	for _, c := range l.Codecs {
		out.Codecs = append(out.Codecs, Codec{c.ID, c.Filter, c.Modify, c.Default})
	}
	return out
}

// maxName is the length of the longest name that archives hold (docs/FORMAT.md, "Limits").
const maxName = 255

// nameOf returns the name of a filter as archives can hold it: HDF5 takes any bytes.
func nameOf(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	for len(name) > maxName {
		_, n := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-n]
	}
	return name
}

// Pair is a filter of a library with the codec for its id, or one of them alone.
type Pair struct {
	ID     uint32
	Filter *Filter // nil: there is only a codec
	Path   string  // of the filter's library
	Codec  *Codec  // nil: there is only a filter
	// CodecPath is the codec's library, which may be another one.
	CodecPath string

	codecIndex uint32 // in its library
}

// Action is the way in which a pair can be used (netcdf-c's table).
type Action string

// The actions.
const (
	Ignored  Action = "ignored" // a codec without a filter
	HDF5Only Action = "filter"  // a filter without a codec: not in Zarr views
	Usable   Action = "filter and codec"
)

// Action returns how the pair can be used.
func (p *Pair) Action() Action {
	switch {
	case p.Filter == nil:
		return Ignored
	case p.Codec == nil:
		return HDF5Only
	}
	return Usable
}

// pair combines the halves by their ids. The first library of the search counts, and a
// library's own codec before default ones.
func pair(libraries []Library) []Pair {
	byID := map[uint32]*Pair{}
	of := func(id uint32) *Pair {
		if byID[id] == nil {
			byID[id] = &Pair{ID: id}
		}
		return byID[id]
	}
	for i := range libraries {
		if l := &libraries[i]; l.Filter != nil {
			if p := of(l.Filter.ID); p.Filter == nil {
				p.Filter, p.Path = l.Filter, l.Path
			}
		}
	}
	for _, defaults := range []bool{false, true} {
		for i := range libraries {
			l := &libraries[i]
			for j := range l.Codecs {
				c := &l.Codecs[j]
				if c.Default != defaults {
					continue
				}
				if p := of(c.Filter); p.Codec == nil {
					p.Codec, p.CodecPath, p.codecIndex = c, l.Path, uint32(j)
				}
			}
		}
	}
	out := make([]Pair, 0, len(byID))
	for _, p := range byID {
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b Pair) int { return cmp.Compare(a.ID, b.ID) })
	return out
}
