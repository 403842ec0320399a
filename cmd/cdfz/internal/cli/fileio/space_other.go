//go:build !linux

package fileio

func space(string) (bytes, files int64, ok bool) { return 0, 0, false }

func clones(string) bool { return false }

func longestName(string) int { return 0 }

func writable(string) error { return nil }

// CanRemove returns an error if files cannot be removed from a folder. It is known on Linux only.
func CanRemove(string) error { return nil }
