package cdf3

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// row is a line of a files.tsv.
type row []string

func (r row) int(t testing.TB, i int) int64 {
	n, err := strconv.ParseInt(r[i], 10, 64)
	require.NoError(t, err)
	return n
}

func table(t testing.TB, folder string) []row {
	b, err := os.ReadFile(filepath.Join("../testdata", folder, "files.tsv"))
	require.NoError(t, err)
	var rows []row
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		if !strings.HasPrefix(s.Text(), "#") {
			rows = append(rows, strings.Split(s.Text(), "\t"))
		}
	}
	require.NotEmpty(t, rows)
	return rows
}

func load(t testing.TB, folder, name string) []byte {
	b, err := os.ReadFile(filepath.Join("../testdata", folder, name))
	require.NoError(t, err)
	return b
}

// parse reads a file in memory, with both functions.
func parse(b []byte) (*Header, error) {
	h, err := Read(bytes.NewReader(b), int64(len(b)))
	own := bytes.Clone(b)
	h2, err2 := ReadBytes(context.Background(), own, int64(len(b)))
	clear(own) // the header has its own memory
	if !assert.ObjectsAreEqual(h, h2) || !assert.ObjectsAreEqual(err, err2) {
		panic(fmt.Sprintf("ReadBytes: %v and %v, Read: %v and %v", h2, err2, h, err))
	}
	return h, err
}

func TestClassicFiles(t *testing.T) {
	for _, r := range table(t, "classic") {
		b := load(t, "classic", r[0])
		h, err := parse(b)
		require.NoError(t, err, r[0])
		assert.Equal(t, r.int(t, 1), int64(len(b)), r[0])
		assert.Equal(t, r.int(t, 2), h.Len, r[0])
		assert.Equal(t, r.int(t, 3), h.NumRecs, r[0])
		assert.Equal(t, r.int(t, 4), h.RecSize, r[0])
		assert.Equal(t, strings.Contains(r[0], "streaming"), h.Streaming, r[0])
		checkHeader(t, h, b)
		again, err := h.Append([]byte("before"))
		require.NoError(t, err, r[0])
		again = again[len("before"):]
		// These have padding or empty lists in a form that Append does not write.
		if strings.Contains(r[0], "empty_tagged") || strings.Contains(r[0], "ascii_zero") {
			assert.NotEqual(t, b[:h.Len], again, r[0])
		} else {
			assert.Equal(t, b[:h.Len], again, r[0])
		}
	}
}

func TestMalformedFiles(t *testing.T) {
	for _, r := range table(t, "malformed") {
		b := load(t, "malformed", r[0])
		assert.Equal(t, r.int(t, 1), int64(len(b)), r[0])
		h, err := parse(b)
		assert.Nil(t, h, r[0])
		if r[2] == "-" {
			assert.ErrorIs(t, err, ErrNotCDF, r[0])
			continue
		}
		var fe *FormatError
		if assert.ErrorAs(t, err, &fe, r[0]) {
			assert.Equal(t, r.int(t, 2), fe.Off, "%s: %v", r[0], err)
			assert.NotErrorIs(t, err, ErrNotCDF)
			assert.True(t, strings.HasPrefix(err.Error(), "cdf3: "), err)
		}
	}
}

// checkHeader checks the invariants of a header returned by Read.
func checkHeader(t testing.TB, h *Header, b []byte) {
	again, err := h.Append(nil)
	require.NoError(t, err)
	require.Equal(t, h.Len, int64(len(again)))
	require.LessOrEqual(t, h.Len, int64(len(b)))
	h2, err := Read(bytes.NewReader(append(again, b[h.Len:]...)), int64(len(b)))
	require.NoError(t, err)
	require.Equal(t, h, h2)
	for i := range h.Vars {
		v := &h.Vars[i]
		require.NotNil(t, v.Shape, "JSON needs [] for scalars")
		require.Len(t, v.Shape, len(v.DimIDs))
		n := v.Type.Size()
		for j, d := range v.Shape {
			want := h.Dims[v.DimIDs[j]].Len
			if want == 0 {
				require.Zero(t, j)
				require.True(t, v.Record)
				want = h.NumRecs
			}
			require.Equal(t, want, d)
			n *= d
		}
		require.Equal(t, n, v.Len)
		require.GreaterOrEqual(t, v.Begin, int64(0))
		require.Positive(t, v.RecLen)
		if v.Record {
			require.Equal(t, n, v.RecLen*h.NumRecs)
			require.GreaterOrEqual(t, h.RecSize, v.RecLen)
			require.GreaterOrEqual(t, v.Begin+max(0, h.NumRecs-1)*h.RecSize+v.RecLen, int64(0))
		} else {
			require.Equal(t, n, v.RecLen)
			require.GreaterOrEqual(t, v.Begin+v.Len, int64(0))
		}
	}
}

// TestTestdata checks that testdata holds exactly the files that its generator makes.
func TestTestdata(t *testing.T) {
	// Reading the generator makes the test cache depend on it.
	sources, err := filepath.Glob("../testdata/gen/*.go")
	require.NoError(t, err)
	for _, f := range sources {
		_, err := os.ReadFile(f)
		require.NoError(t, err)
	}
	dir := t.TempDir()
	out, err := exec.Command("go", "run", "../testdata/gen", "-d", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, folder := range []string{"classic", "malformed"} {
		want, err := os.ReadDir(filepath.Join(dir, folder))
		require.NoError(t, err)
		have, err := os.ReadDir(filepath.Join("../testdata", folder))
		require.NoError(t, err)
		names := func(entries []os.DirEntry) (names []string) {
			for _, e := range entries {
				names = append(names, e.Name())
			}
			return names
		}
		assert.Equal(t, names(want), names(have))
		for _, e := range want {
			b, err := os.ReadFile(filepath.Join(dir, folder, e.Name()))
			require.NoError(t, err)
			assert.True(t, bytes.Equal(b, load(t, folder, e.Name())), "%s/%s differs", folder, e.Name())
		}
	}
}
