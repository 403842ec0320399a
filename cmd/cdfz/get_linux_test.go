package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/cdf3"
)

// openTerminal opens a terminal and its other end, from which a test reads the output.
func openTerminal(t *testing.T) (tty, other *os.File) {
	other, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { other.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(other.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(other.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { tty.Close() })
	return tty, other
}

// TestGetTerminal checks that text from a file cannot control the terminal, and that
// binary data is not written to it.
func TestGetTerminal(t *testing.T) {
	h := &cdf3.Header{Version: cdf3.Classic, Dims: []cdf3.Dim{{Name: "n", Len: 8}}, Vars: []cdf3.Var{{Name: "v", Type: cdf3.Char, DimIDs: []int{0}}}}
	require.NoError(t, h.Layout())
	image, err := h.Append(nil)
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "a.nc")
	require.NoError(t, os.WriteFile(name, append(image, "\x1b[2J\a\xc2\x9b\x00"...), 0o600))
	tty, other := openTerminal(t)
	for _, format := range []string{"csv", "json"} {
		var stderr bytes.Buffer
		require.Zero(t, run(t.Context(), []string{"get", "--format", format, name, "v"}, nil, tty, &stderr), "%s", &stderr)
		require.NoError(t, other.SetReadDeadline(time.Now().Add(10*time.Second)))
		b := make([]byte, 4096)
		n, err := other.Read(b)
		require.NoError(t, err)
		require.NotContains(t, string(b[:n]), "\x1b")
		require.Contains(t, string(b[:n]), map[string]string{"csv": `\x1b[2J\a\u009b`, "json": `"\u001b[2J\u0007\u009b"`}[format])
	}
	var stderr bytes.Buffer
	require.Equal(t, 2, run(t.Context(), []string{"get", "--format", "npy", name, "v"}, nil, tty, &stderr))
	require.Contains(t, stderr.String(), "will not write binary data to a terminal")
}
