package parity

import "testing"

// ManyGroups makes groups smaller for a test.
func ManyGroups(t testing.TB, shards, stripe int64) {
	a, b := policyShards, policyStripe
	policyShards, policyStripe = shards, stripe
	t.Cleanup(func() { policyShards, policyStripe = a, b })
}

// Codes computes parity shards with the code of a layout.
func Codes(data [][]byte, parity int) ([][]byte, error) {
	n := int64(len(data[0]))
	l := &Layout{Piece: n, perStripe: int64(len(data)), Groups: 1, Data: int64(len(data)), Parity: int64(parity), parts: 1}
	var group []byte
	for _, d := range data {
		group = append(group, d...)
	}
	return newCodes(l).encode(group)
}

// ParseHead is parseHead.
var ParseHead = parseHead

// PassedInFile makes all checksums of passed pieces go to a file.
func PassedInFile(t testing.TB) {
	n := passedPieces
	passedPieces = 0
	t.Cleanup(func() { passedPieces = n })
}

// Intact reports whether everything that the parity protects is intact, and the parity.
func (r *Report) Intact() bool {
	return r.BadPieces == 0 && r.BadRecords == 0 && !r.Header && len(r.Unknown) == 0 && r.missing == 0
}
