package formats

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/cdf3"
)

// NameError reports a selection of a variable that the file does not have.
type NameError struct {
	Name  string
	Names []string // of the variables in the file
}

func (e *NameError) Error() string {
	if len(e.Names) == 0 {
		return fmt.Sprintf("there is no variable %s: the file has none", quoted(e.Name))
	}
	return "there is no variable " + quoted(e.Name)
}

// findVar returns the number of the first variable with that name.
func findVar(h *cdf3.Header, name string) (int, error) {
	names := make([]string, len(h.Vars))
	for i := range h.Vars {
		if names[i] = h.Vars[i].Name; names[i] == name {
			return i, nil
		}
	}
	return 0, &NameError{name, names}
}

// dimsText lists the dimensions of a variable.
func dimsText(h *cdf3.Header, v *cdf3.Var) string {
	switch len(v.DimIDs) {
	case 0:
		return "no dimension"
	case 1:
		return "one dimension, " + dimName(h, v, 0)
	}
	names := make([]string, 0, len(v.DimIDs))
	for i := range v.DimIDs {
		if i == 8 {
			names = append(names, "…")
			break
		}
		names = append(names, dimName(h, v, i))
	}
	return fmt.Sprintf("%d dimensions, %s", len(v.DimIDs), strings.Join(names, ", "))
}

func dimName(h *cdf3.Header, v *cdf3.Var, i int) string { return quoted(h.Dims[v.DimIDs[i]].Name) }

// coordVar returns the number of the coordinate variable of a dimension.
func coordVar(h *cdf3.Header, dim int) (int, bool) {
	for i := range h.Vars {
		v := &h.Vars[i]
		if v.Name == h.Dims[dim].Name && len(v.DimIDs) == 1 && v.DimIDs[0] == dim {
			return i, true
		}
	}
	return 0, false
}

// quoted returns a name for messages, as one word that is safe to print. Plain names
// are unchanged; others are quoted and escaped.
func quoted(s string) string {
	if s != "" && printable(s) && !strings.ContainsAny(s, " \"\\") {
		return s
	}
	return strconv.Quote(s)
}

// printable reports whether s is safe to print on a terminal.
func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
