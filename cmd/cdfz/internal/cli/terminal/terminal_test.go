package terminal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
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
	display.WriteTable(a.Out, [][]string{{hostile, "x"}, {"y", hostile}}, true)
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

func TestPlainText(t *testing.T) {
	_, missing := os.Open("nosuch")
	require.Equal(t, "no such file or directory", PlainText(missing, "nosuch"))
	require.Equal(t, "open nosuch: no such file or directory", PlainText(missing, "other"))
	require.Equal(t, "entry: damaged", PlainText(errors.New("archive: entry: damaged"), ""))
	require.Equal(t, "reading: bad", PlainText(fmt.Errorf("archive: reading: %w", errors.New("cdf3: bad")), ""))
	require.Equal(t, "bad", PlainText(errors.New("archive: blockidx: bad"), ""))
}
