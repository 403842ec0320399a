//go:build linux && (amd64 || arm64)

package hdf5plugin

import (
	"os"

	"golang.org/x/sys/unix"
)

// shared is memory that this process and a host share. The host cannot make it shorter,
// which would crash this process.
type shared struct {
	file *os.File
	mem  []byte
}

func (s *shared) open() error {
	fd, err := unix.MemfdCreate("cdfz-blocks", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return err
	}
	s.file = os.NewFile(uintptr(fd), "memory")
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL); err != nil {
		s.file.Close()
		return err
	}
	return nil
}

// firstShared is the length of the memory at first.
const firstShared = 1 << 20

// grow makes the memory at least n bytes long.
func (s *shared) grow(n uint64) error {
	if n <= uint64(len(s.mem)) {
		return nil
	}
	size := max(uint64(len(s.mem)), firstShared)
	for size < n {
		size *= 2
	}
	if err := s.file.Truncate(int64(size)); err != nil {
		return err
	}
	if s.mem != nil {
		if err := unix.Munmap(s.mem); err != nil {
			return err
		}
		s.mem = nil
	}
	raw, err := s.file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		s.mem, failed = unix.Mmap(int(fd), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	})
	if failed != nil {
		return failed
	}
	return err
}

func (s *shared) free() {
	if s.mem != nil {
		_ = unix.Munmap(s.mem)
		s.mem = nil
	}
	s.file.Close()
}
