//go:build plugins && linux && (amd64 || arm64)

package main

import (
	"fmt"
	"os"
	"strings"
)

// mapping is a range of the process's memory that can be read.
type mapping struct {
	lo, hi uintptr
	code   bool
}

// memory lists the mappings in increasing order. A pointer of a library is checked against it where the library may
// have another struct than the one that is expected: reading that could end the process.
type memory []mapping

func readMemory() (memory, error) {
	b, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, err
	}
	var m memory
	for line := range strings.Lines(string(b)) {
		var one mapping
		var rights string
		if _, err := fmt.Sscanf(line, "%x-%x %s", &one.lo, &one.hi, &rights); err != nil || len(rights) < 3 {
			return nil, fmt.Errorf("/proc/self/maps: malformed line %q", line)
		}
		if rights[0] == 'r' {
			one.code = rights[2] == 'x'
			m = append(m, one)
		}
	}
	return m, nil
}

// readable reports whether n bytes at p can be read.
func (m memory) readable(p, n uintptr) bool {
	for _, one := range m {
		if p >= one.lo && p < one.hi {
			if n <= one.hi-p {
				return true
			}
			p, n = one.hi, n-(one.hi-p)
		}
	}
	return false
}

// code reports whether p can be a function.
func (m memory) code(p uintptr) bool {
	for _, one := range m {
		if p >= one.lo && p < one.hi {
			return one.code
		}
	}
	return false
}
