//go:build plugins && linux && (amd64 || arm64)

package main

import (
	"bytes"

	"github.com/cdfz-format/cdfz/internal/hostproto"
)

// flagReverse is H5Z_FLAG_REVERSE: decode.
const flagReverse = 0x0100

// allocators are the functions for the buffers of blocks. Plugins may free a buffer and
// return another one. HDF5 itself uses H5allocate_memory (since 1.8.15), so that plugins
// may use either that or malloc. A plugin that does not need libhdf5 can only use malloc.
type allocators struct{ alloc, free uintptr }

func (a *allocators) find(handle uintptr) {
	a.alloc, a.free = symbol(handle, "H5allocate_memory"), symbol(handle, "H5free_memory")
	if a.alloc == 0 || a.free == 0 {
		a.alloc, a.free = libc.malloc, libc.free
	}
}

// filter encodes or decodes the block in the shared memory.
func (h *host) filter(l *library, r *hostproto.Request) *hostproto.Reply {
	if l.class == nil {
		return refuse("library %d has no filter", r.Lib)
	}
	mem, err := h.shared.first(max(r.Len, r.MaxLen))
	if err != nil {
		return refuse("%v", err)
	}
	var a arena
	defer a.free()
	c := filterCall{l: l, n: len(r.Params), params: a.numbers(r.Params), size: a.bytes(8), buf: a.bytes(8)}
	if c.params == 0 || c.size == 0 || c.buf == 0 {
		return &hostproto.Reply{Status: hostproto.NoMemory}
	}
	src := mem[:r.Len]
	out, reply := c.run(src, r.Decode)
	if reply != nil {
		return reply
	}
	defer func() { call(l.memory.free, *at[uintptr](c.buf, 0)) }()
	if uint64(len(out)) > r.MaxLen {
		return &hostproto.Reply{Status: hostproto.TooLong, Len: uint64(len(out))}
	}
	if r.Check {
		if reply := c.check(out, src); reply != nil {
			return reply
		}
	}
	copy(mem, out)
	return &hostproto.Reply{Len: uint64(len(out))}
}

// filterCall is a call of a filter function:
//
//	size_t filter(unsigned flags, size_t n, const unsigned params[], size_t nbytes, size_t *size, void **buf)
type filterCall struct {
	l      *library
	n      int
	params uintptr
	size   uintptr // *size_t
	buf    uintptr // *void *
}

// run calls the filter on a copy of src, since it may replace the buffer. The result is in
// the buffer that the caller frees.
func (c *filterCall) run(src []byte, decode bool) ([]byte, *hostproto.Reply) {
	p := call(c.l.memory.alloc, uintptr(max(len(src), 1)), 0)
	if p == 0 {
		return nil, &hostproto.Reply{Status: hostproto.NoMemory}
	}
	copy(bytesAt(p, len(src)), src)
	*at[uintptr](c.size, 0), *at[uintptr](c.buf, 0) = uintptr(max(len(src), 1)), p
	var flags uintptr
	if decode {
		flags = flagReverse
	}
	n := call(c.l.class.filter, flags, uintptr(c.n), c.params, uintptr(len(src)), c.size, c.buf)
	p = *at[uintptr](c.buf, 0)
	if n == 0 {
		call(c.l.memory.free, p)
		return nil, failed("the filter returned 0%s", c.l.errorStack())
	}
	// Some plugins do not update the size.
	if size := max(*at[uintptr](c.size, 0), call(libc.usable, p)); p == 0 || n > size {
		call(c.l.memory.free, p)
		return nil, failed("the filter returned %d bytes in a buffer of %d", n, size)
	}
	return bytesAt(p, int(n)), nil
}

// check decodes an encoded block and compares it with the original.
func (c *filterCall) check(encoded, src []byte) *hostproto.Reply {
	before := *at[uintptr](c.buf, 0)
	defer func() { *at[uintptr](c.buf, 0) = before }()
	out, reply := c.run(encoded, true)
	if reply != nil {
		reply.Text = "decoding what it encoded: " + reply.Text
		return reply
	}
	defer func() { call(c.l.memory.free, *at[uintptr](c.buf, 0)) }()
	if !bytes.Equal(out, src) {
		return &hostproto.Reply{Status: hostproto.Differs, Len: uint64(len(out))}
	}
	return nil
}
