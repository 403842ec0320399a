package cdlgen

// SetSpill changes the number of bytes of values kept in memory.
func SetSpill(n int) (restore func()) {
	old := spillLen
	spillLen = n
	return func() { spillLen = old }
}
