package fileio

import (
	"runtime"

	"github.com/cdfz-format/cdfz/archive"
)

// ProgramMemory is the part of --memory that the garbage collector does not know, in bytes: the program's
// code and what the system keeps for it.
const ProgramMemory = 58 << 20

// workerMemory is the memory of one that encodes, in bytes: blocks, tables and their garbage.
const workerMemory = 32 << 20

// openCache is the cache of decoded blocks of an open archive without --memory, in bytes.
const openCache = 32 << 20

// BlockMemory is the memory for blocks under --memory, for the options of package archive. 0
// means their default.
func (a *IO) BlockMemory() int64 {
	if a.Memory == 0 {
		return 0
	}
	return (a.Memory - ProgramMemory) / 2
}

// OpenOptions returns the options that the flags request.
func (a *IO) OpenOptions() *archive.OpenOptions {
	o := &archive.OpenOptions{Workers: a.Workers}
	if a.Memory > 0 {
		o.Workers = a.Coders()
		o.Cache = min(openCache, a.BlockMemory()/2)
	}
	return o
}

// Coders is the number of goroutines that encode or decode: -j or all processors, bounded by --memory.
func (a *IO) Coders() int {
	n := a.Workers
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
	}
	if a.Memory == 0 {
		return n
	}
	return int(min(int64(n), max(1, (a.Memory-ProgramMemory)/(2*workerMemory))))
}
