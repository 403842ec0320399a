//go:build !amd64 || purego

package slab

// useAVX2 is here for the tests and has no effect.
var useAVX2 = false

func loadFast(_, _ []byte, _ int64) bool { return false }
