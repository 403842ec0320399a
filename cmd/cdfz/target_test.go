package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func testApp() *app {
	return &app{out: &output{w: &bytes.Buffer{}}, err: &bytes.Buffer{}, targets: map[string]bool{}, cleaned: map[string]bool{}}
}

// TestTarget runs through the life of targets with and without a name.
func TestTarget(t *testing.T) {
	for _, unnamed := range []bool{true, false} {
		setUnnamed(t, unnamed)
		dir := t.TempDir()
		path := filepath.Join(dir, "x")
		create := func(force bool) *target {
			a := testApp()
			a.force = force
			tg, err := a.create(path, nil)
			require.NoError(t, err)
			_, err = tg.Write([]byte("new"))
			require.NoError(t, err)
			return tg
		}
		read := func() string {
			b, err := os.ReadFile(path)
			require.NoError(t, err)
			return string(b)
		}

		tg := create(false)
		_, err := os.Stat(path)
		require.ErrorIs(t, err, os.ErrNotExist)
		tg.abort()
		require.Empty(t, names(t, dir))

		tg = create(false)
		require.NoError(t, tg.commit())
		tg.abort() // nothing
		require.Equal(t, "new", read())
		require.Equal(t, []string{"x"}, names(t, dir))

		// Over an old file: that stays until commit.
		require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
		tg = create(true)
		require.Equal(t, "old", read())
		require.NoError(t, tg.commit())
		require.Equal(t, "new", read())
		require.Equal(t, []string{"x"}, names(t, dir))

		// Without -f, a file that appears meanwhile is not overwritten.
		require.NoError(t, os.Remove(path))
		tg = create(false)
		require.NoError(t, os.WriteFile(path, []byte("theirs"), 0o600))
		require.ErrorIs(t, tg.commit(), errExists)
		require.Equal(t, "theirs", read())
		require.Equal(t, []string{"x"}, names(t, dir))
		require.NoError(t, os.Remove(path))
	}
}

// TestTargetStale: a later run removes what nobody has locked, and only that.
func TestTargetStale(t *testing.T) {
	setUnnamed(t, false)
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	running, err := testApp().create(path, nil)
	require.NoError(t, err)
	stale := filepath.Join(dir, ".x"+tmpMark+"00000001")
	require.NoError(t, os.WriteFile(stale, nil, 0o600))
	other := filepath.Join(dir, ".x"+tmpMark)
	require.NoError(t, os.WriteFile(other, nil, 0o600))

	second, err := testApp().create(path, nil)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{filepath.Base(other), filepath.Base(running.tmp), filepath.Base(second.tmp)}, names(t, dir))
	require.NoError(t, running.commit())
	require.ErrorIs(t, second.commit(), errExists)
	require.ElementsMatch(t, []string{filepath.Base(other), "x"}, names(t, dir))
}

// TestTargetLongName: the temporary name of a long one is not too long.
func TestTargetLongName(t *testing.T) {
	for _, unnamed := range []bool{true, false} {
		setUnnamed(t, unnamed)
		dir := t.TempDir()
		path := filepath.Join(dir, string(bytes.Repeat([]byte("n"), 255)))
		a := testApp()
		a.force = true
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		tg, err := a.create(path, nil)
		require.NoError(t, err)
		require.NoError(t, tg.commit())
		require.Len(t, names(t, dir), 1)
	}
}

// TestTargetFolders: folders made for a target go with it.
func TestTargetFolders(t *testing.T) {
	dir := t.TempDir()
	a := testApp()
	a.dest = dir
	tg, err := a.create(filepath.Join(dir, "a", "b", "x"), nil)
	require.NoError(t, err)
	tg.abort()
	require.Empty(t, names(t, dir))
	a = testApp()
	a.dest = dir
	tg, err = a.create(filepath.Join(dir, "a", "b", "x"), nil)
	require.NoError(t, err)
	require.NoError(t, tg.commit())
	require.Equal(t, []string{"x"}, names(t, filepath.Join(dir, "a", "b")))
}
