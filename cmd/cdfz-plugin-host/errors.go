//go:build plugins && linux && (amd64 || arm64)

package main

import (
	"regexp"
	"strings"
)

// stackLine matches the lines of HDF5's error stack that name a function and an error.
var stackLine = regexp.MustCompile(`(?m)^ +#\d+: .* in (\w+)\(\): (.*)$`)

// errorStack returns and clears the errors that a library has left in the libhdf5 that it
// is linked to (H5Epush), as text for the end of a message.
func (l *library) errorStack() string {
	printStack, clearStack := symbol(l.handle, "H5Eprint2"), symbol(l.handle, "H5Eclear2")
	if printStack == 0 || clearStack == 0 {
		return ""
	}
	var a arena
	defer a.free()
	buf, size := a.bytes(8), a.bytes(8)
	if buf == 0 || size == 0 {
		return ""
	}
	f := call(libc.memstream, buf, size)
	if f == 0 {
		return ""
	}
	call(printStack, 0, f)
	call(libc.fclose, f)
	call(clearStack, 0)
	p := *at[uintptr](buf, 0)
	text, err := textAt(p)
	call(libc.free, p)
	if err != nil {
		return ""
	}
	var out []string
	for _, m := range stackLine.FindAllStringSubmatch(text, 4) {
		out = append(out, m[1]+": "+m[2])
	}
	if len(out) == 0 {
		return ""
	}
	return " (" + strings.Join(out, "; ") + ")"
}
