//go:build !linux

// Package nstest mounts file systems for tests. On other systems it is empty.
package nstest
