package display

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the candidate that a mistyped name probably means, or "".
func Nearest(name string, candidates []string) string {
	best, bestDist := "", max(2, len([]rune(name))/3)+1
	for _, c := range candidates {
		if strings.EqualFold(c, name) {
			return c
		}
		if d := levenshtein.ComputeDistance(name, c); d < bestDist && d < len([]rune(c)) {
			best, bestDist = c, d
		}
	}
	if best != "" || len(name) < 2 {
		return best
	}
	for _, c := range candidates {
		if strings.HasPrefix(c, name) {
			return c
		}
	}
	return ""
}
