package joinedfiles

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/archivefs"
	"github.com/cdfz-format/cdfz/cdf3"
)

const (
	head = `<netcdf xmlns="http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2"><aggregation dimName="time" type="joinExisting">`
	tail = `</aggregation></netcdf>`
)

func member(location string) string { return `<netcdf location="` + location + `" ncoords="1"/>` }

// view shows a folder with a.nc. reads counts the descriptions that are read.
func view(t *testing.T) (v *archivefs.FS, dir string, reads *atomic.Int64) {
	dir = t.TempDir()
	b := cdf3.NewBuilder(cdf3.Classic)
	b.Var("time", cdf3.Double, b.Dim("time", cdf3.Unlimited)).Values([]float64{1})
	var image bytes.Buffer
	require.NoError(t, b.WriteFile(context.Background(), &image))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.nc"), image.Bytes(), 0o600))
	root, _, err := archivefs.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { root.Close() })
	v = archivefs.New(root, nil)
	t.Cleanup(v.Close)
	v.Joined = Rules(archive.OpenOptions{})
	read := v.Joined.Read
	reads = new(atomic.Int64)
	v.Joined.Read = func(r io.ReaderAt, size int64) (archivefs.JoinedFiles, error) {
		reads.Add(1)
		return read(r, size)
	}
	return v, dir, reads
}

func list(t *testing.T, v *archivefs.FS) (names []string) {
	entries, err := v.ReadDir(".")
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestCost counts how often descriptions are read that many ask for at once, and the memory that they take.
func TestCost(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"too long":          {head + strings.Repeat(member("a.nc"), 60<<20/len(member("a.nc"))) + tail, "expected at most 16777216 bytes, found"},
		"too many":          {head + strings.Repeat(member("a"), 1<<16+1) + tail, "expected at most 65536 members"},
		"too many unknown":  {head + strings.Repeat(`<netcdf location="a.nc"/>`, 1<<10+1) + tail, "expected ncoords for all but 1024 members"},
		"long location":     {head + member(strings.Repeat("a", 1<<12+1)) + tail, "expected a location of at most 4096 bytes"},
		"refused at last":   {head + strings.Repeat(member("a.nc"), 60_000) + `<scan location="x"/>` + tail, "scan"},
		"damaged at last":   {head + strings.Repeat(member("a.nc"), 60_000), "unexpected EOF"},
		"missing member":    {head + strings.Repeat(member("missing.nc"), 60_000) + tail, "missing.nc"},
		"endless attribute": {head + `<netcdf location="` + strings.Repeat("a", 15<<20) + `"/>` + tail, "expected at most 262144 bytes of an element"},
	} {
		t.Run(name, func(t *testing.T) {
			v, dir, reads := view(t)
			var warned atomic.Int64
			v.Warn = func(string, error) { warned.Add(1) }
			require.NoError(t, os.WriteFile(filepath.Join(dir, "x.ncml"), []byte(c.text), 0o600))
			for range 3 {
				require.Equal(t, []string{"a.nc", "x.nc"}, list(t, v))
			}
			require.Zero(t, reads.Load())
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var all sync.WaitGroup
			for range 30 {
				all.Go(func() {
					f, err := v.Find("x.nc")
					if assert.NoError(t, err) {
						assert.ErrorContains(t, f.Err, c.want)
					}
					_, err = v.Acquire("x.ncml")
					assert.ErrorContains(t, err, c.want)
				})
			}
			all.Wait()
			runtime.ReadMemStats(&after)
			require.EqualValues(t, 1, reads.Load())
			require.EqualValues(t, 1, warned.Load())
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(512<<20)) // in sum, for one reading and 60 openings
			require.Equal(t, []string{"a.nc", "x.nc"}, list(t, v))
		})
	}
}

// TestHostile checks that descriptions lead nowhere but to files below the folder, and that what is named
// like one is not waited for.
func TestHostile(t *testing.T) {
	v, dir, reads := view(t)
	v.Warn = func(string, error) {}
	outside := filepath.Join(t.TempDir(), "secret.nc")
	b, err := os.ReadFile(filepath.Join(dir, "a.nc"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(outside, b, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".hidden.nc"), b, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	rel, err := filepath.Rel(dir, outside)
	require.NoError(t, err)

	var calls atomic.Int64
	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer server.Close()
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			calls.Add(1)
			c.Close()
		}
	}()
	at := server.Addr().String()
	when := time.Unix(1e9, 0)
	put := func(location string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "x.ncml"), []byte(head+member(location)+tail), 0o600))
		when = when.Add(time.Second) // the clock of a file system can be coarse
		require.NoError(t, os.Chtimes(filepath.Join(dir, "x.ncml"), when, when))
	}
	put("a.nc")
	f, err := v.Find("x.nc")
	require.NoError(t, err)
	require.NoError(t, f.Err)
	locations := []string{
		"x.ncml", "x.nc", "y.nc", "y.ncml", "./x.nc", "folder", ".", "..", ".hidden.nc", "folder/../.hidden.nc",
		filepath.ToSlash(outside), filepath.ToSlash(rel), "file:" + outside, "file://" + outside, "/dev/zero", "/proc/self/environ",
		"a.nc&#0;", `a.nc\..`, strings.Repeat("../", 100) + "etc/passwd",
	}
	for _, scheme := range []string{"http://", "https://", "HTTP://", "s3://", "gs://", "ftp://", "file:http://", " http://", "http:", "//"} {
		locations = append(locations, scheme+at+"/a.nc")
	}
	for i, location := range locations {
		put(location)
		if i%2 == 0 {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "y.ncml"), []byte(head+member("x.nc")+tail), 0o600))
		}
		f, err := v.Find("x.nc")
		require.NoError(t, err, location)
		require.Error(t, f.Err, location)
		_, err = v.Acquire("x.ncml")
		require.Error(t, err, location)
	}
	require.Zero(t, calls.Load(), "a description makes no requests")

	before := reads.Load()
	for _, name := range odd(t, dir) {
		require.Contains(t, list(t, v), name)
		f, err := v.Find(name)
		require.NoError(t, err)
		require.False(t, f.Image)
		_, err = v.Find(strings.TrimSuffix(name, suffix) + imageSuffix)
		require.ErrorIs(t, err, fs.ErrNotExist)
		_, err = v.Acquire(name)
		require.Error(t, err)
	}
	require.Equal(t, before, reads.Load())

	// Members can be pipes and devices, too.
	for _, name := range odd(t, dir) {
		put(name)
		f, err := v.Find("x.nc")
		require.NoError(t, err)
		require.ErrorContains(t, f.Err, "expected a regular file", fmt.Sprint(name))
	}
}
