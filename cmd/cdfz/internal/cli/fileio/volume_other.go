//go:build !unix

package fileio

// Sys returns nothing: the system has other owners.
func (i memberInfo) Sys() any { return nil }
