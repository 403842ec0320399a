// Package kernels has the inner loops of filters that gain from AVX2. Each function does
// as much of its work as it can and returns how much that is, 0 without assembly: on other
// machines and with the build tag purego. Callers do the rest in plain Go. It imports
// nothing of this module.
package kernels

//go:generate sh -c "cd gen && go run . -out ../kernels_amd64.s -stubs ../stubs_amd64.go -pkg kernels"

// Sums are sums of 16-bit big-endian words in steps of 16 words.
type Sums struct {
	// In lanes: four of Sum, four of Prefix, eight of 32 bits of the weighted high bytes,
	// and eight of the low bytes.
	lanes [16]uint64
}

// Sum is the sum of all words.
func (s *Sums) Sum() uint64 { return s.lanes[0] + s.lanes[1] + s.lanes[2] + s.lanes[3] }

// Prefix is the sum of the sums before each step.
func (s *Sums) Prefix() uint64 { return s.lanes[4] + s.lanes[5] + s.lanes[6] + s.lanes[7] }

// Weighted is the sum of all words times 16 for the first of a step to 1 for the last.
func (s *Sums) Weighted() uint64 {
	var high, low uint64
	for i := range 4 {
		high += s.lanes[8+i]>>32 + s.lanes[8+i]&(1<<32-1)
		low += s.lanes[12+i]>>32 + s.lanes[12+i]&(1<<32-1)
	}
	return high<<8 + low
}

// MaxSums is the most bytes for which [Fletcher] does not overflow.
const MaxSums = 1 << 20
