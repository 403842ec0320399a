package verify

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// FuzzState reads state files. Each archive of one has a line.
func FuzzState(f *testing.F) {
	s := seeds.Of(f)
	text := "{\"cdfz_verify_state\":1}\n" + `{"archive":"/a","size":7,"modified":"2026-01-02T03:04:05Z","sha256":"x","proved":"2026-01-02T03:04:05Z"}` + "\n"
	for name, b := range map[string]string{"whole": text, "empty": "", "head": text[:24], "later": "{\"cdfz_verify_state\":2}\n", "zero": text + `{"archive":"/a","archive_bytes":"/w=="}`, "cut": text[:60]} {
		s.Add(name, []byte(b))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		st := &state{known: map[stateKey]proved{}}
		lines, err := st.read(bytes.NewReader(text))
		if err == nil {
			require.LessOrEqual(t, len(st.known), max(lines, 0))
			require.LessOrEqual(t, lines, bytes.Count(text, []byte("\n"))+1)
		}
	})
}
