//go:build judge

package cdf3_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJudgeBuilder reads what was built with ncdump.
func TestJudgeBuilder(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.nc")
	f, err := os.Create(name)
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, built().WriteFile(context.Background(), f))
	out, err := exec.Command("ncdump", name).CombinedOutput()
	require.NoError(t, err, "%s", out)
	got := strings.Join(strings.Fields(string(out)), " ")
	for _, want := range []string{
		"t = UNLIMITED ; // (3 currently)", ":version = 2 ;", ":range = 0., 1.5 ;", `:empty = "" ;`, "byte:flag_values = 1b, 2b ;",
		"byte = -1, 0, 1 ;", `text = "a b " ;`, `char = "one ", "two ", "" ;`, "short = 1, 2, 3, 4, 5, 6, 7, 8, 9 ;", "int = 7 ;",
		"float = 1, 2, _ ;", "double = 0.1, 1.79769313486232e+308, -1 ;", "ubyte = 0, 1, 255 ;", "ushort = 0, 1, _ ;", "uint = 0, 1, _ ;",
		"int64 = 0, 1, -9223372036854775808 ;", "uint64 = 0, 1, 18446744073709551615 ;", "missing = _, _, _ ;",
	} {
		require.Contains(t, got, want)
	}
}
