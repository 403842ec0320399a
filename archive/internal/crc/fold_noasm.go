//go:build !amd64 || purego

package crc

// useFold is here for the tests and has no effect.
var useFold = false

func folded([]byte) (sum uint32, done int) { return 0, 0 }
