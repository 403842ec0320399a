package statefile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/internal/filetime"
)

// TestState has archives that were proved twice, names that are not UTF-8, and a file that is made shorter.
func TestState(t *testing.T) {
	name := filepath.Join(t.TempDir(), "s.jsonl")
	at := time.Unix(1e9, 5).UTC()
	open := func() *State {
		t.Helper()
		s, err := Open(name, nil)
		require.NoError(t, err)
		return s
	}
	first, later := filetime.Time{Time: at}, filetime.Time{Time: at.Add(1)}
	id := func(size int64) *Identity {
		return &Identity{Size: size, Modified: first, Changed: first, FS: "f", Inode: 3}
	}
	object := objectIdentity(7, time.Time{}, `"x"`)
	s := open()
	_, err := Open(name, nil)
	require.Error(t, err, "another program has it")
	sum := strings.Repeat("a", 64)
	for i := range 1200 {
		s.Add(fmt.Sprintf("/a/%d\xff", i%500), id(10), sum, time.Now())
	}
	s.Add("https://host/x", &object, sum, time.Now())
	require.NoError(t, s.Close())
	before, err := os.ReadFile(name)
	require.NoError(t, err)
	s = open()
	require.Len(t, s.known, 501)
	require.NotZero(t, s.Last("/a/7\xff", id(10)))
	for _, other := range []Identity{
		*id(11), {Size: 10, Modified: later, Changed: first, FS: "f", Inode: 3}, {Size: 10, Modified: first, Changed: later, FS: "f", Inode: 3},
		{Size: 10, Modified: first, Changed: first, FS: "g", Inode: 3}, {Size: 10, Modified: first, Changed: first, FS: "f", Inode: 4}, {Size: 10, Modified: first}, {},
	} {
		require.Zero(t, s.Last("/a/7\xff", &other))
	}
	require.Zero(t, s.Last("/a/7", id(10)))
	require.NotZero(t, s.Last("https://host/x", &object))
	for _, other := range []Identity{objectIdentity(8, time.Time{}, `"x"`), objectIdentity(7, time.Time{}, `"y"`), objectIdentity(7, at, `"x"`), objectIdentity(7, time.Time{}, "")} {
		require.Zero(t, s.Last("https://host/x", &other))
	}
	s.Add("/a/7\xff", id(11), sum, time.Now())
	require.NoError(t, s.Close())
	s = open()
	require.NotZero(t, s.Last("/a/7\xff", id(11)))
	require.NoError(t, s.Close())
	after, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Less(t, bytes.Count(after, []byte("\n")), bytes.Count(before, []byte("\n")))

	// An archive that has failed is due. It still has to hold its file.
	s = open()
	s.Revoke("/a/8\xff")
	s.Revoke("/a/unknown")
	s.Forget("/a/10\xff")
	require.NoError(t, s.Close())
	s = open()
	require.Zero(t, s.Last("/a/8\xff", id(10)))
	require.Equal(t, sum, s.SHA256("/a/8\xff"))
	require.NotZero(t, s.Last("/a/9\xff", id(10)))
	require.Len(t, s.known, 500)
	require.NoError(t, s.Close())

	// A line that was cut off.
	require.NoError(t, os.WriteFile(name, after[:len(after)-20], 0o644)) // the last line is that of /a/7
	s = open()
	require.Zero(t, s.Last("/a/7\xff", id(11)))
	require.NoError(t, s.Close())
}

// TestStateTimes has proofs and changes in the future, and times that a file system or JSON cannot tell apart.
func TestStateTimes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "s.jsonl")
	now := time.Now()
	second := now.Add(-time.Hour).Truncate(time.Second)
	for _, c := range []struct {
		why               string
		proved            time.Time
		modified, changed time.Time
		object, ok        bool
	}{
		{why: "proved after the change", proved: now, modified: second, changed: now.Add(-time.Second), ok: true},
		{why: "a clock that was ahead", proved: now.Add(time.Hour), modified: second, changed: second},
		{why: "a clock that was far ahead", proved: time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC), modified: second, changed: second},
		{why: "a clock that began in 1970", proved: time.Unix(0, 0), modified: second, changed: second},
		{why: "changed after the proof", proved: now.Add(-time.Minute), modified: second, changed: now},
		{why: "changed in the same second, on a clock of seconds", proved: second.Add(5e8), modified: second, changed: second},
		{why: "no clock of changes", proved: now, modified: second, ok: true},
		{why: "no times", proved: now},
		{why: "a year beyond 9999", proved: now, modified: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC), changed: second, ok: true},
		{why: "changed in a year beyond 9999", proved: now, modified: second, changed: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)},
		{why: "an object without an ETag", proved: second.Add(2e9), modified: second, object: true, ok: true},
		{why: "an object without an ETag, written in the same second", proved: second.Add(5e8), modified: second, object: true},
	} {
		archive := "/a/x"
		id := &Identity{Size: 9, Modified: filetime.Time{Time: c.modified}, Changed: filetime.Time{Time: c.changed}, object: c.object}
		if c.object {
			archive = "https://host/x"
		}
		s, err := Open(name, nil)
		require.NoError(t, err)
		s.Add(archive, id, strings.Repeat("a", 64), c.proved)
		require.NoError(t, s.Close())
		s, err = Open(name, nil)
		require.NoError(t, err)
		require.Equal(t, c.ok, s.Last(archive, id) != 0, c.why)
		require.NoError(t, s.Close())
	}
}

// TestStateVersion1 opens a file of version 1: all is due, and all archives have to hold what they held.
func TestStateVersion1(t *testing.T) {
	name := filepath.Join(t.TempDir(), "s.jsonl")
	sum := strings.Repeat("a", 64)
	require.NoError(t, os.WriteFile(name, []byte(`{"cdfz_verify_state":1}
{"archive":"/a","size":7,"modified":"2026-01-02T03:04:05Z","sha256":"`+sum+`","proved":"2026-01-02T03:04:05Z"}
{"archive":"/failed","size":0,"modified":"0001-01-01T00:00:00Z","sha256":"","proved":"0001-01-01T00:00:00Z"}
`), 0o644))
	for range 2 {
		s, err := Open(name, nil)
		require.NoError(t, err)
		require.Len(t, s.known, 2)
		require.Zero(t, s.Last("/a", &Identity{Size: 7, Modified: filetime.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}))
		require.Equal(t, sum, s.SHA256("/a"))
		require.Empty(t, s.SHA256("/failed"))
		require.NoError(t, s.Close())
	}
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(b, []byte("{\"cdfz_verify_state\":2}\n")))
}

func TestBelow(t *testing.T) {
	for _, c := range []struct{ name, folder, want string }{
		{"/a/b/c", "/a", "b/c"}, {"/a", "/a", ""}, {"/ab", "/a", "no"}, {"/a/b", "/", "a/b"}, {"/a", "/a/", "no"}, {"", "/a", "no"},
		{"s3://b/p/x", "s3://b/p/", "x"}, {"s3://b/px", "s3://b/p/", "no"}, {"/b/p/x", "s3://b/p/", "no"},
	} {
		got, ok := Below(c.name, c.folder)
		if !ok {
			got = "no"
		}
		require.Equal(t, c.want, got, c)
		if ok {
			require.Equal(t, c.name, Join(c.folder, got), c)
		}
	}
	require.Equal(t, "s3://b/q/x", Move{"/a", "s3://b/q/"}.of("/a/x"))
	require.Equal(t, "/c/x/y", Move{"s3://b/q/", "/c"}.of("s3://b/q/x/y"))
}
