//go:build plugins && linux && (amd64 || arm64)

package main

import (
	"fmt"

	"github.com/cdfz-format/cdfz/internal/hostproto"
)

// codec is netcdf-c's NCZ_codec_t (netcdf_filter_build.h). NCZ_modify_parameters needs an
// open netCDF file, and is not called.
type codec struct {
	toHDF5, fromHDF5 uintptr
	initialize       uintptr
}

// From netcdf_filter_build.h: part of the interface of plugins.
const (
	codecVersion = 1 // NCZ_CODEC_CLASS_VER
	codecHDF5    = 1 // NCZ_CODEC_HDF5
	maxCodecs    = 1024
	maxParams    = 65535 // HDF5 stores their number in two bytes
)

// loadCodecs finds the codecs of netcdf-c: the library's own one, and those that it has for
// filters without a codec. It returns the reason if one of them is not usable.
func (l *library) loadCodecs(found *hostproto.Library) (whyNot string) {
	get, all := symbol(l.handle, "NCZ_get_codec_info"), symbol(l.handle, "NCZ_codec_info_defaults")
	if get == 0 && all == 0 {
		return ""
	}
	var own, list uintptr
	isStruct := false
	if get != 0 {
		own, isStruct = callPointer(get)
	}
	if all != 0 {
		list = call(all)
	}
	mem, err := readMemory() // after the calls, which may map more
	if err != nil {
		return err.Error()
	}
	switch {
	case isStruct:
		whyNot = "NCZ_get_codec_info returns a struct" + proposed
	case get != 0 && own == 0:
		whyNot = "NCZ_get_codec_info returned NULL"
	case get != 0:
		whyNot = l.addCodec(own, mem, false, found)
	}
	if all == 0 {
		return whyNot
	}
	if list == 0 {
		return "NCZ_codec_info_defaults returned NULL"
	}
	for i := range uintptr(maxCodecs) {
		if !mem.readable(list+8*i, 8) {
			return "NCZ_codec_info_defaults: a list without NULL at its end"
		}
		p := *at[uintptr](list, 8*i)
		if p == 0 {
			break
		}
		if why := l.addCodec(p, mem, true, found); why != "" {
			whyNot = why
		}
	}
	return whyNot
}

// proposed ends the message about a codec as netcdf-c's proposal of 2021 has it. That returns the struct itself, which
// has six members. netcdf-c never read it.
const proposed = ", as netcdf-c's proposal of 2021 has it: expected a pointer to NCZ_codec_t of netcdf_filter_build.h, with nine members"

// addCodec adds the codec at p, or returns the reason why it cannot be used.
func (l *library) addCodec(p uintptr, mem memory, byDefault bool, found *hostproto.Library) (whyNot string) {
	if !mem.readable(p, 24) {
		return "NCZ_codec_t: the pointer is not one to memory"
	}
	if v, sort := *at[int32](p, 0), *at[int32](p, 4); v != codecVersion || sort != codecHDF5 {
		return fmt.Sprintf("NCZ_codec_t: expected version %d and sort %d, found %d and %d", codecVersion, codecHDF5, v, sort)
	}
	name := *at[uintptr](p, 8)
	if name != 0 && !mem.readable(name, 1) {
		return "id of the codec: the pointer is not one to memory"
	}
	id, err := textAt(name)
	if err == nil && id == "" {
		err = fmt.Errorf("empty")
	}
	if err != nil {
		return "id of the codec: " + err.Error()
	}
	filter := *at[uint32](p, 16)
	member := func(off uintptr) uintptr {
		if !mem.readable(p+off, 8) {
			return 0
		}
		return *at[uintptr](p, off)
	}
	c := codec{initialize: member(24), toHDF5: member(40), fromHDF5: member(48)}
	switch first, second := member(24), member(32); {
	case mem.code(c.toHDF5) && mem.code(c.fromHDF5) && (c.initialize == 0 || mem.code(c.initialize)):
	case mem.code(first) && mem.code(second) && !mem.code(c.toHDF5) && !mem.code(c.fromHDF5):
		return fmt.Sprintf("codec %s for filter %d: a struct of six members%s", id, filter, proposed)
	default:
		for _, f := range []struct {
			name string
			at   uintptr
			must bool
		}{{"NCZ_codec_to_hdf5", c.toHDF5, true}, {"NCZ_hdf5_to_codec", c.fromHDF5, true}, {"NCZ_codec_initialize", c.initialize, false}} {
			switch {
			case f.at == 0 && f.must:
				return fmt.Sprintf("codec %s for filter %d: %s is NULL", id, filter, f.name)
			case f.at != 0 && !mem.code(f.at):
				return fmt.Sprintf("codec %s for filter %d: %s is not a function", id, filter, f.name)
			}
		}
	}
	l.codecs = append(l.codecs, c)
	found.Codecs = append(found.Codecs, hostproto.CodecClass{ID: id, Filter: filter, Modify: member(56) != 0, Default: byDefault})
	return ""
}

// codecOf returns the codec of a request after its NCZ_codec_initialize.
func (l *library) codecOf(r *hostproto.Request) (*codec, bool) {
	if uint64(r.Codec) >= uint64(len(l.codecs)) {
		return nil, false
	}
	c := &l.codecs[r.Codec]
	if c.initialize != 0 {
		call(c.initialize)
		c.initialize = 0
	}
	return c, true
}

// toHDF5 calls NCZ_codec_to_hdf5(const char *codec, size_t *n, unsigned **params).
func (l *library) toHDF5(r *hostproto.Request) *hostproto.Reply {
	c, ok := l.codecOf(r)
	if !ok {
		return refuse("codec %d of %d", r.Codec, len(l.codecs))
	}
	var a arena
	defer a.free()
	text, n, params := a.text(r.Text), a.bytes(8), a.bytes(8)
	if text == 0 || n == 0 || params == 0 {
		return &hostproto.Reply{Status: hostproto.NoMemory}
	}
	if status := int32(call(c.toHDF5, text, n, params)); status != 0 {
		return failed("NCZ_codec_to_hdf5 returned %d", status)
	}
	p, count := *at[uintptr](params, 0), *at[uintptr](n, 0)
	if count > maxParams || p == 0 && count > 0 {
		return failed("NCZ_codec_to_hdf5: expected at most %d parameters, found %d", maxParams, count)
	}
	reply := &hostproto.Reply{Params: numbersAt(p, int(count))}
	call(libc.free, p)
	return reply
}

// fromHDF5 calls NCZ_hdf5_to_codec(size_t n, const unsigned *params, char **codec).
func (l *library) fromHDF5(r *hostproto.Request) *hostproto.Reply {
	c, ok := l.codecOf(r)
	if !ok {
		return refuse("codec %d of %d", r.Codec, len(l.codecs))
	}
	var a arena
	defer a.free()
	params, out := a.numbers(r.Params), a.bytes(8)
	if params == 0 || out == 0 {
		return &hostproto.Reply{Status: hostproto.NoMemory}
	}
	if status := int32(call(c.fromHDF5, uintptr(len(r.Params)), params, out)); status != 0 {
		return failed("NCZ_hdf5_to_codec returned %d", status)
	}
	p := *at[uintptr](out, 0)
	text, err := textAt(p)
	if err == nil && p == 0 {
		err = fmt.Errorf("no text")
	}
	if err != nil {
		return failed("NCZ_hdf5_to_codec: %v", err)
	}
	call(libc.free, p)
	return &hostproto.Reply{Text: text}
}
