package main

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLicences checks that the list of licences has the modules that the program links on the systems of releases, with
// the versions of go.mod, and a text for each. make licences writes it.
func TestLicences(t *testing.T) {
	want := []string{"Go's standard library"}
	for _, system := range []string{"linux/amd64", "linux/arm64", "linux/riscv64", "darwin/arm64", "windows/amd64", "freebsd/amd64"} {
		goos, arch, _ := strings.Cut(system, "/")
		c := exec.Command("go", "list", "-deps", "-tags", "plugins", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", ".")
		if system == "linux/amd64" { // the others have no more modules
			c.Args = append(c.Args, "../cdfz-plugin-host")
		}
		c.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0")
		out, err := c.Output()
		require.NoError(t, err)
		want = append(want, slices.DeleteFunc(strings.Split(string(out), "\n"), func(s string) bool { return s == "" })...)
	}
	slices.Sort(want)

	var out, msg bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"version", "--licenses"}, nil, &out, &msg), "%s", &msg)
	list, texts, ok := strings.Cut(out.String(), "\n"+strings.Repeat("-", 100)+"\n")
	require.True(t, ok)
	var listed []string
	for _, m := range regexp.MustCompile(`(?m)^(\S+ v\S+|Go's standard library): [A-Z][-\w., ]*$`).FindAllStringSubmatch(list, -1) {
		if !strings.HasPrefix(m[1], "npm/") {
			listed = append(listed, m[1])
		}
		path, _, _ := strings.Cut(m[1], " v")
		require.Contains(t, "\n"+texts, "\n"+path+": ", "a text for it")
	}
	slices.Sort(listed)
	require.Equal(t, slices.Compact(want), listed, "make licences writes the list again")

	// Code of others in the pages has its licence beside it.
	var scripts int
	for _, folder := range []string{"internal/page/static", "../../js"} {
		require.NoError(t, filepath.WalkDir(folder, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.Name() == "node_modules" {
				return cmp.Or(err, fs.SkipDir)
			}
			if lower := strings.ToLower(e.Name()); !strings.Contains(lower, "licen") || name == "../../js/LICENSE" { // that of cdfz, which make js-pack copies
				return nil
			}
			b, err := os.ReadFile(name)
			require.NoError(t, err)
			require.Contains(t, texts, strings.TrimSpace(string(b)), "%s: name it in release/licences.go, and make licences", name)
			scripts++
			return nil
		}))
	}
	require.NotZero(t, scripts)
	require.Equal(t, scripts, strings.Count(list, "\nnpm/"))
}
