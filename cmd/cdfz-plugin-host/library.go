//go:build plugins && linux && (amd64 || arm64)

package main

import (
	"fmt"

	"github.com/ebitengine/purego"

	"github.com/cdfz-format/cdfz/internal/hostproto"
)

// library is a shared library that was loaded.
type library struct {
	handle uintptr
	class  *class     // nil if it has no filter
	codecs []codec    // of netcdf-c
	hdf5   *hdf5      // of the libhdf5 that the library needs, if any; see setParams
	memory allocators // of filters
}

// class is the part of H5Z_class2_t that is called.
type class struct {
	id                         uint32
	canApply, setLocal, filter uintptr
	pointer                    uintptr
}

// From H5PLextern.h and H5Zpublic.h: part of the interface of plugins.
const (
	typeFilter   = 0 // H5PL_TYPE_FILTER
	classVersion = 1 // H5Z_CLASS_T_VERS
	firstID      = 256
	maxID        = 65535
)

// load loads a library and finds out its kind, as HDF5 (H5PL_load) and netcdf-c
// (NCZ_load_plugin) do.
func load(path string) (*library, hostproto.Library) {
	l := &library{}
	handle, err := purego.Dlopen(path, purego.RTLD_LAZY|purego.RTLD_LOCAL)
	if err != nil {
		return l, hostproto.Library{Ignored: err.Error()}
	}
	l.handle = handle
	var found hostproto.Library
	whyNot := l.loadFilter(&found)
	whyNoCodec := l.loadCodecs(&found)
	switch {
	case found.Filter == nil && len(found.Codecs) == 0:
		found.Ignored = whyNot
		if whyNoCodec != "" {
			found.Ignored += ", and " + whyNoCodec
		}
		_ = purego.Dlclose(handle) // a library that stays does no harm
	case found.Filter == nil && !isMissing(whyNot):
		found.Note = whyNot
	case whyNoCodec != "":
		found.Note = whyNoCodec
	}
	return l, found
}

const missing = "no H5PLget_plugin_type"

func isMissing(why string) bool { return why == missing }

// loadFilter verifies the functions of HDF5. It returns the reason if there is no filter.
func (l *library) loadFilter(found *hostproto.Library) (whyNot string) {
	kind, info := symbol(l.handle, "H5PLget_plugin_type"), symbol(l.handle, "H5PLget_plugin_info")
	switch {
	case kind == 0 && symbol(l.handle, "H5Z_get_plugin_info") != 0:
		return missing + ", but H5Z_get_plugin_info, its name in netcdf-c's proposal of 2021"
	case kind == 0:
		return missing
	case info == 0:
		return "no H5PLget_plugin_info"
	}
	if t := int32(call(kind)); t != typeFilter {
		return fmt.Sprintf("H5PLget_plugin_type: expected %d for a filter, found %d", typeFilter, t)
	}
	p := call(info)
	if p == 0 {
		return "H5PLget_plugin_info returned NULL"
	}
	if v := *at[int32](p, 0); v != classVersion {
		return fmt.Sprintf("H5Z_class2_t: expected version %d, found %d", classVersion, v)
	}
	id := *at[int32](p, 4)
	if id < firstID || id > maxID {
		return fmt.Sprintf("filter id: expected %d to %d, found %d", firstID, maxID, id)
	}
	name, err := textAt(*at[uintptr](p, 16))
	if err != nil {
		return "name of the filter: " + err.Error()
	}
	c := &class{id: uint32(id), canApply: *at[uintptr](p, 24), setLocal: *at[uintptr](p, 32), filter: *at[uintptr](p, 40), pointer: p}
	if c.filter == 0 {
		return "H5Z_class2_t has no filter function"
	}
	l.class = c
	l.memory.find(l.handle)
	found.Filter = &hostproto.FilterClass{
		ID: c.id, Name: name, Encodes: *at[uint32](p, 8) != 0, Decodes: *at[uint32](p, 12) != 0, CanApply: c.canApply != 0, SetLocal: c.setLocal != 0,
	}
	return ""
}
