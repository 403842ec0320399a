package archive

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The limits of a folder: production files and their lines.
const (
	mostFiles = 20
	mostLines = 4000
)

// TestFolders checks the size of folders, and that no arrows between the files of a folder
// go in a circle.
//
// There is an arrow from file A to file B if A uses a function, method, variable or
// constant that B declares. Types do not count: a type is declared with its main role, and
// its methods stand in the files of their roles. Calls through an interface do not count
// either.
func TestFolders(t *testing.T) {
	if testing.Short() {
		t.Skip("parses all files")
	}
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		if !d.IsDir() {
			return nil
		}
		if strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return filepath.SkipDir
		}
		files := productionFiles(t, name)
		lines := 0
		for _, b := range files {
			lines += strings.Count(b, "\n")
		}
		require.LessOrEqual(t, len(files), mostFiles, "files of %s", name)
		require.LessOrEqual(t, lines, mostLines, "lines of %s", name)
		if c := findCircle(fileArrows(t, name, files)); c != nil {
			t.Errorf("%s: arrows go in a circle: %s", name, strings.Join(c, ", "))
		}
		return nil
	})
	require.NoError(t, err)
}

// productionFiles reads the Go files of a folder that are no tests.
func productionFiles(t *testing.T, dir string) map[string]string {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	files := map[string]string{}
	for _, name := range names {
		if !strings.HasSuffix(name, "_test.go") {
			b, err := os.ReadFile(name)
			require.NoError(t, err)
			files[filepath.Base(name)] = string(b)
		}
	}
	return files
}

// arrows holds for each file the files that it uses, with one of the names used.
type arrows map[string]map[string]string

// fileArrows finds the arrows between the files that are built on Linux.
func fileArrows(t *testing.T, dir string, files map[string]string) arrows {
	system := build.Default
	system.GOOS, system.GOARCH = "linux", "amd64"
	fset := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if ok, err := system.MatchFile(dir, name); err != nil || !ok {
			require.NoError(t, err)
			continue
		}
		f, err := parser.ParseFile(fset, name, files[name], parser.SkipObjectResolution)
		require.NoError(t, err)
		parsed = append(parsed, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	// Imported packages stay empty, so most errors mean nothing. But a missing import of
	// archive/ncapi would go unnoticed: few machines have the library it needs.
	c := types.Config{Importer: emptyPackages{}, Error: func(err error) {
		var e types.Error
		if filepath.Base(dir) == "ncapi" && errors.As(err, &e) && strings.HasPrefix(e.Msg, "undefined: ") && !strings.Contains(e.Msg, ".") {
			t.Error(err)
		}
	}}
	pkg, _ := c.Check(dir, fset, parsed, info)
	out := arrows{}
	for id, o := range info.Uses {
		if o.Pkg() != pkg || !counts(o) {
			continue
		}
		from, to := fset.Position(id.Pos()).Filename, fset.Position(o.Pos()).Filename
		if from == to {
			continue
		}
		if out[from] == nil {
			out[from] = map[string]string{}
		}
		if have := out[from][to]; have == "" || o.Name() < have {
			out[from][to] = o.Name()
		}
	}
	return out
}

// counts reports whether uses of an object are arrows.
func counts(o types.Object) bool {
	switch o := o.(type) {
	case *types.Var, *types.Const:
		return o.Parent() == o.Pkg().Scope()
	case *types.Func:
		recv := o.Signature().Recv()
		return recv == nil || !types.IsInterface(recv.Type())
	}
	return false
}

// emptyPackages imports packages without their contents.
type emptyPackages struct{}

func (emptyPackages) Import(name string) (*types.Package, error) {
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}

// findCircle returns the arrows of a circle, or nil.
func findCircle(a arrows) []string {
	done := map[string]bool{}
	var trail []string
	var visit func(file string) []string
	visit = func(file string) []string {
		if i := slices.Index(trail, file); i >= 0 {
			var circle []string
			for k, from := range trail[i:] {
				to := append(trail[i:], file)[k+1]
				circle = append(circle, fmt.Sprintf("%s uses %s of %s", from, a[from][to], to))
			}
			return circle
		}
		if done[file] {
			return nil
		}
		trail = append(trail, file)
		for _, to := range slices.Sorted(maps.Keys(a[file])) {
			if c := visit(to); c != nil {
				return c
			}
		}
		trail = trail[:len(trail)-1]
		done[file] = true
		return nil
	}
	for _, file := range slices.Sorted(maps.Keys(a)) {
		if c := visit(file); c != nil {
			return c
		}
	}
	return nil
}

// TestFindCircle checks that a circle is found wherever it begins.
func TestFindCircle(t *testing.T) {
	a := arrows{"a.go": {"b.go": "x", "c.go": "y"}, "b.go": {"c.go": "z"}}
	require.Nil(t, findCircle(a))
	a["c.go"] = map[string]string{"b.go": "w"}
	require.Equal(t, []string{"b.go uses z of c.go", "c.go uses w of b.go"}, findCircle(a))
}

// TestFileArrows checks what counts as an arrow.
func TestFileArrows(t *testing.T) {
	files := map[string]string{
		"a.go": "package p\nimport \"io\"\ntype T struct{ io.Reader }\nfunc (t *T) A() int { return t.b() + limit }\n",
		"b.go": "package p\nfunc (t *T) b() int { return 0 }\n",
		"c.go": "package p\nconst limit = 1\ntype I interface{ A() int }\nfunc use(i I, t T) int { return i.A() }\n",
	}
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	require.Equal(t, arrows{"a.go": {"b.go": "b", "c.go": "limit"}}, fileArrows(t, dir, files))
}
