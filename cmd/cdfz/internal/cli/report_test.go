package cli

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/remote"
)

// hostile is text that a terminal acts on.
const hostile = "a\x1b[31m\u009b2J\u202eb\x7f\U000E0001\n"

// TestTerminal checks that text from a file is made safe for the terminal.
func TestTerminal(t *testing.T) {
	var out, msg bytes.Buffer
	a := New(nil, &out, &msg)
	a.Print("%s", hostile)
	a.Report("%s", hostile)
	a.Message("%s", hostile)
	WriteTable(a.Out, [][]string{{hostile, "x"}, {"y", hostile}}, true)
	a.Emit(map[string]string{hostile: hostile})
	for _, b := range []*bytes.Buffer{&out, &msg} {
		for _, c := range []string{"\x1b", "\u009b", "\u202e", "\x7f", "\U000E0001"} {
			require.NotContains(t, b.String(), c)
		}
	}
	// The meaning of the JSON is unchanged.
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	var back map[string]string
	require.NoError(t, json.Unmarshal(lines[len(lines)-1], &back))
	require.Equal(t, map[string]string{hostile: hostile}, back)
}

// TestSecrets checks that messages hide the secrets of URLs, well-formed or not.
func TestSecrets(t *testing.T) {
	for _, name := range []string{
		"https://me:secret@example.org/x.nc", "https://me:secret@exa mple.org:port/x.nc", "http://me:sec/secret@host/x", "https://example.org/x?key=secret",
		"HTTPS://me:secret@example.org:bad/x", "https://me:secret@[::1/x.nc", "https://%zz:secret@h/x", "https://me:%secret@h/x?key=secret",
		"http:/me:secret@h/x",
	} {
		var out, msg bytes.Buffer
		a := New(nil, &out, &msg)
		a.JSON = true
		in, err := a.Open(t.Context(), name)
		if err == nil {
			in.Close()
		} else {
			a.FailFile(ShowName(name), err)
		}
		a.Message("could not parse %q, or %s", name, name)
		require.NotContains(t, out.String()+msg.String(), "secret", name)
		if remote.IsURL(name) {
			require.NotContains(t, LocalName(name), "secret", name)
		}
	}
}

func TestNearest(t *testing.T) {
	verbs := []string{"archive", "restore", "verify", "repair", "info", "get", "dump", "bench"}
	for name, want := range map[string]string{
		"archiv": "archive", "verfy": "verify", "INFO": "info", "resotre": "restore", "x": "", "frobnicate": "", "arch": "archive", "gt": "get", "": "",
	} {
		require.Equal(t, want, Nearest(name, verbs), "%q", name)
	}
	require.Equal(t, "tas", Nearest("tsa", []string{"pr", "tas"}))
}
