//go:build plugins && linux

package main

import "github.com/ebitengine/purego"

// callPointer calls a function that should return a pointer. isStruct reports that it returns a struct of 17 to 64
// bytes instead. The caller of such a function passes memory for the struct in register 8, which other functions
// ignore.
func callPointer(fn uintptr) (p uintptr, isStruct bool) {
	var f func() struct{ first, b, c, d, e, f, g, h uintptr }
	purego.RegisterFunc(&f, fn)
	if f().first != 0 {
		return 0, true
	}
	return call(fn), false
}
