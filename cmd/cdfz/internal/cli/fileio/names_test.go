package fileio

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/remote"
)

// TestSecrets checks that messages hide the secrets of URLs, well-formed or not.
func TestSecrets(t *testing.T) {
	for _, name := range []string{
		"https://me:secret@example.org/x.nc", "https://me:secret@exa mple.org:port/x.nc", "http://me:sec/secret@host/x", "https://example.org/x?key=secret",
		"HTTPS://me:secret@example.org:bad/x", "https://me:secret@[::1/x.nc", "https://%zz:secret@h/x", "https://me:%secret@h/x?key=secret",
		"http:/me:secret@h/x",
	} {
		var out, msg bytes.Buffer
		a := newRunTo(&out, &msg)
		a.term.JSON = true
		in, err := a.Open(t.Context(), name)
		if err == nil {
			in.Close()
		} else {
			a.term.FailFile(terminal.ShowName(name), err)
		}
		a.term.Message("could not parse %q, or %s", name, name)
		require.NotContains(t, out.String()+msg.String(), "secret", name)
		if remote.IsURL(name) {
			require.NotContains(t, LocalName(name), "secret", name)
		}
	}
}

// TestOlderNames checks that the names of older states lead to those of the current ones, and no others do.
func TestOlderNames(t *testing.T) {
	for _, of := range []string{"x.nc.cdfz", "a/x.cdfz", "s3://b/a/x y\n.nc.cdfz", "x.nc.20260102T030405Z.cdfz", "\xff.cdfz"} {
		for _, at := range []time.Time{time.Unix(0, 1), time.Unix(1e9, 0), time.Unix(3e11, 0), time.Unix(-1e11, 5)} {
			for _, n := range []int{1, 2, 1000} {
				require.Equal(t, of, CurrentName(OlderName(of, at, n)))
			}
		}
	}
	for _, name := range []string{"x.nc.cdfz", "x.2026.cdfz", "x.nc.20260102T030405Z", "x.nc.20260102T030405Z-.cdfz", "x.nc.20260102T030405.cdfz", ".20260102T030405Z.cdfz", "a/.20260102T030405Z.cdfz", "x.@.cdfz"} {
		require.Empty(t, CurrentName(name))
	}
}
