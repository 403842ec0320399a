package lorenz

// modeNames are the names of the modes by number (docs/LORENZ.md, section 2).
var modeNames = [...]string{"raw", "constant", "groups", "bytes", "adaptive", "references"}

// ModeName returns the name of the mode that an encoded block begins with, or "unknown".
func ModeName(first byte) string {
	if int(first) < len(modeNames) {
		return modeNames[first]
	}
	return "unknown"
}
