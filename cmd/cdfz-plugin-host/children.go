//go:build plugins && linux && (amd64 || arm64)

package main

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refuseChildren makes the kernel refuse new processes from now on, so that none outlives this
// one. Threads are allowed: Go and some plugins start them.
func refuseChildren() error {
	const (
		number, arch, flags = 0, 4, 16 // offsets in struct seccomp_data: of the call, the processor, and clone's flags
		load                = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal               = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		atLeast             = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		anyBit              = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		result              = unix.BPF_RET | unix.BPF_K
		otherABI            = 1 << 30 // x32's calls
	)
	// fork and vfork exist on amd64 only.
	audit, fork, vfork := uint32(unix.AUDIT_ARCH_X86_64), uint32(57), uint32(58)
	if runtime.GOARCH == "arm64" {
		audit, fork, vfork = unix.AUDIT_ARCH_AARCH64, unix.SYS_CLONE3, unix.SYS_CLONE3
	}
	program := []unix.SockFilter{
		{Code: load, K: arch},
		{Code: equal, K: audit, Jf: 8},
		{Code: load, K: number},
		{Code: atLeast, K: otherABI, Jt: 6},
		{Code: equal, K: unix.SYS_CLONE3, Jt: 6}, // its flags are in memory; without it, libc calls clone
		{Code: equal, K: fork, Jt: 4},
		{Code: equal, K: vfork, Jt: 3},
		{Code: equal, K: unix.SYS_CLONE, Jf: 4},
		{Code: load, K: flags},
		{Code: anyBit, K: unix.CLONE_THREAD, Jt: 2},
		{Code: result, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: result, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		{Code: result, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	p := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&p)))
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	return nil
}
