//go:build judge && linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// readmeBegin is the first command of README.md that the test runs: those before it install cdfz.
const readmeBegin = "mkdir -p data"

// TestJudgeReadme runs the commands of README.md from top to bottom in one shell and one folder, and compares
// what they print where the page shows it. Sizes and speeds may differ.
func TestJudgeReadme(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	dir, bin := t.TempDir(), t.TempDir()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	program, err := os.Executable()
	require.NoError(t, err)
	self := fmt.Sprintf("#!/bin/bash\nTESTSCRIPT_COMMAND=cdfz exec -a cdfz '%s' \"$@\"\n", program)
	require.NoError(t, os.WriteFile(filepath.Join(bin, "cdfz"), []byte(self), 0o777))
	out, err := exec.Command("go", "build", "-o", bin, "../../bench/tile").CombinedOutput()
	require.NoError(t, err, "%s", out)

	// What a checkout has is made in another way. Debian's python3 has the packages, whatever is first on
	// the PATH.
	script := "cd " + dir + `
/usr/bin/python3 -m venv --system-site-packages .venv || exit 1
go() { test "$1 $2" = "run ./bench/tile" && shift 2 && tile "$@"; }
make() { test "$*" = native && command make -s -C ` + root + `/c netcdf OUT="$PWD/bin"; }
pip() { test "$*" = "install ./python" && command pip install -q --no-index --no-build-isolation --no-deps ` + root + `/python; }
set -e
`
	type step struct{ line, want string }
	var steps []step
	add := func(line, want string) {
		script += fmt.Sprintf("echo '@@ %d'\n", len(steps))
		steps = append(steps, step{line, want})
		if background, ok := strings.CutSuffix(line, "&"); ok {
			script += background + ">started 2>&1 &\nfor i in $(seq 600); do test -s started && break; sleep 0.1; done\ncat started\n"
			return
		}
		script += line + "\n"
	}
	const unknown = "\x00" // what a command prints that the page does not show
	_, text, found := strings.Cut(string(page), readmeBegin)
	require.True(t, found)
	text = "```sh\n" + readmeBegin + text
	for i, block := range regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```").FindAllStringSubmatch(text, -1) {
		switch kind, text := block[1], block[2]; {
		case kind == "python":
			name := fmt.Sprintf("block%d.txt", i)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
			add("python3 -m doctest "+name, "")
		case kind == "sh":
			for line := range strings.Lines(text) {
				add(strings.TrimSpace(line), unknown)
			}
		case strings.HasPrefix(text, "$ "):
			for _, part := range strings.Split("\n"+text, "\n$ ")[1:] {
				line, want, _ := strings.Cut(part, "\n")
				add(line, want)
			}
		}
	}
	require.Greater(t, len(steps), 25)
	c := exec.Command("bash", "-c", script)
	c.Env = append(os.Environ(), "PATH="+filepath.Join(dir, ".venv", "bin")+":"+bin+":/usr/bin:/bin")
	out, err = c.CombinedOutput()
	require.NoError(t, err, "%s", out)

	speeds := regexp.MustCompile(`[0-9.]+ [kMG]?B(/s)?`)
	trailing := regexp.MustCompile(`(?m) +$`) // CDO pads names
	same := func(s string) string {
		return trailing.ReplaceAllString(speeds.ReplaceAllString(strings.TrimSpace(s), "N B"), "")
	}
	printed := regexp.MustCompile(`(?m)^@@ \d+\n`).Split(string(out), -1)[1:]
	require.Len(t, printed, len(steps))
	for i, s := range steps {
		if s.want != unknown {
			require.Equal(t, same(s.want), same(printed[i]), s.line)
		}
	}
}
