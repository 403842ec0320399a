//go:build judge && linux

package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJudgeFirstHour runs the programs and the commands of docs/first-hour.md, and compares what they print
// with the page. Speeds may differ.
func TestJudgeFirstHour(t *testing.T) {
	page, err := os.ReadFile("../../docs/first-hour.md")
	require.NoError(t, err)
	dir, bin := t.TempDir(), t.TempDir()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	program, err := os.Executable()
	require.NoError(t, err)
	self := fmt.Sprintf("#!/bin/bash\nTESTSCRIPT_COMMAND=cdfz exec -a cdfz '%s' \"$@\"\n", program)
	require.NoError(t, os.WriteFile(filepath.Join(bin, "cdfz"), []byte(self), 0o777))
	env := append(os.Environ(), "PATH="+filepath.Join(dir, "env", "bin")+":"+bin+":/usr/bin:/bin", "MPLCONFIGDIR="+dir)
	command := func(text string) *exec.Cmd {
		c := exec.Command("bash", "-c", text)
		c.Dir, c.Env = dir, env
		return c
	}
	// Debian's python3 has the packages, whatever is first on the PATH.
	out, err := command("/usr/bin/python3 -m venv --system-site-packages env && pip install -q --no-index --no-build-isolation --no-deps " +
		filepath.Join(root, "python")).CombinedOutput()
	require.NoError(t, err, "pip: %s", out)
	out, err = exec.Command("make", "-s", "-C", filepath.Join(root, "c"), "netcdf", "OUT="+bin).CombinedOutput()
	require.NoError(t, err, "make: %s", out)
	// Where building the list of fonts takes more than 5 s, Matplotlib says so on standard error.
	out, err = command("/usr/bin/python3 -c 'import matplotlib.font_manager'").CombinedOutput()
	require.NoError(t, err, "matplotlib: %s", out)
	at := freeAddress(t)
	speeds := regexp.MustCompile(`[0-9.]+ [kMG]B/s`)
	count := 0
	for _, block := range regexp.MustCompile("(?s)```(python|console)\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		kind, text := block[1], strings.ReplaceAll(block[2], "127.0.0.1:8080", at)
		if kind == "python" {
			name := strings.TrimPrefix(strings.SplitN(text, "\n", 2)[0], "# ")
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
			continue
		}
		for _, part := range strings.Split("\n"+text, "\n$ ")[1:] {
			line, want, _ := strings.Cut(part, "\n")
			count++
			switch {
			case strings.HasPrefix(line, "cdfz serve"):
				c := command("exec cdfz serve --listen " + at + " .")
				r, w, err := os.Pipe()
				require.NoError(t, err)
				defer r.Close()
				c.Stdout, c.Stderr = w, w
				require.NoError(t, c.Start())
				w.Close()
				t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
				got, err := bufio.NewReader(r).ReadString('\n')
				require.NoError(t, err)
				require.Equal(t, strings.TrimSpace(want), strings.TrimSpace(got))
			case line == "kill %1":
			default:
				got, err := command(line).CombinedOutput()
				require.NoError(t, err, "%s: %s", line, got)
				same := func(s string) string { return speeds.ReplaceAllString(strings.TrimSpace(s), "N MB/s") }
				require.Equal(t, same(want), same(string(got)), line)
			}
		}
	}
	require.Equal(t, 9, count)
	require.FileExists(t, filepath.Join(dir, "map.png"))
}

// freeAddress returns an address on which nothing listens.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}
