package lorenz

import "slices"

// sampleLen is how many elements a sample has.
const sampleLen = 2048

// sampleOf returns elements spread over v, all of them if there are few.
func sampleOf[T lane](dst, v []T) []T {
	dst = dst[:0]
	if len(v) <= sampleLen {
		return append(dst, v...)
	}
	// Steps of an odd fraction, so that the sample is not in phase with rows.
	for i := range sampleLen {
		at := (uint64(i)*2 + 1) * uint64(len(v)) / (2 * sampleLen)
		at ^= uint64(i) * 7 & 15
		dst = append(dst, v[min(at, uint64(len(v)-1))])
	}
	return dst
}

// frequent is a value and how often a sample has it.
type frequent[T lane] struct {
	v T
	n int
}

// tally sorts a sample and returns its most frequent values, at most max, and
// how many different values it has.
func tally[T lane](s []T, max int) (top []frequent[T], distinct int) {
	slices.Sort(s)
	for i := 0; i < len(s); {
		j := i + 1
		for j < len(s) && s[j] == s[i] {
			j++
		}
		distinct++
		f := frequent[T]{s[i], j - i}
		at := len(top)
		for at > 0 && top[at-1].n < f.n {
			at--
		}
		if at < max {
			top = slices.Insert(top, at, f)
			top = top[:min(len(top), max)]
		}
		i = j
	}
	return top, distinct
}
