package page

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// bundler joins modules of JavaScript to one script, because browsers load no modules from file://. It knows the
// statements that the modules of this project have: imports and exports at the beginning of a line, on one line, and those of
// modules that a program has made short.
type bundler struct {
	read  func(name string) (string, error)
	alias map[string]string // modules that stand for others
	names map[string]string // variables of modules
	open  map[string]bool   // modules that are being read
	out   strings.Builder
}

var (
	importLine = regexp.MustCompile(`(?m)^import (?:\* as (\w+)|\{ ([^}]*) \}|(\w+)) from "([^"]+)";`)
	exportLine = regexp.MustCompile(`(?m)^export (?:(async function|function|const|let|var|class) ([\w$]+)|default )`)
	exportList = regexp.MustCompile(`(?m)(^|;)export ?\{ ?([\w$, ]*?) ?\};`)
	leftOver   = regexp.MustCompile(`(?m)^(?:import|export)\b.*`)
	renamed    = regexp.MustCompile(`(\w+) as (\w+)`)
)

// bundle returns the script of a module with all that it imports. read returns the text of a module.
func bundle(entry string, alias map[string]string, read func(name string) (string, error)) (string, error) {
	b := &bundler{read: read, alias: alias, names: map[string]string{}, open: map[string]bool{}}
	b.out.WriteString("\"use strict\";\n(() => {\nconst $here = globalThis.document?.currentScript?.src ?? location.href;\n")
	if _, err := b.add(entry); err != nil {
		return "", err
	}
	b.out.WriteString("})();\n")
	return b.out.String(), nil
}

// add writes a module, unless that is done, and returns the variable with what it exports.
func (b *bundler) add(name string) (string, error) {
	if to, ok := b.alias[name]; ok {
		name = to
	}
	if v, ok := b.names[name]; ok {
		return v, nil
	}
	if b.open[name] {
		return "", fmt.Errorf("page: module %s imports itself", name)
	}
	b.open[name] = true
	text, err := b.read(name)
	if err != nil {
		return "", err
	}
	var failed error
	text = importLine.ReplaceAllStringFunc(text, func(line string) string {
		m := importLine.FindStringSubmatch(line)
		v, err := b.add(path.Join(path.Dir(name), m[4]))
		failed = cmp.Or(failed, err)
		switch {
		case m[1] != "":
			return fmt.Sprintf("const %s = %s;", m[1], v)
		case m[2] != "":
			return fmt.Sprintf("const { %s } = %s;", renamed.ReplaceAllString(m[2], "$1: $2"), v)
		}
		return fmt.Sprintf("const %s = %s.default;", m[3], v)
	})
	if failed != nil {
		return "", failed
	}
	var exports []string
	text = exportLine.ReplaceAllStringFunc(text, func(line string) string {
		m := exportLine.FindStringSubmatch(line)
		if m[1] == "" {
			exports = append(exports, "default: $default")
			return "const $default = "
		}
		exports = append(exports, fmt.Sprintf("get %s() { return %s; }", m[2], m[2]))
		return m[1] + " " + m[2]
	})
	text = exportList.ReplaceAllStringFunc(text, func(line string) string {
		m := exportList.FindStringSubmatch(line)
		for one := range strings.SplitSeq(m[2], ",") {
			own, as, _ := strings.Cut(strings.TrimSpace(one), " as ")
			exports = append(exports, fmt.Sprintf("%s: %s", cmp.Or(as, own), own))
		}
		return m[1]
	})
	if line := leftOver.FindString(text); line != "" {
		return "", fmt.Errorf("page: module %s has a line that is not understood: %.80s", name, line)
	}
	text = strings.ReplaceAll(text, "import.meta.url", "$here")
	v := fmt.Sprintf("$m%d", len(b.names))
	b.names[name] = v
	fmt.Fprintf(&b.out, "// %s\nconst %s = (() => {\n%s\nreturn { %s };\n})();\n", name, v, strings.TrimRight(text, "\n"), strings.Join(exports, ", "))
	return v, nil
}
