//go:build plugins && linux && (amd64 || arm64)

package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// shared is the memory shared with cdfz, which makes it and only ever extends it.
type shared struct {
	fd  int
	mem []byte
}

// first returns the first n bytes.
func (s *shared) first(n uint64) ([]byte, error) {
	if n > uint64(len(s.mem)) {
		if err := s.remap(); err != nil {
			return nil, err
		}
	}
	if n > uint64(len(s.mem)) {
		return nil, fmt.Errorf("expected at most %d bytes of shared memory, found %d", len(s.mem), n)
	}
	return s.mem[:n], nil
}

func (s *shared) remap() error {
	var st unix.Stat_t
	if err := unix.Fstat(s.fd, &st); err != nil {
		return err
	}
	if s.mem != nil {
		if err := unix.Munmap(s.mem); err != nil {
			return err
		}
		s.mem = nil
	}
	mem, err := unix.Mmap(s.fd, 0, int(st.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	s.mem = mem
	return err
}
