package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats"
)

// TestGetNames checks that every variable with an odd name can be selected, by the name
// as printed and with backslashes, and that each goes into a separate file.
func TestGetNames(t *testing.T) {
	for _, file := range []string{"cdf1_names.nc", "cdf1_names_nul.nc"} {
		src := filepath.Join("../../testdata/classic", file)
		f, err := archive.Open(t.Context(), src, nil)
		require.NoError(t, err)
		defer f.Close()
		h := f.Header()
		dir := t.TempDir()
		args := []string{"get", "-q", "--format", "raw", "-o", dir, src, "--"}
		for i := range h.Vars {
			name := h.Vars[i].Name
			escaped := ""
			for _, c := range []byte(name) {
				escaped += fmt.Sprintf(`\x%02x`, c)
			}
			for _, arg := range []string{display.Quoted(name), strconv.Quote(name), strconv.QuoteToASCII(name), escaped} {
				p, err := formats.ParseSelection(arg + "[0]")
				require.NoError(t, err, arg)
				require.Equal(t, name, p.Var)
			}
			args = append(args, escaped)
		}
		var stderr bytes.Buffer
		require.Zero(t, run(t.Context(), args, nil, &bytes.Buffer{}, &stderr), "%s", &stderr)
		require.Len(t, names(t, dir), len(h.Vars))
	}
}

// TestGetURL reads a file at a URL. User and query must not be shown.
func TestGetURL(t *testing.T) {
	src := "../../testdata/classic/cdf2_climate.nc"
	dir := t.TempDir()
	var stdout, stderr bytes.Buffer
	get := func(args ...string) int {
		stdout.Reset()
		stderr.Reset()
		return run(t.Context(), args, nil, &stdout, &stderr)
	}
	require.Zero(t, get("archive", "-q", "-o", filepath.Join(dir, "a.nc.cdfz"), src))
	b, err := os.ReadFile(src)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.nc"), b, 0o600))
	require.Zero(t, get("get", src, "tas[3, :, ::2]"))
	want := stdout.String()
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	secret := strings.Replace(server.URL, "http://", "http://me:secret@", 1)
	for _, name := range []string{"/a.nc", "/a.nc.cdfz"} {
		require.Zero(t, get("get", "--json", "--explain", secret+name+"?sig=secret", "tas[3, :, ::2]"), "%s", &stderr)
		require.Equal(t, want, stdout.String())
		require.Contains(t, stderr.String(), `{"file":"`+server.URL+name+`","target":"-"`)
		require.NotContains(t, stderr.String(), "secret")
		require.Equal(t, terminal.ExitFailed, get("get", secret+name+"?sig=secret", "tsa"))
		require.Equal(t, "cdfz: "+server.URL+name+": there is no variable tsa\ncdfz: hint: did you mean ta, tas?\n", stderr.String())
	}
	require.Equal(t, terminal.ExitFailed, get("get", secret+"/none?sig=secret", "v"))
	require.Equal(t, 1, strings.Count(stderr.String(), server.URL), "%s", &stderr)
	require.NotContains(t, stderr.String(), "secret")
}
