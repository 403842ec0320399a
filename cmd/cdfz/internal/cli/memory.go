package cli

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
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

// minMemory is the least --memory: the program itself and a few blocks.
const minMemory = 96 << 20

// memoryFlag is --memory. It limits the memory of the program.
type memoryFlag struct{ SizeFlag }

// Set parses a value.
func (f *memoryFlag) Set(s string) error {
	if err := f.SizeFlag.Set(s); err != nil {
		return err
	}
	debug.SetMemoryLimit(*f.N - fileio.ProgramMemory)
	return nil
}

// MemoryFlag adds --memory.
func (r *Run) MemoryFlag(cmd *cobra.Command) {
	f := &memoryFlag{SizeFlag{N: &r.Limits.Memory, Min: minMemory, Max: 1 << 62}}
	cmd.Flags().Var(f, "memory", "limit the memory of the whole program, as in 256M")
	CompleteWords(cmd, "memory", "128M", "256M", "1G", "4G")
}
