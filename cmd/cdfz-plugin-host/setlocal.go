//go:build plugins && linux && (amd64 || arm64)

package main

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/cdfz-format/cdfz/internal/hostproto"
)

// hdf5 is the libhdf5 that a library is linked to. Only set_local needs it: it gets a
// property list, a type and a dataspace of that libhdf5.
type hdf5 struct {
	fn     map[string]uintptr
	handle uintptr
}

// hdf5Functions are called to describe a block.
var hdf5Functions = []string{
	"H5open", "H5Zregister", "H5Pcreate", "H5Pset_chunk", "H5Pset_filter", "H5Pget_filter_by_id2", "H5Pclose", "H5Screate_simple", "H5Sclose",
}

func findHDF5(handle uintptr) (*hdf5, error) {
	h := &hdf5{handle: handle, fn: map[string]uintptr{}}
	for _, name := range hdf5Functions {
		p := symbol(handle, name)
		if p == 0 {
			return nil, fmt.Errorf("the library is not linked to libhdf5")
		}
		h.fn[name] = p
	}
	if h.call("H5open") < 0 {
		return nil, fmt.Errorf("H5open failed")
	}
	return h, nil
}

// call returns a negative number for a failure, as libhdf5 does for identifiers. Its
// functions that return an int leave the upper half undefined.
func (h *hdf5) call(name string, args ...uintptr) int64 {
	r := call(h.fn[name], args...)
	switch name {
	case "H5Pcreate", "H5Screate_simple":
		return int64(r)
	}
	return int64(int32(r))
}

// global returns the value of a variable that holds an identifier.
func (h *hdf5) global(name string) (uintptr, error) {
	p := symbol(h.handle, name)
	if p == 0 {
		return 0, fmt.Errorf("libhdf5 has no %s", name)
	}
	return uintptr(*at[int64](p, 0)), nil
}

var errInapplicable = errors.New("can_apply: the filter does not apply to such blocks")

// setParams calls can_apply and set_local for a block.
func (l *library) setParams(r *hostproto.Request) *hostproto.Reply {
	switch {
	case l.class == nil:
		return refuse("library %d has no filter", r.Lib)
	case l.class.canApply == 0 && l.class.setLocal == 0:
		return &hostproto.Reply{Params: r.Params}
	case len(r.Block.Shape) == 0 || r.Block.Size == 0:
		return failed("set_local: expected blocks of numbers, found bytes")
	}
	if l.hdf5 == nil {
		h, err := findHDF5(l.handle)
		if err != nil {
			return failed("set_local: %v", err)
		}
		l.hdf5 = h
	}
	var a arena
	defer a.free()
	params, err := l.localParams(r, &a)
	if errors.Is(err, errInapplicable) {
		return &hostproto.Reply{Status: hostproto.Inapplicable, Text: err.Error()}
	}
	if err != nil {
		return failed("%v", err)
	}
	return &hostproto.Reply{Params: params}
}

func (l *library) localParams(r *hostproto.Request, a *arena) ([]uint32, error) {
	h := l.hdf5
	kind, err := h.dataType(r.Block)
	if err != nil {
		return nil, err
	}
	class, err := h.global("H5P_CLS_DATASET_CREATE_ID_g")
	if err != nil {
		return nil, err
	}
	rank := uintptr(len(r.Block.Shape))
	const room = 256 // more is an error of H5Pget_filter_by_id2
	shape, params := a.bytes(8*len(r.Block.Shape)), a.numbers(r.Params)
	flags, n, out := a.bytes(4), a.bytes(8), a.bytes(4*room)
	if shape == 0 || params == 0 || flags == 0 || n == 0 || out == 0 {
		return nil, fmt.Errorf("no memory")
	}
	for i, d := range r.Block.Shape {
		unsafe.Slice((*uint64)(pointer(shape)), rank)[i] = uint64(d)
	}
	if h.call("H5Zregister", l.class.pointer) < 0 {
		return nil, fmt.Errorf("H5Zregister failed")
	}
	list := h.call("H5Pcreate", class)
	if list < 0 {
		return nil, fmt.Errorf("H5Pcreate failed")
	}
	defer h.call("H5Pclose", uintptr(list))
	space := h.call("H5Screate_simple", rank, shape, 0)
	if space < 0 {
		return nil, fmt.Errorf("H5Screate_simple failed")
	}
	defer h.call("H5Sclose", uintptr(space))
	id := uintptr(l.class.id)
	if h.call("H5Pset_chunk", uintptr(list), rank, shape) < 0 {
		return nil, fmt.Errorf("H5Pset_chunk failed")
	}
	if h.call("H5Pset_filter", uintptr(list), id, 0, uintptr(len(r.Params)), params) < 0 {
		return nil, fmt.Errorf("H5Pset_filter failed")
	}
	if f := l.class.canApply; f != 0 {
		switch n := int32(call(f, uintptr(list), kind, uintptr(space))); {
		case n == 0:
			return nil, errInapplicable
		case n < 0:
			return nil, fmt.Errorf("can_apply failed")
		}
	}
	if f := l.class.setLocal; f != 0 && int32(call(f, uintptr(list), kind, uintptr(space))) < 0 {
		return nil, fmt.Errorf("set_local failed")
	}
	*at[uintptr](n, 0) = room
	if h.call("H5Pget_filter_by_id2", uintptr(list), id, flags, n, out, 0, 0, 0) < 0 {
		return nil, fmt.Errorf("H5Pget_filter_by_id2 failed")
	}
	count := *at[uintptr](n, 0)
	if count > room {
		return nil, fmt.Errorf("set_local: expected at most %d parameters, found %d", room, count)
	}
	return numbersAt(out, int(count)), nil
}

// dataType returns HDF5's type of the elements.
func (h *hdf5) dataType(b hostproto.Block) (uintptr, error) {
	order := "BE"
	if b.LittleEndian {
		order = "LE"
	}
	bits := 8 * b.Size
	switch b.Kind {
	case hostproto.Int:
		return h.global(fmt.Sprintf("H5T_STD_I%d%s_g", bits, order))
	case hostproto.Uint:
		return h.global(fmt.Sprintf("H5T_STD_U%d%s_g", bits, order))
	case hostproto.Float:
		return h.global(fmt.Sprintf("H5T_IEEE_F%d%s_g", bits, order))
	case hostproto.Text:
		return h.global("H5T_C_S1_g")
	}
	return 0, fmt.Errorf("set_local: expected elements that are numbers or text")
}
