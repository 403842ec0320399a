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
	got, refused, err := old.Merge([]Entry{
		{Path: ".", Kind: Folder, Modified: at}, {Path: "a.nc", Kind: Archive, Size: 5, Modified: old.Find("a.nc").Modified},
		{Path: "dir", Kind: Plain}, {Path: "z", Kind: Folder}, {Path: "z/x", Kind: Plain}, {Path: "new", Kind: Plain},
	})
	require.NoError(t, err)
	require.Equal(t, []string{"dir", "z", "z/x"}, refused)
	require.Equal(t, old.Find(".").Modified, got.Find(".").Modified, "the time of a folder that was emptied")
	require.NotEmpty(t, got.Find("a.nc").SHA256)
	require.NotNil(t, got.Find("new"))
	require.NotNil(t, got.Find("b.nc"))
	got, _, err = got.Merge([]Entry{{Path: "a.nc", Kind: Link, To: "b"}})
	require.NoError(t, err)
	require.Nil(t, got.Find("b.nc"), "a hard link to what is no file")
	empty, refused, err := (*Tree)(nil).Merge(nil)
	require.NoError(t, err)
	require.Empty(t, refused)
	_, err = Read(bytes.NewReader(written(t, empty)))
	require.NoError(t, err)
}
