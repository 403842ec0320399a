package runlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	first = `{"cdfz_log":1,"run":{"verb":"archive","pid":7}}
{"source":"a.nc","target":"a.nc.cdfz","size":10,"archive_size":5,"outcome":"ok","exit":0}
{"summary":{"files":1,"exit":0}}
`
	second = `{"cdfz_log":1,"run":{"verb":"archive","pid":8}}
{"source":"a.nc","target":"a.nc.cdfz","outcome":"unchanged","exit":0}
{"source":"b\ufffd","source_bytes":"Yv8=","outcome":"damaged","exit":1,"error":"no header"}
`
	summary = `{"summary":{"files":2,"exit":1}}
`
)

// TestRead cuts a log at every byte, and begins to read in the first run: the second run has the
// lines that are whole.
func TestRead(t *testing.T) {
	all := first + second + summary
	name := filepath.Join(t.TempDir(), "log.jsonl")
	for cut := range len(all) + 1 {
		require.NoError(t, os.WriteFile(name, []byte(all[:cut]), 0o666))
		for from := 0; from <= min(cut, len(first)); from += 29 {
			r, err := Read(name, int64(from), 8)
			require.NoError(t, err)
			require.Equal(t, cut >= len(all)-1, r.Complete, "cut %d, from %d", cut, from) // the last newline may be missing
			want := 0
			for _, end := range []int{strings.Index(all, "unchanged"), strings.Index(all, "damaged")} {
				if cut >= end+strings.Index(all[end:], "\n") {
					want++
				}
			}
			require.Len(t, r.Entries, want, "cut %d, from %d", cut, from)
			if want == 2 {
				require.Equal(t, "a.nc", r.Entries[0].SourceName())
				require.Equal(t, "b\xff", r.Entries[1].SourceName())
				require.Equal(t, "no header", r.Entries[1].Error)
			}
		}
	}
	require.EqualValues(t, len(all), Length(name))

	r, err := Read(name, 0, 7)
	require.NoError(t, err)
	require.Len(t, r.Entries, 1)
	require.EqualValues(t, 5, r.Entries[0].ArchiveSize)

	// A log that has become shorter is read from its begin.
	r, err = Read(name, 1<<40, 8)
	require.NoError(t, err)
	require.Len(t, r.Entries, 2)
}

// TestReadOthers reads what is no log.
func TestReadOthers(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log.jsonl")
	r, err := Read(name, 0, 7)
	require.NoError(t, err)
	require.Empty(t, r.Entries)
	require.Zero(t, Length(name))

	for _, text := range []string{"", "\n\n", "null\n", "[1]\n", `{"cdfz_log":"x"}` + "\n", strings.Repeat("x", 1<<16)} {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
		r, err = Read(name, 0, 0)
		require.NoError(t, err, "%.20q", text)
		require.Empty(t, r.Entries)
		require.False(t, r.Complete)
	}
	require.NoError(t, os.WriteFile(name, make([]byte, maxLine+1), 0o666))
	_, err = Read(name, 0, 0)
	require.Error(t, err)
}
