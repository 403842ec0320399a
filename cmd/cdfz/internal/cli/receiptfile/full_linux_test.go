package receiptfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestFull adds a receipt to a file that has room only for its first bytes, and then another with
// enough room. If the second were written, it would end the line of the first and be lost.
func TestFull(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	f, err := Open(name)
	require.NoError(t, err)
	defer f.Close()
	rec := &Receipt{Source: "/a", Archive: "/a.cdfz", SHA256: strings.Repeat("0a", 32)}
	require.NoError(t, f.Add(t.Context(), rec))
	st, err := os.Stat(name)
	require.NoError(t, err)
	var before unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_FSIZE, &before))
	limit := before
	limit.Cur = uint64(st.Size()) + 20
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &limit))
	rec = &Receipt{Source: "/b", Archive: "/b.cdfz", SHA256: strings.Repeat("0b", 32)}
	err = f.Add(t.Context(), rec)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_FSIZE, &before))
	require.ErrorIs(t, err, unix.EFBIG)
	require.ErrorIs(t, f.Add(t.Context(), rec), unix.EFBIG)
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Len(t, b, int(st.Size())+20)
}
