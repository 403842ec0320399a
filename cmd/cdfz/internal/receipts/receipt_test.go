package receipts

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFile adds receipts at the same time, to a file that ends within a line.
func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	require.NoError(t, os.WriteFile(name, []byte(`{"source":"/x`), 0o600))
	f, err := Open(name)
	require.NoError(t, err)
	_, err = Open(name)
	require.Error(t, err, "locked")
	rec := &Receipt{Source: "/a", Archive: "/a.cdfz", Size: 3, ArchiveSize: 2, SHA256: strings.Repeat("0a", 32), Ratio: 1.5, Modified: time.Unix(1, 5).UTC(), Version: "v"}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := f.Add(rec); err != nil {
				panic(err)
			}
		})
	}
	wg.Wait()
	require.False(t, f.Has("/a.cdfz", rec.SHA256))
	require.NoError(t, f.Close())
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	n, cut := 0, 0
	require.NoError(t, Read(bytes.NewReader(b), func(_ int, got *Receipt) {
		n++
		require.Equal(t, rec, got)
	}, func(e *LineError) {
		cut++
		require.ErrorIs(t, e, ErrCut)
		require.Equal(t, 1, e.Line)
	}))
	require.Equal(t, 20, n)
	require.Equal(t, 1, cut)
	f, err = Open(name)
	require.NoError(t, err)
	require.True(t, f.Has("/a.cdfz", rec.SHA256))
	require.NoError(t, f.Close())
}

// TestNames adds and reads names that are not UTF-8.
func TestNames(t *testing.T) {
	name := filepath.Join(t.TempDir(), "r.jsonl")
	f, err := Open(name)
	require.NoError(t, err)
	want := []*Receipt{}
	for _, s := range []string{"/a\xff", "/a\xfe", "/a\ufffd", "/\n"} {
		rec := &Receipt{Source: s, Archive: s + ".cdfz", SHA256: strings.Repeat("0a", 32), Modified: time.Unix(1, 0).UTC()}
		want = append(want, rec)
		require.NoError(t, f.Add(rec))
	}
	require.NoError(t, f.Close())
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	got := []*Receipt{}
	require.NoError(t, Read(bytes.NewReader(b), func(_ int, rec *Receipt) { got = append(got, rec) }, func(e *LineError) { t.Error(e) }))
	require.Equal(t, want, got)
	require.Equal(t, 2, bytes.Count(b, []byte(`"archive_bytes":`)))
}

// TestOtherFile opens files that may be receipts and files that are not, which must stay as they
// are.
func TestOtherFile(t *testing.T) {
	for text, ok := range map[string]bool{
		"": true, "\n": true, `{`: true, `{"source":"/x`: true, "{\"source\":\"/x\nnotes\n": true,
		"CDF\x01\x00": false, "notes": false, "{\n \"name\": 1\n}": false, "{\"sources\":[": false, strings.Repeat("\x00", maxLine+1): false,
	} {
		name := filepath.Join(t.TempDir(), "r.jsonl")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		f, err := Open(name)
		if ok {
			require.NoError(t, err, text)
			require.NoError(t, f.Close())
			continue
		}
		require.ErrorContains(t, err, "expected receipts, found another file", text)
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, text, string(b))
	}
}

// TestReplaced removes or replaces the file to which receipts are added: nobody would find them.
func TestReplaced(t *testing.T) {
	if runtime.GOOS == "windows" { // open files stay
		t.Skip()
	}
	for _, replace := range []bool{false, true} {
		name := filepath.Join(t.TempDir(), "r.jsonl")
		f, err := Open(name)
		require.NoError(t, err)
		rec := &Receipt{Source: "/a", Archive: "/a.cdfz", SHA256: strings.Repeat("0a", 32)}
		require.NoError(t, f.Add(rec))
		require.NoError(t, os.Rename(name, name+"~"))
		if replace {
			require.NoError(t, os.WriteFile(name, nil, 0o600))
		}
		require.ErrorContains(t, f.Add(rec), "removed or replaced")
		require.NoError(t, os.Rename(name+"~", name))
		require.ErrorContains(t, f.Add(rec), "removed or replaced", "all further calls fail")
		require.NoError(t, f.Close())
	}
}

// TestDeletable lists the sources that are kept.
func TestDeletable(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a")
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	write(name, "abc")
	open := func(name string) (*os.File, os.FileInfo) {
		f, err := os.Open(name)
		require.NoError(t, err)
		t.Cleanup(func() { f.Close() })
		st, err := f.Stat()
		require.NoError(t, err)
		return f, st
	}
	f, st := open(name)
	require.NoError(t, Deletable(name, f, st))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(name, link))
	require.ErrorContains(t, Deletable(link, f, st), "symbolic link")

	// Another name of the file is removed meanwhile.
	hard := filepath.Join(dir, "hard")
	require.NoError(t, os.Link(name, hard))
	f, st = open(name)
	require.NoError(t, os.Remove(hard))
	require.NoError(t, Deletable(name, f, st))

	// The same size and time, but other bytes.
	f, st = open(name)
	time.Sleep(20 * time.Millisecond) // longer than the clock of the file system ticks
	write(name, "xyz")
	require.NoError(t, os.Chtimes(name, st.ModTime(), st.ModTime()))
	if runtime.GOOS == "linux" { // others do not tell
		require.ErrorContains(t, Deletable(name, f, st), "changed")
	}
	write(name, "more")
	require.ErrorContains(t, Deletable(name, f, st), "changed")
	f, st = open(name)
	require.NoError(t, os.Rename(name, hard))
	require.ErrorIs(t, Deletable(name, f, st), ErrKept)
	write(name, "more")
	require.ErrorContains(t, Deletable(name, f, st), "another file has its name")
}
