package jsonlines

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// head begins files of the tests.
const head = `{"test":`

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	name := func(text string) string {
		name := filepath.Join(dir, fmt.Sprint(time.Now().UnixNano()))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
		return name
	}
	long := strings.Repeat("x", MaxLine)
	for text, want := range map[string]string{
		"": "", head: "", head[:3]: "", `{"test":1}`: "", // the first line was cut off
		"{\"test\":1}\n":                 "{\"test\":1}\n",
		"{\"test\":1}\n{\"a":             "{\"test\":1}\n",
		"{\"test\":1}\n{}\n":             "{\"test\":1}\n{}\n",
		"{\"test\":1}\n" + long[:1<<19]:  "{\"test\":1}\n",
		"{\"test\":1}\n" + long + "\n{}": "{\"test\":1}\n" + long + "\n",
	} {
		f, err := Open(name(text), head, "test")
		require.NoError(t, err, "%.40q", text)
		b, err := io.ReadAll(f.Reader())
		require.NoError(t, err)
		require.Equal(t, want, string(b))
		require.NoError(t, f.Close())
	}
	for text, want := range map[string]string{
		"x": "expected a test of cdfz, found another file", "CDF\x01": "expected a test of cdfz, found another file",
		head + long + long: "expected lines of at most 1048576 bytes",
	} {
		n := name(text)
		_, err := Open(n, head, "test")
		require.EqualError(t, err, want)
		b, err := os.ReadFile(n)
		require.NoError(t, err)
		require.True(t, string(b) == text, "it stays as it is")
	}
	_, err := Open(dir, head, "test")
	require.Error(t, err)
	n := name("")
	f, err := Open(n, head, "test")
	require.NoError(t, err)
	_, err = Open(n, head, "test")
	require.ErrorIs(t, err, atomicfile.ErrLocked)
	require.NoError(t, f.Close())
}

// TestAdd adds lines from several goroutines, and one that is too long.
func TestAdd(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	f, err := Open(name, head, "test")
	require.NoError(t, err)
	f.Add(map[string]int{"test": 1})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 50 {
				f.Add([]int{i, n})
			}
		})
	}
	wg.Wait()
	b, err := os.ReadFile(name) // not closed yet
	require.NoError(t, err)
	require.Equal(t, 401, strings.Count(string(b), "\n"))
	require.NoError(t, f.Err())
	f.Add(strings.Repeat("x", MaxLine))
	f.Add(1) // nothing after an error
	require.EqualError(t, f.Close(), "expected lines of less than 1048576 bytes, found one with 1048578")
	again, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, b, again)
	require.True(t, strings.HasSuffix(string(b), "]\n"))
}

// TestEmptied empties a file between lines, before its first one after the head, and while a line is written. It
// begins with the head again, and can be opened.
func TestEmptied(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x")
	f, err := Open(name, head, "test")
	require.NoError(t, err)
	f.AddHead(map[string]int{"test": 1})
	empty := func() { require.NoError(t, os.Truncate(name, 0)) }
	is := func(want string) {
		t.Helper()
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, want, string(b))
	}
	empty()
	f.Add(1)
	f.Add(2)
	is("{\"test\":1}\n1\n2\n")
	empty()
	f.Add(3)
	is("{\"test\":1}\n3\n")
	require.NoError(t, f.Close())
	f, err = Open(name, head, "test")
	require.NoError(t, err)
	f.AddHead(map[string]int{"test": 2})
	empty()
	require.NoError(t, f.Close())
	is("")

	// Another program empties it at any time.
	f, err = Open(name, head, "test")
	require.NoError(t, err)
	f.AddHead(map[string]int{"test": 3})
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				_ = os.Truncate(name, 0)
			}
		}
	})
	for i := range 2000 {
		f.Add(i)
	}
	close(done)
	wg.Wait()
	f.Add("last")
	require.NoError(t, f.Close())
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(b), "{\"test\":3}\n"), "%.80q", b)
	require.True(t, strings.HasSuffix(string(b), "\"last\"\n"))
}

// TestStream adds lines to a pipe, which is neither flushed nor closed.
func TestStream(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	f := Stream(w)
	f.AddHead(map[string]int{"test": 1})
	f.Add(2)
	require.NoError(t, f.Close())
	_, err = w.WriteString("more\n")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, "{\"test\":1}\n2\nmore\n", string(b))
}
