package atomicfile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/internal/nofollow"
)

func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { root.Close() })
	return root
}

// TestSwapped renames the folder of a target and puts a link to another folder in its place:
// the file appears in the folder that was there first.
func TestSwapped(t *testing.T) {
	if !removesOpen {
		t.Skip("open folders cannot be renamed here")
	}
	for name, change := range fileSystems {
		for _, below := range []bool{false, true} {
			for _, overwrite := range []bool{false, true} {
				for _, commit := range []bool{false, true} {
					t.Run(name, func(t *testing.T) {
						with(t, change)
						dir, outside := t.TempDir(), t.TempDir()
						sub, moved := filepath.Join(dir, "a"), filepath.Join(dir, "moved")
						require.NoError(t, os.Mkdir(sub, 0o777))
						for _, d := range []string{sub, outside} {
							require.NoError(t, os.WriteFile(filepath.Join(d, "y"), []byte("old"), 0o666))
							if overwrite {
								require.NoError(t, os.WriteFile(filepath.Join(d, "x"), []byte("old"), 0o666))
							}
						}
						o := &Options{Overwrite: overwrite}
						path := filepath.Join(sub, "x")
						if below {
							o.Root, o.Rel, o.MakeDirs = openRoot(t, dir), filepath.Join("a", "x"), true
						}
						f := create(t, path, o)
						require.Equal(t, filepath.Join(sub, "x"), f.Path())
						require.NoError(t, os.Rename(sub, moved))
						require.NoError(t, os.Symlink(outside, sub))
						want := []string{"y"}
						if overwrite {
							want = []string{"x", "y"}
						}
						if commit {
							require.NoError(t, f.Commit())
							require.Equal(t, "new", read(t, filepath.Join(moved, "x")))
							require.Equal(t, []string{"x", "y"}, names(t, moved))
						} else {
							require.NoError(t, f.Close())
							require.Equal(t, want, names(t, moved))
						}
						require.Equal(t, want, names(t, outside))
						if overwrite {
							require.Equal(t, "old", read(t, filepath.Join(outside, "x")))
						}
					})
				}
			}
		}
	}
}

// TestBelow makes files below an open folder. Links to folders are not followed there, and
// folders made are removed where they were made.
func TestBelow(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	root := openRoot(t, dir)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "real"), 0o777))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "out")))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "in")))
	for _, name := range []string{"out", "in"} {
		for _, path := range []string{filepath.Join(name, "x"), filepath.Join(name, "new", "x")} {
			_, err := Create(filepath.Join(dir, path), &Options{Root: root, Rel: path, MakeDirs: true})
			require.ErrorIs(t, err, nofollow.ErrLink)
			require.ErrorContains(t, err, "cannot write in folder "+filepath.Dir(filepath.Join(dir, path))+": ")
		}
	}
	_, err := Create("y", &Options{Root: root, Rel: filepath.Join("none", "x")})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Empty(t, names(t, outside))
	require.Empty(t, names(t, filepath.Join(dir, "real")))

	// A swapped folder keeps what is outside: an empty folder of the same name.
	require.NoError(t, os.MkdirAll(filepath.Join(outside, "b", "c"), 0o777))
	f := create(t, "y", &Options{Root: root, Rel: filepath.Join("a", "b", "c", "x"), MakeDirs: true})
	if removesOpen {
		require.NoError(t, os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "moved")))
		require.NoError(t, os.Symlink(outside, filepath.Join(dir, "a")))
	}
	require.NoError(t, f.Close())
	require.DirExists(t, filepath.Join(outside, "b", "c"))
	require.Empty(t, made.uses)

	// The folder of targets is missing.
	base, rest, err := OpenBase(filepath.Join(dir, "new", "deep") + string(filepath.Separator))
	require.NoError(t, err)
	defer base.Close()
	require.Equal(t, filepath.Join("new", "deep"), rest)
	require.NoError(t, create(t, "y", &Options{Root: base, Rel: filepath.Join(rest, "x"), MakeDirs: true}).Close())
	require.NoDirExists(t, filepath.Join(dir, "new"))
	require.NoError(t, create(t, "y", &Options{Root: base, Rel: filepath.Join(rest, "x"), MakeDirs: true}).Commit())
	require.FileExists(t, filepath.Join(dir, "new", "deep", "x"))
}

// TestRemove removes an open file, and nothing else that has its name.
func TestRemove(t *testing.T) {
	ok := func() error { return nil }
	for name, change := range fileSystems {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			root := openRoot(t, dir)
			path, other := filepath.Join(dir, "x"), filepath.Join(dir, "y")
			open := func() *os.File {
				require.NoError(t, os.WriteFile(path, []byte("x"), 0o666))
				f, err := root.Open("x")
				require.NoError(t, err)
				t.Cleanup(func() { f.Close() })
				return f
			}
			with(t, change)
			f := open()
			require.ErrorIs(t, Remove(root, "x", f, func() error { return syscall.EBUSY }), syscall.EBUSY)
			require.Equal(t, []string{"x"}, names(t, dir))
			require.NoError(t, Remove(root, "x", f, ok))
			require.Empty(t, names(t, dir))
			require.ErrorIs(t, Remove(root, "x", f, ok), os.ErrNotExist)
			if !removesOpen {
				return
			}

			// Another file takes the name at some moment.
			for _, at := range []string{"before", "between", "after"} {
				f := open()
				require.NoError(t, os.WriteFile(other, []byte("y"), 0o666))
				swap := func(now string) {
					if now == at {
						require.NoError(t, os.Rename(other, path))
					}
				}
				swap("before")
				t.Run(at, func(t *testing.T) {
					with(t, func(c *calls) {
						before := func(call func(*place, string, string) error) func(*place, string, string) error {
							return func(in *place, from, to string) error {
								if _, err := os.Stat(other); err == nil {
									swap("between")
								}
								return call(in, from, to)
							}
						}
						c.rename, c.renameFree = before(c.rename), before(c.renameFree)
					})
					err := Remove(root, "x", f, func() error { swap("after"); return nil })
					if at == "after" {
						require.NoError(t, err)
					} else {
						require.ErrorIs(t, err, nofollow.ErrReplaced)
					}
				})
				require.Equal(t, []string{"x"}, names(t, dir))
				require.Equal(t, "y", read(t, path))
			}
		})
	}
}

// TestPutBack has files that a killed program was removing.
func TestPutBack(t *testing.T) {
	if !removesOpen {
		t.Skip("there are no locks here")
	}
	dir := t.TempDir()
	root := openRoot(t, dir)
	put := func(name string) string {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(name), 0o666))
		return name
	}
	aside, taken, used, long := put(".x.nc"+asideMark+"00000001"), put(".y.nc"+asideMark+"00000001"), put(".z.nc"+asideMark+"00000001"), put("."+strings.Repeat("n", 220)+asideMark+"00000001")
	put("y.nc")
	f, err := os.Open(filepath.Join(dir, used))
	require.NoError(t, err)
	defer f.Close()
	require.NoError(t, Lock(f))
	require.False(t, IsTemporary(aside))
	for name, want := range map[string]bool{aside: true, used: true, taken: true, ".x.nc": false, ".x.nc.cdfz-del": false, ".x.nc" + tmpMark + "00000001": false} {
		require.Equal(t, want, IsAside(name), name)
	}
	require.NoError(t, create(t, filepath.Join(dir, "new"), nil).Close())
	require.Equal(t, []string{long, taken, used, "x.nc", "y.nc"}, names(t, dir))
	require.Equal(t, aside, read(t, filepath.Join(dir, "x.nc")))
	f.Close()
	name, ok := PutBack(root, used)
	require.True(t, ok)
	require.Equal(t, "z.nc", name)
	for _, name := range []string{used, taken, long, "y.nc"} {
		_, ok := PutBack(root, name)
		require.False(t, ok)
	}
	with(t, noLocks(syscall.ENOLCK))
	_, ok = PutBack(root, put(".w.nc"+asideMark+"00000001"))
	require.False(t, ok)
}

// TestPutBackEqual has files that a killed program was replacing, or was to replace others with.
// Only those are removed whose bytes have another name.
func TestPutBackEqual(t *testing.T) {
	if !removesOpen {
		t.Skip("there are no locks here")
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	source, err := os.Stat(dir)
	require.NoError(t, err)
	put := func(name, text string) {
		require.NoError(t, os.WriteFile(at(name), []byte(text), 0o666))
		require.NoError(t, os.Chmod(at(name), source.Mode().Perm()))
		require.NoError(t, os.Chtimes(at(name), source.ModTime(), source.ModTime()))
	}
	aside := func(base string) string { return "." + base + asideMark + "00000001" }

	// Killed after the exchange: the old file has a second name, if it is to be kept.
	put("kept.1", "old")
	require.NoError(t, os.Link(at("kept.1"), at(aside("kept"))))
	put("kept", "new")
	// Two names of a killed program do not vouch for each other.
	put(aside("twice"), "old")
	require.NoError(t, os.Link(at(aside("twice")), at(".twice"+asideMark+"00000002")))
	put("twice", "new")
	// Killed before the exchange, or as another program did the same.
	put("equal", "text")
	put(aside("equal"), "text")
	for name, change := range map[string]func(name string){
		"bytes": func(name string) { put(name, "tex!") },
		"size":  func(name string) { put(name, "texts") },
		"time":  func(name string) { require.NoError(t, os.Chtimes(at(name), time.Time{}, time.Unix(1, 0))) },
		"mode":  func(name string) { require.NoError(t, os.Chmod(at(name), 0o400)) },
	} {
		put(name, "text")
		put(aside(name), "text")
		change(name)
	}
	put("replaced", "old")
	put(aside("replaced"), "new")
	o := &Options{Overwrite: true, Source: source, Replace: true}
	f := create(t, at("replaced"), o)
	want := []string{aside("bytes"), aside("mode"), aside("replaced"), aside("size"), aside("time"), aside("twice"), ".twice" + asideMark + "00000002",
		"bytes", "equal", "kept", "kept.1", "mode", "replaced", "size", "time", "twice"}
	require.Equal(t, want, names(t, dir))
	require.NoError(t, f.Commit())
	require.Equal(t, slices.DeleteFunc(want, func(n string) bool { return n == aside("replaced") }), names(t, dir))
	require.Equal(t, "new", read(t, at("replaced")))
	require.Equal(t, "old", read(t, at("kept.1")))
}
