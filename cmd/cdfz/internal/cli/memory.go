package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/spf13/cobra"
)

// gcPercent keeps the heap close to the live data. Buffers of blocks are reused, so
// frequent collections cost little. Measured on files of 100 MB.
const gcPercent = 30

const (
	// firstPercent is before the first collection, which short commands never reach: it starts
	// when the heap has 16 MiB instead of 4.
	firstPercent = 400
	// garbage is the least number of bytes that are allocated between two collections. A few
	// live data would otherwise be searched again and again.
	garbage = 12 << 20
)

// TuneGC sets the garbage collector unless the environment does.
func TuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(firstPercent)
		tuneAfter(firstPercent)
	}
}

// tuneAfter sets the percentage for the live data after each collection. It is now percent.
func tuneAfter(percent int) {
	runtime.AddCleanup(new([64]byte), func(int) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		next := percentFor(live[0].Value.Uint64())
		if next != percent {
			debug.SetGCPercent(next)
		}
		tuneAfter(next)
	}, 0)
}

// percentFor returns the percentage for a number of bytes of live data.
func percentFor(live uint64) int {
	return max(gcPercent, min(firstPercent, int(100*garbage/max(live, 1))))
}

const (
	// minMemory is the least --memory: the program itself and a few blocks.
	minMemory = 96 << 20
	// programMemory is the part that the garbage collector does not know: the program's code
	// and what the system keeps for it.
	programMemory = 58 << 20
	// workerMemory is the memory of one that encodes: blocks, tables and their garbage.
	workerMemory = 32 << 20
)

// memoryFlag is --memory. It limits the memory of the program.
type memoryFlag struct{ SizeFlag }

// Set parses a value.
func (f *memoryFlag) Set(s string) error {
	if err := f.SizeFlag.Set(s); err != nil {
		return err
	}
	debug.SetMemoryLimit(*f.N - programMemory)
	return nil
}

// MemoryFlag adds --memory.
func (a *App) MemoryFlag(cmd *cobra.Command) {
	f := &memoryFlag{SizeFlag{N: &a.Memory, Min: minMemory, Max: 1 << 62}}
	cmd.Flags().Var(f, "memory", "limit of the memory of the whole program, as in 256M (default: none)")
	CompleteWords(cmd, "memory", "128M", "256M", "1G", "4G")
}

// BlockMemory is the memory for blocks under --memory, for the options of package archive. 0
// means their default.
func (a *App) BlockMemory() int64 {
	if a.Memory == 0 {
		return 0
	}
	return (a.Memory - programMemory) / 2
}

// workersIn bounds the number of workers by --memory.
func (a *App) workersIn(workers int) int {
	if a.Memory == 0 {
		return workers
	}
	return int(min(int64(workers), max(1, (a.Memory-programMemory)/(2*workerMemory))))
}
