package contexts

import "math/bits"

// Logarithms of the encoder are integers, so that it chooses the same on every machine.
const (
	logFrac  = 16 // bits after the point
	logTable = 11 // bits after the first one that count
)

var logs = makeLogs()

// makeLogs returns the binary logarithms of 1 to 2, in units of 2^-logFrac.
func makeLogs() (t [1<<logTable + 1]uint32) {
	for i := range t {
		x := uint64(1<<logTable+i) << (31 - logTable) // 1 is 2^31
		v := uint32(0)
		for b := range logFrac {
			x = x * x >> 31
			if x >= 1<<32 {
				x >>= 1
				v |= 1 << (logFrac - 1 - b)
			}
		}
		t[i] = v
	}
	t[1<<logTable] = 1 << logFrac
	return t
}

// log2 returns the binary logarithm of n ≥ 1, in units of 2^-logFrac.
func log2(n int) int64 {
	l := bits.Len(uint(n)) - 1
	if l <= logTable {
		return int64(l<<logFrac) + int64(logs[n<<(logTable-l)-1<<logTable])
	}
	return int64(l<<logFrac) + int64(logs[n>>(l-logTable)-1<<logTable])
}

// entropyOf returns the bits of symbols with these counts, in units of 2^-logFrac.
func entropyOf(counts []uint32, sum int) int64 {
	if sum == 0 {
		return 0
	}
	total := log2(sum) * int64(sum)
	for _, c := range counts {
		if c > 0 {
			total -= log2(int(c)) * int64(c)
		}
	}
	return max(total, 0)
}
