package lz4

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExpandEnd expands blocks around the rules for the end: "A", a match of m bytes, and literals.
func TestExpandEnd(t *testing.T) {
	block := func(match, literals int) []byte {
		return append([]byte{0x10 | byte(match-minMatch), 'A', 1, 0, byte(literals << 4)}, strings.Repeat("A", literals)...)
	}
	for _, c := range []struct {
		match, literals int
		ok              bool
	}{
		{7, 5, true}, {6, 5, false}, // the match begins 12 bytes before the end, and 11
		{8, 4, false}, {8, 5, true}, {18, 0, false}, {18, 14, true}, {4, 8, true}, {4, 7, false},
	} {
		n := 1 + c.match + c.literals
		out := make([]byte, n)
		err := Expand(out, block(c.match, c.literals))
		if !c.ok {
			require.ErrorIs(t, err, errEnd, "%+v", c)
			continue
		}
		require.NoError(t, err, "%+v", c)
		require.Equal(t, strings.Repeat("A", n), string(out))
	}
	require.NoError(t, Expand(make([]byte, 3), []byte("\x30AAA")), "literals only")
	require.ErrorContains(t, Expand(make([]byte, 4), []byte("\x30AAA")), "expected a block that decodes to 4 bytes, found 3")
}
