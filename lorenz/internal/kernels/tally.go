package kernels

// Tally counts bytes: count[i] are i, and count[6] are 6 or more. over is the sum of what the
// latter exceed 5 by.
func Tally(b []byte) (count [7]int, over int) {
	if haveFast {
		return tallyFast(b)
	}
	var of [2][7]int // two, since equal bytes follow each other
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
