package kernels

// Tally returns a histogram of bytes: count[i] is how many are i, and count[6] how many are 6 or more.
// over is the sum of b − 5 over all bytes b above 5.
func Tally(b []byte) (count [7]int, over int) {
	if haveFast {
		return tallyFast(b)
	}
	var of [2][7]int // two histograms, because consecutive bytes are often equal
	for ; len(b) >= 2; b = b[2:] {
		c, d := b[0], b[1]
		of[0][min(c, 6)]++
		of[1][min(d, 6)]++
		over += max(int(c), 5) + max(int(d), 5) - 10
	}
	for _, c := range b {
		of[0][min(c, 6)]++
		over += max(int(c), 5) - 5
	}
	for i := range count {
		count[i] = of[0][i] + of[1][i]
	}
	return count, over
}
