//go:build judge

package archive

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var updateABI = flag.Bool("update-abi", false, "write testdata/names/abi-amd64.txt, which is allowed with a new soname only")

// TestJudgeABI compares the C library with testdata/names: its symbols are the functions of the headers and no others, and
// the structures and numbers of the headers are laid out as they were when the soname was new.
func TestJudgeABI(t *testing.T) {
	dir := t.TempDir()
	output := func(name string, args ...string) string {
		out, err := exec.Command(name, args...).CombinedOutput()
		require.NoError(t, err, "%s %q: %s", name, args, out)
		return string(out)
	}
	output("make", "-s", "-C", "../c", "OUT="+dir, "CFLAGS=-O0")
	functions := regexp.MustCompile(`\b((?:cdfz|lorenz)_\w+)\(`)
	var want, found []string
	headers := map[string]string{}
	for _, name := range []string{"cdfz.h", "lorenz.h"} {
		b, err := os.ReadFile(filepath.Join("../c", name))
		require.NoError(t, err)
		headers[name] = regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(string(b), "")
	}
	names, err := os.ReadFile("../testdata/names/c.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(names)) {
		if m := functions.FindStringSubmatch(line); m != nil {
			want = append(want, m[1])
		}
	}
	library := filepath.Join(dir, "libcdfz.so")
	for line := range strings.Lines(output("nm", "-D", "--defined-only", library)) {
		found = append(found, strings.Fields(line)[2])
	}
	slices.Sort(want)
	slices.Sort(found)
	require.Equal(t, want, found, "symbols of libcdfz.so and functions of the headers")

	soname := regexp.MustCompile(`soname: \[(.*)\]`).FindStringSubmatch(output("readelf", "-d", library))
	require.NotNil(t, soname)
	promise, err := os.ReadFile("../docs/versions.md")
	require.NoError(t, err)
	require.Contains(t, string(promise), soname[1])

	// A program prints the size of each structure, the place of each member, and each number.
	var c strings.Builder
	c.WriteString("#include <stddef.h>\n#include <stdio.h>\n#include \"cdfz.h\"\n#include \"lorenz.h\"\nint main(void)\n{\n")
	for _, name := range []string{"cdfz.h", "lorenz.h"} {
		for _, m := range regexp.MustCompile(`(?s)typedef (struct|enum) \{(.*?)\} (\w+);`).FindAllStringSubmatch(headers[name], -1) {
			fmt.Fprintf(&c, "printf(\"%s %%zu\\n\", sizeof(%[1]s));\n", m[3])
			if m[1] == "enum" {
				for _, n := range regexp.MustCompile(`\w+(?: = )`).FindAllString(m[2], -1) {
					fmt.Fprintf(&c, "printf(\"%s %%d\\n\", (int)%[1]s);\n", strings.TrimSuffix(n, " = "))
				}
				continue
			}
			for _, n := range regexp.MustCompile(`(\w+)(?:\[\w+\])?(?:\)\([^;]*\))?;`).FindAllStringSubmatch(m[2], -1) {
				fmt.Fprintf(&c, "printf(\"%s.%s %%zu\\n\", offsetof(%[1]s, %[2]s));\n", m[3], n[1])
			}
		}
	}
	c.WriteString("return 0;\n}\n")
	source := filepath.Join(dir, "abi.c")
	require.NoError(t, os.WriteFile(source, []byte(c.String()), 0o666))
	output("gcc", "-I../c", "-o", filepath.Join(dir, "abi"), source)
	now := "# " + soname[1] + ": sizes, offsets and numbers of c/*.h on amd64\n" + output(filepath.Join(dir, "abi"))
	const kept = "../testdata/names/abi-amd64.txt"
	if *updateABI {
		require.NoError(t, os.WriteFile(kept, []byte(now), 0o666))
	}
	b, err := os.ReadFile(kept)
	require.NoError(t, err)
	require.Equal(t, string(b), now, "a change needs another soname (docs/versions.md); then run this test with -update-abi")
}
