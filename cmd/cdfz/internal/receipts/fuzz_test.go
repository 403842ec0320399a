package receipts

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// FuzzRead checks that each line is one receipt, one error, or empty.
func FuzzRead(f *testing.F) {
	s := seeds.Of(f)
	line := `{"source":"/a","archive":"/a.cdfz","size":3,"archive_size":2,"sha256":"` + strings.Repeat("0a", 32) + `","modified":"2020-01-01T00:00:00Z"}`
	for name, text := range map[string]string{"two": line + "\n\n" + line + "\n", "cut": line + "\n" + line[:40], "joined": line + line, "other": "[1]\n7", "negative": strings.Replace(line, "3", "-3", 1)} {
		s.Add(name, []byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n := 0
		err := Read(bytes.NewReader(text), func(line int, rec *Receipt) {
			n++
			require.NotEmpty(t, rec.Archive)
			require.Len(t, rec.SHA256, 64)
		}, func(e *LineError) {
			n++
			require.Positive(t, e.Line)
		})
		require.NoError(t, err)
		require.LessOrEqual(t, n, bytes.Count(text, []byte{'\n'})+1)
	})
}
