//go:build !linux

package xattr

import (
	"errors"
	"os"
)

// Of returns nothing.
func Of(*os.File) (all map[string][]byte, left []string) { return nil, nil }

// OfLink returns nothing.
func OfLink(*os.File, string) (all map[string][]byte, left []string) { return nil, nil }

// SetLink is Set.
func SetLink(_ *os.File, _ string, all map[string][]byte) (failed map[string]error) {
	return Set(nil, all)
}

// AddUsers does nothing.
func AddUsers(*os.File, map[string][]byte) {}

// Set sets nothing. failed has all that can be kept elsewhere.
func Set(_ *os.File, all map[string][]byte) (failed map[string]error) {
	for name := range all {
		if failed == nil {
			failed = map[string]error{}
		}
		if kept(name) {
			failed[name] = errors.ErrUnsupported
		}
	}
	return failed
}
