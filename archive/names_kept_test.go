package archive

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var updateNames = flag.Bool("update-names", false, "add new names to testdata/names")

// TestNamesKept checks that no name that programs use is lost: those of the public packages with their signatures, of
// the libraries in C, and of the package for Python. testdata/names has what they were. New names are added with
// -update-names, which removes none.
func TestNamesKept(t *testing.T) {
	for kind, now := range map[string][]string{"go": goNames(t), "c": cNames(t), "python": pythonNames(t)} {
		file := filepath.Join("..", "testdata", "names", kind+".txt")
		b, err := os.ReadFile(file)
		if !*updateNames {
			require.NoError(t, err)
		}
		kept := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
		for _, name := range kept {
			require.True(t, name == "" || slices.Contains(now, name), "%s: programs may use %q, which is gone", kind, name)
		}
		if *updateNames {
			require.NoError(t, os.WriteFile(file, []byte(strings.Join(now, "\n")+"\n"), 0o666))
			continue
		}
		for _, name := range now {
			require.True(t, slices.Contains(kept, name), "%s: %q is new: add it with go test ./archive -run TestNamesKept -update-names", kind, name)
		}
	}
}

// public returns the packages that other modules may import.
func public() []string {
	var list []string
	for pkg := range edges {
		if !strings.Contains("/"+pkg+"/", "/internal/") && !strings.HasPrefix(pkg, "cmd/") && !strings.HasPrefix(pkg, "bench") && !strings.HasPrefix(pkg, "testdata") {
			list = append(list, pkg)
		}
	}
	return list
}

// goNames returns a line for each exported function, method, type, field, constant and variable.
func goNames(t *testing.T) []string {
	var names []string
	for _, pkg := range public() {
		set := token.NewFileSet()
		dir := filepath.Join("..", filepath.FromSlash(pkg))
		context := build.Default
		context.GOOS, context.GOARCH, context.CgoEnabled = "linux", "amd64", false
		p, err := context.ImportDir(dir, 0)
		require.NoError(t, err)
		text := func(n any) string {
			var b bytes.Buffer
			require.NoError(t, printer.Fprint(&b, set, n))
			return strings.Join(strings.Fields(b.String()), " ")
		}
		add := func(format string, args ...any) { names = append(names, pkg+": "+fmt.Sprintf(format, args...)) }
		for _, file := range p.GoFiles {
			f, err := parser.ParseFile(set, filepath.Join(dir, file), nil, 0)
			require.NoError(t, err)
			for _, d := range f.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					receiver := ""
					if d.Recv != nil {
						receiver = text(d.Recv.List[0].Type)
						if !ast.IsExported(strings.TrimLeft(receiver, "*")) {
							continue
						}
						receiver = "(" + receiver + ") "
					}
					if d.Name.IsExported() {
						add("func %s%s%s", receiver, d.Name.Name, strings.TrimPrefix(text(d.Type), "func"))
					}
				case *ast.GenDecl:
					for _, s := range d.Specs {
						switch s := s.(type) {
						case *ast.ValueSpec:
							for _, n := range s.Names {
								if n.IsExported() {
									add("%s %s", d.Tok, n.Name)
								}
							}
						case *ast.TypeSpec:
							if s.Name.IsExported() {
								typeNames(add, text, s)
							}
						}
					}
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// typeNames adds an exported type, and its exported fields or methods.
func typeNames(add func(string, ...any), text func(any) string, s *ast.TypeSpec) {
	var members *ast.FieldList
	switch typ := s.Type.(type) {
	case *ast.StructType:
		add("type %s struct", s.Name.Name)
		members = typ.Fields
	case *ast.InterfaceType:
		add("type %s interface", s.Name.Name)
		members = typ.Methods
	default:
		add("type %s %s", s.Name.Name, text(s.Type))
		return
	}
	for _, m := range members.List {
		for _, n := range m.Names {
			if n.IsExported() {
				add("%s.%s %s", s.Name.Name, n.Name, text(m.Type))
			}
		}
		if embedded := text(m.Type); len(m.Names) == 0 && ast.IsExported(embedded[strings.LastIndexAny(embedded, ".*")+1:]) {
			add("%s has %s", s.Name.Name, embedded)
		}
	}
}

// cNames returns the functions that the headers of the libraries in C declare.
func cNames(t *testing.T) []string {
	var names []string
	for _, header := range []string{"cdfz.h", "lorenz.h"} {
		b, err := os.ReadFile(filepath.Join("..", "c", header))
		require.NoError(t, err)
		code := regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(string(b), "")
		for _, m := range regexp.MustCompile(`(?s)\b[\w ]+[ *]((cdfz|lorenz)_\w+)\([^;{]*\);`).FindAllString(code, -1) {
			names = append(names, header+": "+strings.Join(strings.Fields(m), " "))
		}
	}
	slices.Sort(names)
	return names
}

// pythonNames returns what the package for Python exports.
func pythonNames(t *testing.T) []string {
	b, err := os.ReadFile(filepath.Join("..", "python", "cdfz", "__init__.py"))
	require.NoError(t, err)
	list := regexp.MustCompile(`(?s)__all__ = \[(.*?)\]`).FindSubmatch(b)
	require.NotNil(t, list)
	var names []string
	for _, m := range regexp.MustCompile(`"(\w+)"`).FindAllSubmatch(list[1], -1) {
		names = append(names, "cdfz."+string(m[1]))
	}
	slices.Sort(names)
	return names
}
