package statefile

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/testdata/seeds"
)

// FuzzState reads state files. Each archive of one has a line.
func FuzzState(f *testing.F) {
	s := seeds.Of(f)
	text := "{\"cdfz_verify_state\":1}\n" + `{"archive":"/a","size":7,"modified":"2026-01-02T03:04:05Z","sha256":"x","proved":"2026-01-02T03:04:05Z"}` + "\n"
	two := "{\"cdfz_verify_state\":2}\n" + `{"archive":"/a/x","size":7,"modified":"2026-01-02T03:04:05Z","changed":"2026-01-02T03:04:05Z","fs":"f","inode":9,"sha256":"` + strings.Repeat("a", 64) + `","proved":"2026-01-02T03:04:06Z"}` + "\n"
	for name, b := range map[string]string{"whole": text, "empty": "", "head": text[:24], "later": "{\"cdfz_verify_state\":2}\n", "latest": "{\"cdfz_verify_state\":3}\n", "zero": text + `{"archive":"/a","archive_bytes":"/w=="}`, "cut": text[:60],
		"two":    two + "\n",
		"moved":  two + `{"root":"/a","fs":"f","inode":4}` + "\n" + `{"root":"/b","root_bytes":"L/8=","fs":"f","inode":4,"born":5}` + "\n",
		"gone":   two + `{"archive":"/a/x","gone":true}`,
		"ahead":  two + `{"archive":"/a/y","size":-1,"modified":"9999-12-31T23:59:59Z","changed":"9999-01-02T03:04:05Z","sha256":"aa","proved":"9999-01-02T03:04:05Z"}`,
		"object": two + `{"archive":"s3://b/x","size":7,"etag":"x","modified":"0001-01-01T00:00:00Z","proved":"2026-01-02T03:04:05Z"}`,
	} {
		s.Add(name, []byte(b))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		now := time.Now().UnixNano()
		st := &State{now: now, known: map[Key]proved{}}
		lines, err := st.read(bytes.NewReader(text))
		if err == nil {
			require.LessOrEqual(t, len(st.known), max(lines, 0))
			require.LessOrEqual(t, len(st.known)+len(st.roots), max(lines, 0))
			require.LessOrEqual(t, lines, bytes.Count(text, []byte("\n"))+1)
			for _, p := range st.known {
				require.LessOrEqual(t, p.at, now)
			}
		}
	})
}
