// Peers runs cdfz and comparable programs over one file, in one run and in turns, and
// reports ratio, speed and memory.
//
//	go run ./bench/peers [flags] FILE
//
// Speeds are MB (10^6 bytes of the uncompressed file) per second of wall time, with
// FILE in the page cache. Results are medians of the runs. nccopy -d5 -s is the
// baseline.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/bench/internal/tools"
)

func main() {
	var o options
	flag.IntVar(&o.runs, "n", 3, "runs of each program")
	flag.BoolVar(&o.warm, "warm", false, "run each program once before, and do not count that")
	flag.StringVar(&o.cdfz, "cdfz", "", "the cdfz program (default: built from ./cmd/cdfz)")
	flag.StringVar(&o.tools, "tools", "cdfz,cdfz-fast,nccopy,gzip,zstd,zstd-T2", "which to run: "+strings.Join(toolNames(), ", "))
	flag.StringVar(&o.python, "python", "/usr/bin/python3", "a Python that has netCDF4 and zarr, for the tool zarr")
	flag.BoolVar(&o.sync, "sync", false, "write each program's output to disk and count the time, as cdfz always does")
	flag.BoolVar(&o.touch, "touch", false, "before each run write and remove a file of FILE's size in the folder, so that free memory has been used before")
	flag.StringVar(&o.dir, "dir", "", "folder for the programs' output (default: a temporary one)")
	flag.StringVar(&o.out, "out", "", "also write OUT.txt, OUT.csv and OUT.json")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: peers [flags] FILE")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 || o.runs < 1 {
		flag.Usage()
		os.Exit(2)
	}
	o.file = flag.Arg(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

type options struct {
	runs                                int
	sync, touch, warm                   bool
	file, cdfz, python, tools, dir, out string
}

func run(ctx context.Context, o *options) error {
	dir, err := os.MkdirTemp(o.dir, "peers-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.cdfz == "" {
		o.cdfz = filepath.Join(dir, "cdfz")
		build := exec.CommandContext(ctx, "go", "build", "-o", o.cdfz, "github.com/cdfz-format/cdfz/cmd/cdfz")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("building cdfz: %w", err)
		}
	}
	in, err := newInput(o.file)
	if err != nil {
		return err
	}
	script := filepath.Join(dir, "zarr_blosc.py")
	if err := os.WriteFile(script, tools.ZarrScript, 0o666); err != nil {
		return err
	}
	programs, err := chooseTools(o.tools, map[string]string{"CDFZ": o.cdfz, "KIND": in.kind, "PYTHON": o.python, "SCRIPT": script})
	if err != nil {
		return err
	}
	rep := &report{Machine: thisMachine(ctx, programs), File: in.name, Size: in.size, Runs: o.runs, Sync: o.sync, Touch: o.touch}
	all := make([][]sample, len(programs))
	first := 0
	if o.warm {
		first = -1
	}
	for n := first; n < o.runs; n++ {
		for i := range programs {
			if n&1 == 1 { // each second round in the opposite order
				i = len(programs) - 1 - i
			}
			t := programs[i]
			fmt.Fprintf(os.Stderr, "run %d of %d: %s\n", n+1, o.runs, t.name)
			s, err := measure(ctx, t, in, dir, o)
			if err != nil {
				return err
			}
			if n >= 0 {
				all[i] = append(all[i], s)
			}
		}
	}
	for i, t := range programs {
		rep.Rows = append(rep.Rows, newRow(t, in.size, all[i]))
	}
	rep.finish()
	if err := rep.writeText(os.Stdout); err != nil {
		return err
	}
	if o.out == "" {
		return nil
	}
	for ext, write := range map[string]func(io.Writer) error{".txt": rep.writeText, ".csv": rep.writeCSV, ".json": rep.writeJSON} {
		if err := tools.WriteFile(o.out+ext, write); err != nil {
			return err
		}
	}
	return nil
}

// thisMachine describes the machine, with the versions of the programs.
func thisMachine(ctx context.Context, programs []tool) tools.Machine {
	m := tools.NewMachine()
	for _, t := range programs {
		if len(t.version) == 0 {
			continue
		}
		if v := tools.Version(ctx, t.version...); v != "" && !slices.Contains(m.Versions, v) {
			m.Versions = append(m.Versions, v)
		}
	}
	return m
}
