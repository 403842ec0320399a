package fileio

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// TestReadNames reads lists with names at the limit of length, with and without a last end.
func TestReadNames(t *testing.T) {
	longest := strings.Repeat("x", maxName)
	for _, tc := range []struct {
		text string
		null bool
		want []string
		long int // number of names that are too long
	}{
		{"", false, nil, 0},
		{"\n\n", false, nil, 0},
		{"a", false, []string{"a"}, 0},
		{"a\n\nb\n", false, []string{"a", "b"}, 0},
		{" a \r\n#b\n", false, []string{" a \r", "#b"}, 0}, // names, not comments
		{"a\nb\x00\x00c", true, []string{"a\nb", "c"}, 0},
		{"a\x00b\n", false, []string{"a\x00b"}, 0},
		{longest + "\nb\n", false, []string{longest, "b"}, 0},
		{longest + "x\nb\n", false, []string{longest + "x", "b"}, 1},
		{longest + longest + longest + "\nb", false, []string{longest + "x", "b"}, 1},
		{longest + "xy", false, []string{longest + "x"}, 1},
	} {
		for _, r := range []io.Reader{strings.NewReader(tc.text), iotest.DataErrReader(iotest.HalfReader(strings.NewReader(tc.text)))} {
			var got []string
			long := 0
			require.NoError(t, readNames(r, tc.null, func(name string, tooLong bool) bool {
				got = append(got, name)
				if tooLong {
					long++
				}
				return true
			}))
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.long, long)
		}
	}
	// An error of the list comes after the names before it.
	broken := errors.New("broken")
	var got []string
	err := readNames(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), false, func(name string, _ bool) bool {
		got = append(got, name)
		return true
	})
	require.ErrorIs(t, err, broken)
	require.Equal(t, []string{"a"}, got) // b may be the start of a name
}
