package fleet

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWatch adds lines to logs, one of them in two parts. What was there before is not counted.
func TestWatch(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b")
	require.NoError(t, os.Mkdir(dir, 0o777))
	add := func(name, text string) {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
		require.NoError(t, err)
		_, err = f.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	add("1.archive.jsonl", `{"outcome":"ok","size":5}`+"\n")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	reports := make(chan Progress)
	go func() {
		j := Job{Verb: "archive", Dir: dir}
		j.Watch(ctx, time.Millisecond, func(p Progress) {
			select {
			case reports <- p:
			case <-ctx.Done():
			}
		})
		close(reports)
	}()
	await := func(want Progress) {
		for p := range reports {
			if p == want {
				return
			}
		}
		t.Errorf("no report of %+v", want)
	}
	// A line that is added before the watch begins is not counted, so wait for it.
	for first := true; first; {
		add("0.archive.jsonl", `{"outcome":"ok","size":0}`+"\n")
		select {
		case <-reports:
			first = false
		case <-time.After(20 * time.Millisecond):
		}
	}
	drain := make(chan Progress, 1)
	go func() { drain <- <-reports }()
	add("1.archive.jsonl", `{"outcome":"failed"}`+"\n")
	base := <-drain
	base.Failed = 1
	add("1.archive.jsonl", `{"outcome":"ok","size":7}`+"\n"+`{"summary":{`)
	base.Files, base.Bytes = base.Files+1, base.Bytes+7
	await(base)
	add("1.archive.jsonl", `}}`+"\n"+`{"outcome":"unchanged"}`+"\n"+`{"outcome":"other"}`+"\n")
	base.Shards, base.Unchanged = 1, 1
	await(base)
	cancel()
	for range reports {
	}
}
