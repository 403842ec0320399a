//go:build plugins && linux && (amd64 || arm64)

package main

import (
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"
)

// libc holds the functions of the C library that are used.
var libc struct {
	malloc, free, usable, signal, memstream, fclose uintptr
}

func loadLibc() error {
	handle, err := purego.Dlopen("libc.so.6", purego.RTLD_LAZY)
	if err != nil {
		return err
	}
	for name, f := range map[string]*uintptr{
		"malloc": &libc.malloc, "free": &libc.free, "malloc_usable_size": &libc.usable, "signal": &libc.signal,
		"open_memstream": &libc.memstream, "fclose": &libc.fclose,
	} {
		if *f, err = purego.Dlsym(handle, name); err != nil {
			return err
		}
	}
	return nil
}

// call calls a function of C. All arguments are integers or pointers to memory of C.
func call(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}

// symbol returns the address of a symbol of a library or of one that it needs, or 0.
func symbol(handle uintptr, name string) uintptr {
	p, err := purego.Dlsym(handle, name)
	if err != nil {
		return 0
	}
	return p
}

// pointer makes a pointer of an address of C's memory. The garbage collector does not
// move that, which go vet cannot know of a plain conversion.
func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

// at reads or writes a value in C's memory.
func at[T any](p, off uintptr) *T { return (*T)(unsafe.Add(pointer(p), off)) }

// bytesAt returns n bytes of C's memory.
func bytesAt(p uintptr, n int) []byte {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(pointer(p)), n)
}

// numbersAt copies n numbers of C's memory.
func numbersAt(p uintptr, n int) []uint32 {
	if n == 0 {
		return nil
	}
	return append([]uint32(nil), unsafe.Slice((*uint32)(pointer(p)), n)...)
}

// maxText is the length of the longest text that is taken from a library.
const maxText = 64 << 10

// textAt copies a text that ends with a zero byte.
func textAt(p uintptr) (string, error) {
	if p == 0 {
		return "", nil
	}
	for n := range maxText {
		if *at[byte](p, uintptr(n)) == 0 {
			return string(bytesAt(p, n)), nil
		}
	}
	return "", fmt.Errorf("a text of more than %d bytes", maxText)
}

// arena is memory of C for the arguments of a call.
type arena []uintptr

// bytes returns zeroed memory, at least 8 bytes, or 0.
func (a *arena) bytes(n int) uintptr {
	n = max(n, 8)
	p := call(libc.malloc, uintptr(n))
	if p == 0 {
		return 0
	}
	clear(bytesAt(p, n))
	*a = append(*a, p)
	return p
}

// numbers returns a copy of v, or 0.
func (a *arena) numbers(v []uint32) uintptr {
	p := a.bytes(4 * len(v))
	if p != 0 && len(v) > 0 {
		copy(unsafe.Slice((*uint32)(pointer(p)), len(v)), v)
	}
	return p
}

// text returns a copy of s with a zero byte, or 0.
func (a *arena) text(s string) uintptr {
	p := a.bytes(len(s) + 1)
	if p != 0 {
		copy(bytesAt(p, len(s)+1), s)
	}
	return p
}

func (a *arena) free() {
	for _, p := range *a {
		call(libc.free, p)
	}
}
