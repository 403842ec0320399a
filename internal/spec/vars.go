package spec

import (
	"strings"

	"github.com/cdfz-format/cdfz/filters"
)

// Vars is the argument of nccopy's option -F: a chain and the variables it applies to.
type Vars struct {
	// All is set for "*": every variable. Names is then empty.
	All bool
	// Names are the variables, without escapes and without the "/" of the root
	// group.
	Names []string
	// None is set if the chain is "none", which means no filters. Chain is then nil.
	None  bool
	Chain filters.Chain
}

// ParseVars parses "VAR[&VAR]*,SPEC". SPEC is a chain as in [ParseChain], or "none" in
// any case. VAR is a name, in which "\" escapes the next byte, or a single "*" for all
// variables. The text "none" is short for "*,none". Callers check that the variables
// exist and combine several options.
func ParseVars(s string, opts *Options) (Vars, error) {
	if strings.EqualFold(s, "none") {
		return Vars{All: true, None: true}, nil
	}
	v, at, err := cutVars(s)
	if err != nil {
		return Vars{}, err
	}
	if strings.EqualFold(s[at:], "none") {
		v.None = true
		return v, nil
	}
	if v.Chain, err = parseChain(s[at:], at, opts.compat()); err != nil {
		return Vars{}, err
	}
	return v, nil
}

// cutVars parses the variables and returns the offset after their comma.
func cutVars(s string) (v Vars, after int, err error) {
	var name []byte
	star := false // name is an unescaped "*"
	start := 0    // of name
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i == len(s) {
				return v, 0, errorAt(ErrSpec, i, `expected a character after \`)
			}
			name, star = append(name, s[i]), false
		case '&', ',':
			n := strings.TrimPrefix(string(name), "/")
			if n == "" {
				return v, 0, errorAt(ErrSpec, start, "empty variable name")
			}
			v.All = v.All || star
			v.Names = append(v.Names, n)
			if v.All && len(v.Names) > 1 {
				return v, 0, errorAt(ErrSpec, start, "expected * alone, found other variables")
			}
			if c == ',' {
				if v.All {
					v.Names = nil
				}
				return v, i + 1, nil
			}
			name, star, start = name[:0], false, i+1
		default:
			star = c == '*' && len(name) == 0
			name = append(name, c)
		}
	}
	return v, 0, errorAt(ErrSpec, len(s), "expected a comma and filters after the variables")
}

// ParseNames parses "VAR[&VAR]*", names of variables as [ParseVars] reads them. "*" and a comma
// are errors.
func ParseNames(s string) ([]string, error) {
	v, after, err := cutVars(s + ",")
	switch {
	case err != nil:
	case after <= len(s):
		err = errorAt(ErrSpec, after-1, "expected & between the names of variables, found a comma")
	case v.All:
		err = errorAt(ErrSpec, 0, "expected names of variables, found *")
	}
	return v.Names, err
}

// ParseVarsCodecs parses "VAR[&VAR]*,JSON", as [ParseVars] does, where JSON is text for
// [ParseCodecs] or the name of a file with such text, which read reads. JSON without
// variables is for all of them. An object begins with "{" and a list with "[".
func ParseVarsCodecs(s string, read func(name string) ([]byte, error)) (v Vars, err error) {
	at := 0
	if v = (Vars{All: true}); !isJSON(s) {
		if v, at, err = cutVars(s); err != nil {
			if strings.Contains(s, ",") {
				return Vars{}, err
			}
			v, at = Vars{All: true}, 0
		}
	}
	text := []byte(s[at:])
	if !isJSON(s[at:]) {
		// Columns are those of the file.
		if text, err = read(s[at:]); err != nil {
			return Vars{}, err
		}
		at = 0
	}
	v.Chain, err = ParseCodecs(text)
	if e, ok := err.(*Error); ok {
		e.Col += at
	}
	v.None = err == nil && len(v.Chain) == 0
	return v, err
}

func isJSON(s string) bool { return strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") }
