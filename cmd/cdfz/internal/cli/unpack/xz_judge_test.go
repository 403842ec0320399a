//go:build judge

package unpack

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJudgeXZ opens files of the program xz: of several blocks, with and without their
// lengths, with each check, and joined.
func TestJudgeXZ(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	content := make([]byte, 100_000)
	for i := range content {
		content[i] = byte(i * i >> 9)
	}
	copy(content[50_000:], bytes.Repeat([]byte{7, 0x81, 0}, 9000)) // and chunks that are not compressed
	require.NoError(t, os.WriteFile(name, content, 0o600))
	for _, args := range [][]string{
		{"--block-size=4096"}, {"--block-size=30000", "--threads=2"}, {"--check=none", "--block-size=9999"},
		{"--check=crc32", "-0"}, {"--check=sha256", "-9e", "--block-size=70000"},
	} {
		b, err := exec.Command("xz", append(args, "--stdout", "--keep", name)...).Output()
		require.NoError(t, err, args)
		r, err := openXZ(bytes.NewReader(append(b, b...)))
		require.NoError(t, err, args)
		got, err := io.ReadAll(r)
		require.NoError(t, err, args)
		require.True(t, bytes.Equal(append(content, content...), got), args)
	}
}
