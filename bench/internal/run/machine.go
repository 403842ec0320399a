package run

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// ZarrScript converts between classic files and zarr, which has no program for that:
// python zarr_blosc.py compress|restore IN OUT.
//
//go:embed zarr_blosc.py
var ZarrScript []byte

// Machine describes where and when results were measured. It contains no host names or
// paths.
type Machine struct {
	Date, OS, CPU string
	Cores         int
	Memory        string
	Load          string // averages of 1, 5 and 15 minutes when the run began
	Versions      []string
}

// NewMachine describes this machine. The only version in it is that of Go.
func NewMachine() Machine {
	m := Machine{
		Date:     time.Now().UTC().Format(time.DateOnly),
		OS:       strings.TrimSpace(runtime.GOOS + "/" + runtime.GOARCH + " " + firstField("/etc/os-release", "PRETTY_NAME=")),
		CPU:      firstField("/proc/cpuinfo", "model name"),
		Cores:    runtime.NumCPU(),
		Versions: []string{runtime.Version()},
	}
	if family := firstField("/proc/cpuinfo", "cpu family"); family != "" {
		m.CPU += ", family " + family + " model " + firstField("/proc/cpuinfo", "model\t")
	}
	if f := strings.Fields(firstField("/proc/meminfo", "MemTotal")); len(f) > 0 {
		m.Memory = f[0] + " kB"
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load = strings.Join(strings.Fields(string(b))[:3], " ")
	}
	return m
}

// String formats the machine in one line, without versions.
func (m *Machine) String() string {
	return fmt.Sprintf("%s; %d cores: %s; %s; %s; load %s", m.Date, m.Cores, m.CPU, m.Memory, m.OS, m.Load)
}

// AddVersion adds the version of a program, unless it is unknown or known already.
func (m *Machine) AddVersion(v string) {
	if v != "" && !slices.Contains(m.Versions, v) {
		m.Versions = append(m.Versions, v)
	}
}

// Version returns the first line that a command prints, or the version of nccopy, which
// has no option for it. It is empty if the command fails.
func Version(ctx context.Context, args ...string) string {
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if args[0] == "nccopy" {
		// nccopy fails and prints its usage, which ends with the version.
		_, v, ok := strings.Cut(string(out), "netCDF library version ")
		if !ok {
			return ""
		}
		v, _, _ = strings.Cut(v, " of ")
		return "nccopy of netCDF " + v
	}
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return strings.Trim(line, "* \r")
}

// firstField returns the value of the first line KEY: VALUE or KEY=VALUE in a file.
func firstField(name, key string) string {
	b, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, key); ok {
			return strings.Trim(v, " \t\n:\"")
		}
	}
	return ""
}
