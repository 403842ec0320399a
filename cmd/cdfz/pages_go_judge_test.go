//go:build judge

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	goBlock    = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")
	goImport   = regexp.MustCompile(`(?m)^import .*$`)
	goComment  = regexp.MustCompile(`(?m) // .*$`)
	goPackage  = regexp.MustCompile(`\b[a-z]\w*\.[A-Z]`)
	goDeclares = regexp.MustCompile(`(?m)^([\w, ]+) := .*$`)
)

// goParts are the packages of statements in pages, by their names.
var goParts = map[string]string{
	"archive": "github.com/cdfz-format/cdfz/archive", "joined": "github.com/cdfz-format/cdfz/archive/joined", "slab": "github.com/cdfz-format/cdfz/slab", "fmt": "fmt",
}

// TestJudgePagesGo compiles the Go of pages: programs, and statements with ctx, r and size. "…" on a line of its own
// stands for other statements.
func TestJudgePagesGo(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	n := 0
	for _, page := range append(pages, "../../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range goBlock.FindAllStringSubmatch(string(text), -1) {
			n++
			name := filepath.Join(t.TempDir(), "main.go")
			require.NoError(t, os.WriteFile(name, []byte(goProgram(m[1])), 0o666))
			out, err := exec.Command("go", "vet", name).CombinedOutput()
			require.NoError(t, err, "%s: %s\n%s", page, m[1], out)
		}
	}
	require.Positive(t, n)
}

// goProgram makes a program of a block.
func goProgram(block string) string {
	if strings.HasPrefix(block, "package ") {
		return block
	}
	imports := append(goImport.FindAllString(block, -1), `import "context"`, `import "io"`)
	block = goComment.ReplaceAllString(goImport.ReplaceAllString(block, ""), "")
	var names []string
	for _, m := range goPackage.FindAllString(block, -1) {
		name, _, _ := strings.Cut(m, ".")
		if path := goParts[name]; path != "" && !slices.Contains(names, name) {
			names = append(names, name)
			imports = append(imports, `import "`+path+`"`)
		}
	}
	// Readers use the results.
	block = goDeclares.ReplaceAllStringFunc(block, func(line string) string {
		left, _, _ := strings.Cut(line, " := ")
		uses := ""
		for _, v := range strings.Split(left, ", ") {
			uses += "\n_ = " + v
		}
		return line + uses
	})
	block = strings.ReplaceAll(block, "\n…\n", "\n")
	return "package main\n\n" + strings.Join(imports, "\n") + "\n\nfunc main() {}\n\nfunc _(ctx context.Context, r io.ReaderAt, size int64) {\n" + block + "}\n"
}
