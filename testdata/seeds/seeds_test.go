package seeds

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEncode(t *testing.T) {
	require.Equal(t, "go test fuzz v1\n[]byte(\"a\\x00\\\"\")\nstring(\"ä\\n\")\nint64(-1)\nuint8(7)\nbool(true)\n",
		string(encode([]any{[]byte("a\x00\""), "ä\n", int64(-1), uint8(7), true})))
}

// TestAllTargets checks that every fuzz target of the module has small seeds.
func TestAllTargets(t *testing.T) {
	target := regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	found := 0
	require.NoError(t, filepath.WalkDir("../..", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, m := range target.FindAllSubmatch(b, -1) {
			found++
			dir := filepath.Join(filepath.Dir(name), "testdata", "fuzz", string(m[1]))
			seeds, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.NotEmpty(t, seeds, dir)
			for _, s := range seeds {
				st, err := s.Info()
				require.NoError(t, err)
				require.LessOrEqual(t, st.Size(), int64(maxLen), "%s/%s", dir, s.Name())
			}
		}
		return nil
	}))
	require.Greater(t, found, 30)
}
