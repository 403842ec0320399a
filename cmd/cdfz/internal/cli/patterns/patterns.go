// Package patterns chooses files of a tree by --include and --exclude, with the patterns and the order
// of rsync: a file or folder is judged by the first rule whose pattern matches it, and is taken if none
// does. What is below an excluded folder is not looked at.
//
// The rules are those of the section PATTERN MATCHING RULES in the manual page rsync(1). Two differ: a
// pattern with an unclosed bracket is an error instead of one that matches nothing, and ? and brackets
// match a character of UTF-8 instead of a byte.
package patterns

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Rule is an --include or an --exclude.
type Rule struct {
	Include bool
	Text    string // the pattern as it was given

	re      *regexp.Regexp
	folders bool // matches only folders
	base    bool // matches the last part of the path alone
	slash   bool // matches the path with a slash before it
	below   bool // ends in /***: matches the path of a folder with a slash after it
}

// Rules are the rules of a command line in their order. The zero value takes everything.
type Rules []*Rule

// Judge returns the rule that excludes a file or folder, or nil. name is its path below the tree, with
// slashes. The folders that it is in are not judged.
func (r Rules) Judge(name string, folder bool) *Rule {
	for _, rule := range r {
		if rule.match(name, folder) {
			if rule.Include {
				return nil
			}
			return rule
		}
	}
	return nil
}

// JudgeFile is Judge for a file that was found without its folders: they are judged first.
func (r Rules) JudgeFile(name string) *Rule {
	if len(r) == 0 {
		return nil
	}
	for i := range len(name) {
		if name[i] == '/' && i > 0 {
			if rule := r.Judge(name[:i], true); rule != nil {
				return rule
			}
		}
	}
	return r.Judge(name, false)
}

func (r *Rule) match(name string, folder bool) bool {
	if r.folders && !folder {
		return false
	}
	if r.base {
		name = path.Base(name)
	}
	if r.slash {
		name = "/" + name
	}
	if r.below && folder {
		name += "/"
	}
	return r.re.MatchString(name)
}

// Parse parses a pattern.
func Parse(text string, include bool) (*Rule, error) {
	r := &Rule{Include: include, Text: text}
	p := text
	if len(p) > 1 && strings.HasSuffix(p, "/") {
		p, r.folders = p[:len(p)-1], true
	}
	anchored := strings.HasPrefix(p, "/")
	p = strings.TrimPrefix(p, "/")
	if p == "" {
		return nil, errors.New("expected a pattern, found an empty one")
	}
	if !utf8.ValidString(p) {
		return nil, errors.New("expected a pattern in UTF-8")
	}
	wild := strings.ContainsAny(p, "*?[")
	any := strings.Contains(p, "**")
	core := regexp.QuoteMeta(p)
	if wild {
		var err error
		if core, err = translate(p); err != nil {
			return nil, err
		}
	}
	start := ""
	switch {
	case anchored:
	case strings.HasPrefix(p, "**"):
		r.slash = true
	case any || strings.Contains(p, "/"):
		start = "(?:.*/)?"
	default:
		r.base = true
	}
	r.below = strings.HasSuffix(p, "***")
	var err error
	if r.re, err = regexp.Compile(`(?s)\A` + start + core + `\z`); err != nil {
		return nil, fmt.Errorf("pattern too long: %w", err)
	}
	return r, nil
}

// translate returns the regular expression of a pattern with wildcards.
func translate(p string) (string, error) {
	var b strings.Builder
	for p != "" {
		c, n := utf8.DecodeRuneInString(p)
		switch c {
		case '*':
			stars := len(p) - len(strings.TrimLeft(p, "*"))
			if n = stars; stars > 1 {
				b.WriteString(`.*`)
			} else {
				b.WriteString(`[^/]*`)
			}
		case '?':
			b.WriteString(`[^/]`)
		case '[':
			text, size, err := class(p)
			if err != nil {
				return "", err
			}
			n = size
			b.WriteString(text)
		case '\\':
			if len(p) == 1 {
				return "", errors.New(`expected a character after the last \`)
			}
			_, size := utf8.DecodeRuneInString(p[1:])
			b.WriteString(regexp.QuoteMeta(p[1 : 1+size]))
			n += size
		default:
			b.WriteString(regexp.QuoteMeta(p[:n]))
		}
		p = p[n:]
	}
	return b.String(), nil
}

// class translates the bracket that p begins with, and returns its length. No bracket matches a slash.
func class(p string) (text string, size int, err error) {
	unclosed := errors.New("expected ] after [")
	set := new(runes)
	i := 1
	negated := strings.HasPrefix(p[i:], "!") || strings.HasPrefix(p[i:], "^")
	if negated {
		i++
	}
	// next returns the next character, which a backslash may precede.
	next := func() (rune, error) {
		if i < len(p) && p[i] == '\\' {
			i++
		}
		if i >= len(p) {
			return 0, unclosed
		}
		c, n := utf8.DecodeRuneInString(p[i:])
		i += n
		return c, nil
	}
	for first := true; ; first = false {
		switch {
		case i >= len(p):
			return "", 0, unclosed
		case p[i] == ']' && !first:
			return set.text(negated), i + 1, nil
		case strings.HasPrefix(p[i:], "[:"):
			name, _, ok := strings.Cut(p[i+2:], ":]")
			test := named[name]
			if !ok || test == nil {
				return "", 0, errors.New("expected [[: to begin a class such as [:digit:]")
			}
			for c := range rune(utf8.RuneSelf) {
				if test(c) {
					set.add(c, c)
				}
			}
			i += len("[:") + len(name) + len(":]")
			continue
		}
		from, err := next()
		if err != nil {
			return "", 0, err
		}
		to := from
		if i+1 < len(p) && p[i] == '-' && p[i+1] != ']' {
			i++
			if to, err = next(); err != nil {
				return "", 0, err
			}
		}
		set.add(from, to)
	}
}

// named are the classes of ASCII that brackets may contain.
var named = map[string]func(rune) bool{
	"alnum":  func(c rune) bool { return letter(c) || digit(c) },
	"alpha":  letter,
	"blank":  func(c rune) bool { return c == ' ' || c == '\t' },
	"cntrl":  func(c rune) bool { return c < ' ' || c == 0x7f },
	"digit":  digit,
	"graph":  func(c rune) bool { return c > ' ' && c < 0x7f },
	"lower":  func(c rune) bool { return c >= 'a' && c <= 'z' },
	"print":  func(c rune) bool { return c >= ' ' && c < 0x7f },
	"punct":  func(c rune) bool { return c > ' ' && c < 0x7f && !letter(c) && !digit(c) },
	"space":  func(c rune) bool { return c == ' ' || c >= '\t' && c <= '\r' },
	"upper":  func(c rune) bool { return c >= 'A' && c <= 'Z' },
	"xdigit": func(c rune) bool { return digit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' },
}

func letter(c rune) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func digit(c rune) bool  { return c >= '0' && c <= '9' }

// runes is a set of characters.
type runes struct{ b strings.Builder }

// add adds a range without the slash. It is empty if to is before from.
func (s *runes) add(from, to rune) {
	if from <= '/' && '/' <= to {
		s.add(from, '/'-1)
		s.add('/'+1, to)
		return
	}
	if from <= to {
		fmt.Fprintf(&s.b, `\x{%x}-\x{%x}`, from, to)
	}
}

// text returns the set, or the characters that it does not have, as a regular expression.
func (s *runes) text(negated bool) string {
	switch set := s.b.String(); {
	case negated:
		return `[^/` + set + `]`
	case set == "":
		return `[^\x{0}-\x{10ffff}]` // matches nothing
	default:
		return `[` + set + `]`
	}
}
