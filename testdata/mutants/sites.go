package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// site is a check of a reader that can be switched off.
type site struct {
	file string // from the root of the module
	line int
	fn   string // function, with the type of its receiver
	text string // source of the condition or of the bound
	nth  int    // 1 for the first site of this text in the function
}

// key names a site in the list of survivors. It does not change with the lines around it.
func (s *site) key() string {
	k := fmt.Sprintf("%s %s: %s", s.file, s.fn, s.text)
	if s.nth > 1 {
		k += fmt.Sprintf(" #%d", s.nth)
	}
	return k
}

// edit is text to be inserted in a source file.
type edit struct {
	at   int
	text string
}

// finder finds the sites of one file.
type finder struct {
	path  string
	src   []byte
	files *token.FileSet
	only  *regexp.Regexp // names of functions; nil: all
	first int            // the number of the next site
	sites []site
	edits []edit
	fn    string
	seen  map[string]int
}

// instrument finds the sites of a file. It returns the file with each of them under the control
// of package mutant, where they are numbered from first on.
func instrument(root, path, only string, first int) ([]site, []byte, error) {
	src, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		return nil, nil, err
	}
	f := &finder{path: path, src: src, files: token.NewFileSet(), first: first, seen: map[string]int{}}
	if only != "" {
		f.only = regexp.MustCompile("^(" + only + ")$")
	}
	tree, err := parser.ParseFile(f.files, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, err
	}
	found := map[string]bool{}
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			found[d.Name.Name] = true
			if d.Body != nil && (f.only == nil || f.only.MatchString(d.Name.Name)) {
				f.fn = nameOf(d)
				f.body(d.Type, d.Body)
			}
		case *ast.GenDecl: // functions in the fields of variables
			if f.only == nil && d.Tok == token.VAR {
				f.fn = "var"
				ast.Inspect(d, f.literals)
			}
		}
	}
	for name := range strings.SplitSeq(only, "|") {
		if name != "" && !found[name] {
			return nil, nil, fmt.Errorf("%s has no function %s", path, name)
		}
	}
	if len(f.sites) == 0 {
		return nil, nil, fmt.Errorf("%s: no check found", path)
	}
	f.insert(int(tree.Name.End())-1, `; import "`+mutantPackage+`"`)
	return f.sites, f.edited(), nil
}

func nameOf(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + d.Name.Name
		default:
			return d.Name.Name
		}
	}
}

// literals looks into function literals, whose results are their own.
func (f *finder) literals(n ast.Node) bool {
	if lit, ok := n.(*ast.FuncLit); ok {
		f.body(lit.Type, lit.Body)
		return false
	}
	return true
}

// body finds the sites of a function.
func (f *finder) body(t *ast.FuncType, b *ast.BlockStmt) {
	last := ""
	if t.Results != nil {
		last = f.source(t.Results.List[len(t.Results.List)-1].Type)
	}
	ast.Inspect(b, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			f.body(n.Type, n.Body)
			return false
		case *ast.IfStmt:
			if f.rejects(n.Body.List, last) {
				f.conditions(n.Cond, n.Body.List)
			}
		case *ast.SwitchStmt:
			for _, c := range n.Body.List {
				c := c.(*ast.CaseClause)
				switch {
				case !f.rejects(c.Body, last):
				case n.Tag == nil:
					for _, e := range c.List {
						f.conditions(e, c.Body)
					}
				case c.List == nil:
					f.others(n, c)
				}
			}
		case *ast.ReturnStmt:
			if last == "bool" && len(n.Results) > 0 {
				f.requirements(n.Results[len(n.Results)-1])
			}
		case *ast.AssignStmt:
			f.assignment(n)
		case *ast.CallExpr:
			f.bounds(n)
		}
		return true
	})
}

// others makes a site of the default of a switch that rejects. It goes on after the switch without it.
func (f *finder) others(n *ast.SwitchStmt, c *ast.CaseClause) {
	k := f.add(c, "other values of "+f.source(n.Tag))
	f.insert(int(c.Body[0].Pos())-1, fmt.Sprintf("if mutant.On(%d) { ", k))
	f.insert(int(c.Body[len(c.Body)-1].End())-1, " }")
}

// makers are functions whose result is an error about the input.
var makers = regexp.MustCompile(`^(fault\.Corruptf|wire\.(Damaged|Errorf|Causef|TooLong|Stream)|[eE]rrorf|[cC]ausef|Corrupt|opening\.Corrupt|fail|fmt\.Errorf|formatErrorf?|notInflated|unknown|[a-z]+\.(BlockError|fail|expected|needNewer|failf|errorf))$`)

// rejects reports whether statements reject the input. last is the type of the last result.
func (f *finder) rejects(list []ast.Stmt, last string) bool {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ReturnStmt:
			if len(s.Results) == 0 {
				continue
			}
			switch e := s.Results[len(s.Results)-1]; {
			case last == "bool" && f.source(e) == "false":
				return true
			case last == "error" && f.isError(e):
				return true
			case f.source(s.Results[0]) == "-1":
				return true
			case len(s.Results) == 1 && f.isError(e):
				return true
			}
		case *ast.AssignStmt:
			for i, to := range s.Lhs {
				switch t := f.source(to); {
				case i >= len(s.Rhs):
				case strings.HasSuffix(t, ".Bad") && f.source(s.Rhs[i]) == "true":
					return true
				case t == "err" && f.isError(s.Rhs[i]):
					return true
				}
			}
		case *ast.ExprStmt:
			if f.isError(s.X) {
				return true
			}
		}
	}
	return false
}

// isError reports whether an expression makes an error.
func (f *finder) isError(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CallExpr:
		return makers.MatchString(f.source(e.Fun))
	case *ast.Ident:
		return strings.HasPrefix(e.Name, "Err")
	case *ast.SelectorExpr:
		return strings.HasPrefix(e.Sel.Name, "Err")
	case *ast.UnaryExpr:
		return e.Op == token.AND && strings.HasSuffix(f.source(e.X.(*ast.CompositeLit).Type), "Error")
	}
	return false
}

// passedOn are conditions that pass on an earlier fault, or notice the end of a context.
var passedOn = regexp.MustCompile(`^!?[a-z.]+\.Bad$|ctx\.Err\(\)|[sS]top\.After|\.(failed|err) != nil$`)

// conditions makes a site of each of the alternatives of a condition that rejects.
func (f *finder) conditions(e ast.Expr, body []ast.Stmt) {
	e = ast.Unparen(e)
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == token.LOR {
		f.conditions(b.X, body)
		f.conditions(b.Y, body)
		return
	}
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == token.LAND { // a && (b || c)
		if or, ok := ast.Unparen(b.Y).(*ast.BinaryExpr); ok && or.Op == token.LOR {
			f.conditions(or, body)
			return
		}
	}
	text := f.source(e)
	if passedOn.MatchString(text) || text == "err != nil" && !f.turns(body) {
		return
	}
	k := f.add(e, text)
	f.insert(int(e.Pos())-1, "((")
	f.insert(int(e.End())-1, fmt.Sprintf(") && mutant.On(%d))", k))
}

// turns reports whether statements turn an error of a library into damage, unlike those that add to
// its text.
func (f *finder) turns(body []ast.Stmt) bool {
	text := f.source(body[len(body)-1])
	return !strings.Contains(text, "%w") && !strings.HasPrefix(text, "return fail")
}

// requirements makes a site of each of the parts of a result that tells whether the input is valid.
func (f *finder) requirements(e ast.Expr) {
	e = ast.Unparen(e)
	switch x := e.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		return
	case *ast.BinaryExpr:
		if x.Op == token.LAND {
			f.requirements(x.X)
			f.requirements(x.Y)
			return
		}
		if and, ok := ast.Unparen(x.Y).(*ast.BinaryExpr); ok && x.Op == token.LOR && and.Op == token.LAND { // a || b && c
			f.requirements(and)
			return
		}
	}
	text := f.source(e)
	if passedOn.MatchString(text) {
		return
	}
	k := f.add(e, text)
	f.insert(int(e.Pos())-1, "((")
	f.insert(int(e.End())-1, fmt.Sprintf(") || !mutant.On(%d))", k))
}

func (f *finder) assignment(s *ast.AssignStmt) {
	if len(s.Lhs) != 1 || len(s.Rhs) != 1 || s.Tok != token.ASSIGN {
		return
	}
	binary, ok := s.Rhs[0].(*ast.BinaryExpr)
	switch to := f.source(s.Lhs[0]); {
	case !ok:
	case strings.HasSuffix(to, ".Bad"):
		f.conditions(binary, nil)
	case to == "ok":
		f.requirements(binary)
	}
}

// bounds makes a site of the argument of a call that bounds a number of the input.
func (f *finder) bounds(call *ast.CallExpr) {
	name := f.source(call.Fun)
	if i := strings.IndexByte(name, '['); i >= 0 {
		name = name[:i]
	}
	at, to := -1, "Most"
	switch name {
	case "r.Int":
		at = 0
	case "r.Uvarint", "r.uint":
		at, to = 0, "MostUint"
	case "list":
		at = 2
	case "r.object":
		at, to = 0, "Least"
	case "r.orderedObject":
		at, to = 1, "Least"
	}
	if at < 0 || f.fn == "Reader.Int" || f.fn == "jsonReader.object" {
		return
	}
	e := call.Args[at]
	k := f.add(e, name+" "+f.source(e))
	f.insert(int(e.Pos())-1, fmt.Sprintf("mutant.%s(%d, ", to, k))
	f.insert(int(e.End())-1, ")")
}

// add adds a site and returns its number.
func (f *finder) add(n ast.Node, text string) int {
	text = strings.Join(strings.Fields(text), " ")
	f.seen[f.fn+text]++
	f.sites = append(f.sites, site{f.path, f.files.Position(n.Pos()).Line, f.fn, text, f.seen[f.fn+text]})
	return f.first + len(f.sites) - 1
}

func (f *finder) source(n ast.Node) string { return string(f.src[n.Pos()-1 : n.End()-1]) }

func (f *finder) insert(at int, text string) { f.edits = append(f.edits, edit{at, text}) }

// edited returns the file with all edits.
func (f *finder) edited() []byte {
	slices.SortStableFunc(f.edits, func(a, b edit) int { return a.at - b.at })
	var out []byte
	at := 0
	for _, e := range f.edits {
		out = append(append(out, f.src[at:e.at]...), e.text...)
		at = e.at
	}
	return append(out, f.src[at:]...)
}
