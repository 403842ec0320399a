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

// Limits are what a run, or the work on one of its files, may take.
type Limits struct {
	Workers int   // -j; 0 for all processors
	Memory  int64 // --memory, a limit for the whole program in bytes; 0 for none
}

// BlockMemory is the memory for blocks under --memory, for the options of package archive. 0
// means their default.
func (l Limits) BlockMemory() int64 {
	if l.Memory == 0 {
		return 0
	}
	return (l.Memory - ProgramMemory) / 2
}

// OpenOptions returns the options that the flags request.
func (l Limits) OpenOptions() *archive.OpenOptions {
	o := &archive.OpenOptions{Workers: l.Workers}
	if l.Memory > 0 {
		o.Workers = l.Coders()
		o.Cache = min(openCache, l.BlockMemory()/2)
	}
	return o
}

// Coders is the number of goroutines that encode or decode: -j or all processors, bounded by --memory.
func (l Limits) Coders() int {
	n := l.Workers
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
	}
	if l.Memory == 0 {
		return n
	}
	return int(min(int64(n), max(1, (l.Memory-ProgramMemory)/(2*workerMemory))))
}
