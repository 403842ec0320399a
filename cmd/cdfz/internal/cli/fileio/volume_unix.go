//go:build unix

package fileio

import "syscall"

// Sys returns the owner of the member. It has no number of a device and of a file.
func (i memberInfo) Sys() any {
	return &syscall.Stat_t{Uid: uint32(i.e.UID), Gid: uint32(i.e.GID)}
}
