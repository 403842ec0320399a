package plan

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
)

// The longest names of entries, in bytes.
const (
	MaxEntryName  = 255
	pooledMaxName = 48 // in a pooled archive
)

// PathNames assigns paths to variables; see docs/FORMAT.md, "Names".
type PathNames struct {
	Pooled bool
	Taken  map[string]bool
}

// Of returns the path of variable number n, whose longest chunk key has key bytes. It
// returns false if its entries would have names that are too long.
func (p *PathNames) Of(name string, n int, key int64) (string, bool) {
	limit := int64(MaxEntryName)
	if p.Pooled {
		limit = pooledMaxName
	}
	fits := func(path string) bool { return int64(len(path))+1+key <= limit }
	if validPath(name) && !p.Taken[name] && (!p.Pooled || fits(name)) {
		if !fits(name) {
			return "", false
		}
		p.Taken[name] = true
		return name, true
	}
	path := czip.VarPrefix + strconv.Itoa(n)
	return path, fits(path)
}

// validPath reports whether a variable's name may be its path.
func validPath(name string) bool {
	if len(name) < 1 || len(name) > 200 || name[0] == '.' {
		return false
	}
	plain := true // most names are
	for i := range len(name) {
		c := name[i]
		plain = plain && c >= ' ' && c < 0x7f && c != '/' && c != '\\'
	}
	if plain {
		return true
	}
	if !utf8.ValidString(name) {
		return false
	}
	return !strings.ContainsAny(name, `/\`) && strings.IndexFunc(name, unicode.IsControl) < 0
}
