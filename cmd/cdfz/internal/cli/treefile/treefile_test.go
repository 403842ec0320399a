package treefile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
)

// sample returns the entries of a small tree.
func sample() []Entry {
	at := time.Unix(915148799, 123456789).UTC()
	sum := strings.Repeat("0a", 32)
	return []Entry{
		{Path: "z", Kind: Link, To: "/no\xffwhere", Mode: 0o777, Modified: at},
		{Path: ".", Kind: Folder, Mode: 0o755 | fs.ModeSetgid, Modified: at, UID: 1, GID: 2, User: "u", Group: "g", Emptied: true},
		{Path: "a.nc", Kind: Archive, Mode: 0o640, Modified: at, Size: 5, SHA256: sum, Xattrs: map[string][]byte{"user.x": {0, 1}, "user.a": nil}},
		{Path: "a.nc.cdfz", Kind: Plain, At: "a.nc.cdfz.kept-1", Mode: 0o755 | fs.ModeSetuid, Modified: time.Unix(300000000000, 5).UTC(), Size: 3},
		{Path: "b.nc", Kind: HardLink, To: "a.nc"},
		{Path: "dir", Kind: Folder, Mode: 0o500 | fs.ModeSticky, Modified: at},
		{Path: "dir/new\nline\xff", Kind: Plain, Modified: at, SHA256: sum},
	}
}

// text returns a tree file with these lines between head and end.
func text(lines ...string) []byte {
	b := []byte("{\"cdfz_tree\":1}\n")
	for _, l := range lines {
		b = append(b, l+"\n"...)
	}
	sum := sha256.Sum256(b)
	return fmt.Appendf(b, "{\"end\":{\"entries\":%d,\"sha256\":%q}}\n", len(lines), hex.EncodeToString(sum[:]))
}

func written(t testing.TB, tree *Tree) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := tree.WriteTo(&b)
	require.NoError(t, err)
	require.EqualValues(t, b.Len(), n)
	return b.Bytes()
}

// TestWrite writes a tree and reads it again.
func TestWrite(t *testing.T) {
	tree, err := New(sample())
	require.NoError(t, err)
	b := written(t, tree)
	got, err := Read(bytes.NewReader(b))
	require.NoError(t, err)
	require.Equal(t, b, written(t, got))
	require.Len(t, got.Entries(), 7)
	require.Equal(t, tree.Find("a.nc.cdfz").Mode, got.Find("a.nc.cdfz").Mode)
	require.Equal(t, "a.nc", got.ByStored("a.nc.cdfz").Path)
	require.Equal(t, "a.nc.cdfz", got.ByStored("a.nc.cdfz.kept-1").Path)
	require.Nil(t, got.ByStored("b.nc"))
	require.Equal(t, "a.nc", got.Linked(got.Find("b.nc")).Path)
}

// TestDamage changes, cuts and lengthens a tree file.
func TestDamage(t *testing.T) {
	tree, err := New(sample())
	require.NoError(t, err)
	b := written(t, tree)
	for i := range b {
		changed := bytes.Clone(b)
		changed[i] ^= 1
		_, err := Read(bytes.NewReader(changed))
		require.Error(t, err, i)
		_, err = Read(bytes.NewReader(b[:i]))
		require.ErrorIs(t, err, archive.ErrCorrupt, i)
	}
	_, err = Read(bytes.NewReader(append(b, '\n')))
	require.ErrorIs(t, err, archive.ErrCorrupt)
	_, err = Read(strings.NewReader("{\"cdfz_tree\":2}\n"))
	require.ErrorIs(t, err, archive.ErrVersion)
}

// TestHostile reads trees that are whole but not those of archive --whole.
func TestHostile(t *testing.T) {
	const root = `{"path":".","kind":"folder"}`
	for what, lines := range map[string][]string{
		"a path leading out":           {root, `{"path":"../x","kind":"plain"}`},
		"dots within":                  {root, `{"path":"a/../../x","kind":"plain"}`},
		"an absolute path":             {root, `{"path":"/etc/passwd","kind":"plain"}`},
		"an empty path":                {root, `{"path":"","kind":"plain"}`},
		"a zero byte":                  {root, `{"path":"a\u0000b","kind":"plain"}`},
		"a place leading out":          {root, `{"path":"x","kind":"plain","at":"../../x"}`},
		"the tree file as a place":     {root, `{"path":"x","kind":"plain","at":".cdfz-tree"}`},
		"one place twice":              {root, `{"path":"x","kind":"plain","at":"z"}`, `{"path":"y","kind":"plain","at":"z"}`},
		"one path twice":               {root, `{"path":"x","kind":"plain"}`, `{"path":"x","kind":"plain"}`},
		"disorder":                     {root, `{"path":"y","kind":"plain"}`, `{"path":"x","kind":"plain"}`},
		"a folder that is a link":      {root, `{"path":"l","kind":"link","to":"/tmp"}`, `{"path":"l/x","kind":"plain"}`},
		"a folder that is missing":     {root, `{"path":"d/x","kind":"plain"}`},
		"a hard link to itself":        {root, `{"path":"x","kind":"hardlink","to":"x"}`},
		"a hard link to a hard link":   {root, `{"path":"a","kind":"plain"}`, `{"path":"b","kind":"hardlink","to":"a"}`, `{"path":"c","kind":"hardlink","to":"b"}`},
		"a hard link to a link":        {root, `{"path":"a","kind":"link","to":"b"}`, `{"path":"b","kind":"hardlink","to":"a"}`},
		"a hard link out of the tree":  {root, `{"path":"b","kind":"hardlink","to":"../a"}`},
		"an empty link":                {root, `{"path":"l","kind":"link"}`},
		"an unknown kind":              {root, `{"path":"l","kind":"fifo"}`},
		"a negative size":              {root, `{"path":"l","kind":"plain","size":-1}`},
		"another sum":                  {root, `{"path":"l","kind":"plain","sha256":"00"}`},
		"too many bits":                {root, `{"path":"l","kind":"plain","mode":"100644"}`},
		"no JSON":                      {root, `{`},
		"a root that is no folder":     {`{"path":".","kind":"plain"}`},
		"bytes that are another path":  {root, `{"path":"x","path_bytes":"Li4veA==","kind":"plain"}`},
		"a line of more than 1 MiB":    {root, `{"path":"` + strings.Repeat("x", 1<<20) + `","kind":"plain"}`},
		"a symbolic link with a zero":  {root, `{"path":"l","kind":"link","to":"a\u0000b"}`},
		"a backslash path leading out": {root, `{"path":"a/./x","kind":"plain"}`},
	} {
		_, err := Read(bytes.NewReader(text(lines...)))
		require.ErrorIs(t, err, archive.ErrCorrupt, what)
	}
}

// TestMerge merges a later run.
func TestMerge(t *testing.T) {
	at := time.Unix(1000, 0).UTC()
	old, err := New(sample())
	require.NoError(t, err)
	a := old.Find("a.nc")
	got, refused, err := old.Merge([]Entry{
		{Path: ".", Kind: Folder, Modified: at}, {Path: "a.nc", Kind: Archive, Size: 5, Modified: a.Modified, Mode: 0o600},
		{Path: "dir", Kind: Plain}, {Path: "z", Kind: Folder}, {Path: "z/x", Kind: Plain}, {Path: "new", Kind: Plain},
	}, Merging{})
	require.NoError(t, err)
	require.Equal(t, []string{"dir", "z", "z/x"}, refused)
	require.Equal(t, old.Find(".").Modified, got.Find(".").Modified, "the time of a folder that was emptied")
	require.NotEmpty(t, got.Find("a.nc").SHA256)
	require.Equal(t, fs.FileMode(0o600), got.Find("a.nc").Mode)
	require.NotNil(t, got.Find("new"))
	require.NotNil(t, got.Find("b.nc"))
	empty, refused, err := (*Tree)(nil).Merge(nil, Merging{})
	require.NoError(t, err)
	require.Empty(t, refused)
	_, err = Read(bytes.NewReader(written(t, empty)))
	require.NoError(t, err)
}

// merges merges entries into a tree with two files: one has two further names, the other three. Some entries are not kept yet.
func merges(t *testing.T, how Merging, newer ...Entry) (*Tree, []string) {
	t.Helper()
	x, y := strings.Repeat("0a", 32), strings.Repeat("0b", 32)
	old, err := New([]Entry{
		{Path: ".", Kind: Folder}, {Path: "l", Kind: Link, To: "p"},
		{Path: "p", Kind: Archive, Size: 5, SHA256: x, Mode: 0o640}, {Path: "q", Kind: HardLink, To: "p"}, {Path: "q2", Kind: HardLink, To: "p"},
		{Path: "r", Kind: Plain, Size: 6, SHA256: y}, {Path: "s", Kind: HardLink, To: "r"}, {Path: "t", Kind: HardLink, To: "r"}, {Path: "u", Kind: HardLink, To: "r"},
	})
	require.NoError(t, err)
	before := written(t, old)
	got, refused, err := old.Merge(newer, how)
	require.NoError(t, err)
	require.Equal(t, before, written(t, old))
	for _, e := range got.Entries() {
		require.NotNil(t, got.Linked(&e), e.Path)
	}
	return got, refused
}

// TestMergeKept leaves what is kept described as it is, until another state is kept, too.
func TestMergeKept(t *testing.T) {
	x, y, z := strings.Repeat("0a", 32), strings.Repeat("0b", 32), strings.Repeat("0c", 32)
	// Nobody has come to these.
	for what, e := range map[string]Entry{
		"another size":        {Path: "p", Kind: Archive, Size: 9},
		"another time":        {Path: "p", Kind: Archive, Size: 5, Modified: time.Unix(9, 0)},
		"another kind":        {Path: "p", Kind: Plain, Size: 5},
		"another place":       {Path: "p", Kind: Archive, Size: 5, At: "p2.cdfz"},
		"a link before":       {Path: "l", Kind: Plain},
		"a name before":       {Path: "q", Kind: Archive, Size: 9},
		"a name of another":   {Path: "u", Kind: HardLink, To: "p"},
		"a name of new bytes": {Path: "r", Kind: HardLink, To: "p"},
	} {
		list := []Entry{e}
		if e.To != "" {
			list = append(list, Entry{Path: "p", Kind: Archive, Size: 5})
		}
		got, refused := merges(t, Merging{}, list...)
		require.Empty(t, refused, what)
		require.Len(t, got.Entries(), 9, what)
		now := got.Find(e.Path)
		require.NotEqual(t, []any{e.Kind, e.Size, e.To, e.At, e.Modified}, []any{now.Kind, now.Size, now.To, now.At, now.Modified}, what)
		require.Equal(t, x, got.Linked(got.Find("q2")).SHA256, what)
		require.Equal(t, y, got.Linked(got.Find("t")).SHA256, what)
	}
	// A name of a file whose new state nobody has kept has no bytes yet.
	got, refused := merges(t, Merging{}, Entry{Path: "p", Kind: Archive, Size: 9}, Entry{Path: "q", Kind: HardLink, To: "p"}, Entry{Path: "q9", Kind: HardLink, To: "p"})
	require.Empty(t, refused)
	require.Nil(t, got.Find("q9"))
	require.Equal(t, x, got.Linked(got.Find("q")).SHA256)
	// Files do not become links, and names of files with other bytes, but in volumes.
	for _, e := range []Entry{{Path: "p", Kind: Link, To: "b"}, {Path: "q", Kind: Link, To: "b"}, {Path: "r", Kind: HardLink, To: "p"}} {
		newer := []Entry{{Path: "p", Kind: Archive, Size: 5, SHA256: x}, e}
		if e.Path == "p" {
			newer = newer[1:]
		}
		got, refused := merges(t, Merging{}, newer...)
		require.Equal(t, []string{e.Path}, refused)
		require.Len(t, got.Entries(), 9)
		got, refused = merges(t, Merging{Volumes: true}, newer...)
		require.Empty(t, refused)
		require.Equal(t, e.Kind, got.Find(e.Path).Kind)
		require.Equal(t, y, got.Linked(got.Find("t")).SHA256)
	}
	got, refused = merges(t, Merging{}, Entry{Path: "p", Kind: Archive, Size: 5, SHA256: y}, Entry{Path: "r", Kind: HardLink, To: "p"})
	require.Empty(t, refused, "the same bytes")
	require.Equal(t, "p", got.Find("r").To)
	// A name of what is left out.
	_, refused = merges(t, Merging{}, Entry{Path: "p", Kind: Folder}, Entry{Path: "q", Kind: HardLink, To: "p"}, Entry{Path: "q9", Kind: HardLink, To: "p"})
	require.Equal(t, []string{"p", "q", "q9"}, refused)
	// Once a file is kept, its entry is the new one.
	got, _ = merges(t, Merging{}, Entry{Path: "l", Kind: Plain, SHA256: z}, Entry{Path: "q", Kind: Archive, Size: 9, SHA256: z})
	require.Equal(t, []any{Plain, Archive}, []any{got.Find("l").Kind, got.Find("q").Kind})
}

// TestMergeNames gives further names of a file their old content when the file gets another one.
func TestMergeNames(t *testing.T) {
	x, z := strings.Repeat("0a", 32), strings.Repeat("0c", 32)
	newer := Entry{Path: "p", Kind: Archive, Size: 9, SHA256: z}
	got, refused := merges(t, Merging{}, newer)
	require.Empty(t, refused)
	require.Equal(t, z, got.Find("p").SHA256)
	require.Equal(t, Entry{Path: "q", Kind: Archive, Size: 5, SHA256: x, Mode: 0o640}, *got.Find("q"))
	require.Equal(t, Entry{Path: "q2", Kind: HardLink, To: "q"}, *got.Find("q2"))
	require.Equal(t, "r", got.Find("u").To)
	// One of them is still another name of it.
	got, _ = merges(t, Merging{}, newer, Entry{Path: "q", Kind: HardLink, To: "p"})
	require.Equal(t, z, got.Linked(got.Find("q")).SHA256)
	require.Equal(t, x, got.Find("q2").SHA256)
	// The content has another place.
	kept := func(at string) Merging {
		return Merging{Kept: func(old *Entry, own string) string {
			require.Equal(t, []string{"p", "q.cdfz"}, []string{old.Path, own})
			return at
		}}
	}
	got, _ = merges(t, kept("p.TIME.cdfz"), newer)
	require.Equal(t, "p.TIME.cdfz", got.Find("q").At)
	got, _ = merges(t, kept("p.cdfz"), newer)
	require.Empty(t, got.Find("q").At, "that of the new content")
	// It has none.
	got, refused = merges(t, Merging{}, newer, Entry{Path: "x", Kind: Plain, At: "q.cdfz"})
	require.Equal(t, []string{"q", "q2"}, refused)
	require.Nil(t, got.Find("q"))
	require.Len(t, got.Entries(), 8)
}
