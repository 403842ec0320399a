package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// machine says where and when numbers were measured. Names of hosts and paths
// have no place here.
type machine struct {
	Date     string   `json:"date"`
	OS       string   `json:"os"`
	CPU      string   `json:"cpu"`
	Cores    int      `json:"cores"`
	Memory   string   `json:"memory,omitempty"`
	Load     string   `json:"load,omitempty"` // averages of 1, 5 and 15 minutes when the run began
	Versions []string `json:"versions"`
}

func thisMachine(ctx context.Context, tools []tool) machine {
	m := machine{
		Date:  time.Now().UTC().Format(time.DateOnly),
		OS:    strings.TrimSpace(runtime.GOOS + "/" + runtime.GOARCH + " " + firstField("/etc/os-release", "PRETTY_NAME=")),
		CPU:   firstField("/proc/cpuinfo", "model name"),
		Cores: runtime.NumCPU(),
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
	m.Versions = []string{runtime.Version()}
	seen := map[string]bool{}
	for _, t := range tools {
		if len(t.version) > 0 && !seen[t.version[0]] {
			seen[t.version[0]] = true
			m.add(exec.CommandContext(ctx, t.version[0], t.version[1:]...).CombinedOutput())
		}
		if strings.HasPrefix(t.key, baseline) && !seen[baseline] {
			seen[baseline] = true
			m.add(nccopyVersion(ctx))
		}
	}
	return m
}

func (m *machine) add(out []byte, err error) {
	if line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n"); err == nil && line != "" {
		m.Versions = append(m.Versions, strings.Trim(line, "* "))
	}
}

// nccopyVersion is in the last line of its usage, which it fails with.
func nccopyVersion(ctx context.Context) ([]byte, error) {
	out, _ := exec.CommandContext(ctx, "nccopy").CombinedOutput()
	_, v, ok := strings.Cut(string(out), "netCDF library version ")
	if !ok {
		return nil, fmt.Errorf("no version")
	}
	v, _, _ = strings.Cut(v, " of ")
	return []byte("nccopy of netCDF " + v), nil
}

// firstField is the value of the first line of a file of the form KEY: VALUE or
// KEY=VALUE.
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
