//go:build plugins && linux

package main

// callPointer calls a function that should return a pointer. isStruct reports that it returns a struct of 17 to 64
// bytes instead. The caller of such a function passes memory for the struct as a hidden first argument, which other
// functions ignore.
func callPointer(fn uintptr) (p uintptr, isStruct bool) {
	var a arena
	defer a.free()
	room := a.bytes(64)
	p = call(fn, room)
	return p, p != 0 && p == room
}
