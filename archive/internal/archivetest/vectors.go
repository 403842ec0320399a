package archivetest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Vector is a file of testdata/vectors, whose README explains the header.
type Vector struct {
	Name, Reader, Verifier, SHA256, Section, Comment string

	Archive []byte
}

// Compat is an archive of testdata/compat and the SHA-256 of its image.
type Compat struct {
	Name, SHA256 string
	Archive      []byte
}

// Compats returns the archives of testdata/compat that have a version of the format.
func Compats(t testing.TB) []Compat {
	t.Helper()
	var out []Compat
	for _, version := range []string{"1", "1-contexts", "1-modes"} {
		dir := Root(t, filepath.Join("testdata/compat", version))
		list, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
		require.NoError(t, err)
		for line := range strings.Lines(string(list)) {
			sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
			require.True(t, ok, line)
			b, err := os.ReadFile(filepath.Join(dir, name+".cdfz"))
			require.NoError(t, err)
			out = append(out, Compat{name, sum, b})
		}
	}
	require.NotEmpty(t, out)
	return out
}

// Vectors returns the vectors in a folder of testdata/vectors: good, or bad.
func Vectors(t testing.TB, folder string) []Vector {
	names, err := filepath.Glob(Root(t, filepath.Join("testdata/vectors", folder, "*")))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	var out []Vector
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		head, ar, ok := bytes.Cut(b, []byte("\n\n"))
		require.True(t, ok, name)
		v := Vector{Name: filepath.Base(name), Archive: ar}
		for line := range strings.Lines(string(head)) {
			key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			require.True(t, ok, name)
			field, known := map[string]*string{"expect-reader": &v.Reader, "expect-verifier": &v.Verifier, "sha256": &v.SHA256,
				"section": &v.Section, "comment": &v.Comment}[key]
			require.True(t, known, "%s: %s", name, key)
			*field = value
		}
		out = append(out, v)
	}
	return out
}
