package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
)

// TestPrefixDamage verifies and restores a prefix with a damaged archive, an object that is no archive, and
// one that is replaced by another of the same length between two reads of it.
func TestPrefixDamage(t *testing.T) {
	image, stored := sample(t, "cdf2_climate.nc")
	s := newBucket(t)
	damaged := bytes.Clone(stored)
	damaged[len(damaged)/2] ^= 1
	s.put("p/a.nc.cdfz", stored)
	s.put("p/b.nc.cdfz", damaged)
	s.put("p/c.nc.cdfz", stored)
	code, out, msg := s.run("verify", "--log", "v.jsonl", "s3://bucket/p/")
	require.Equal(t, 3, code, msg)
	require.Contains(t, out, "s3://bucket/p/b.nc.cdfz: 1 damaged\n")
	require.Contains(t, out, "3 files: 2 ok, 1 damaged\n")
	log, err := os.ReadFile("v.jsonl")
	require.NoError(t, err)
	require.Regexp(t, `"source":"s3://bucket/p/b.nc.cdfz".*"outcome":"damaged"`, string(log))
	code, _, msg = s.run("restore", "-o", "back/", "s3://bucket/p/")
	require.Equal(t, 3, code)
	require.Contains(t, msg, "s3://bucket/p/b.nc.cdfz: ")
	require.Len(t, sums(t, "back", ""), 2)

	s.put("p/b.nc.cdfz", image)
	s.put("p/d.nc.cdfz", []byte("text"))
	s.put("p/e.nc.cdfz", nil)
	code, out, msg = s.run("verify", "s3://bucket/p/")
	require.Equal(t, 3, code, msg)
	require.Contains(t, msg, "s3://bucket/p/b.nc.cdfz: not a cdfz archive: it is a classic netCDF file")
	require.Contains(t, msg, "s3://bucket/p/d.nc.cdfz: not a cdfz archive")
	require.Contains(t, msg, "s3://bucket/p/e.nc.cdfz: damaged archive: the file is empty")
	require.Contains(t, out, "3 files: 2 ok, 1 damaged; 2 failed")

	stored = long(t, fileio.WholeObject)
	other := bytes.Clone(stored)
	other[len(other)/3] ^= 1
	for _, args := range [][]string{{"verify", "s3://bucket/q/"}, {"restore", "-o", "q/", "s3://bucket/q/"}} {
		s.put("q/a.nc.cdfz", stored)
		s.put("q/b.nc.cdfz", stored)
		var reads atomic.Int64
		s.set(func(_ http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/q/b.nc.cdfz") && reads.Add(1) == 2 {
				s.put("q/b.nc.cdfz", other)
			}
			return false
		})
		code, _, msg := s.run(args...)
		require.Equal(t, 1, code, "%v: %s", args, msg)
		require.Contains(t, msg, "s3://bucket/q/b.nc.cdfz: ")
		require.Contains(t, msg, "changed while being read")
		require.NotContains(t, msg, "s3://bucket/q/a.nc.cdfz")
		s.set(nil)
	}
	require.Equal(t, []string{"a.nc"}, names(t, "q"))
}

// TestPrefixVersions lists a damaged object in a bucket with versions. Before it is read, somebody uploads an intact one of the
// same size, and removes that later. The state vouches for none of them.
func TestPrefixVersions(t *testing.T) {
	_, intact := sample(t, "cdf2_climate.nc")
	damaged := bytes.Clone(intact)
	damaged[len(damaged)/2] ^= 1
	s := newBucket(t) // the clock stands: times are the same
	scrub := []string{"verify", "--state", "state", "--older-than", "90d", "s3://bucket/q/"}
	for _, tagged := range []bool{true, false} { // without ETags, times tell
		s.put("q/a.nc.cdfz", damaged)
		s.set(func(w http.ResponseWriter, r *http.Request) bool {
			if !isListing(r) {
				if !tagged && r.Method == http.MethodGet {
					w = timed{w, s.clock.Now()}
				}
				s.next.ServeHTTP(w, r)
				return true
			}
			s.next.ServeHTTP(w, r)
			s.clock.Advance(time.Second)
			s.put("q/a.nc.cdfz", intact)
			return true
		})
		require.Contains(t, s.done(scrub...), "1 file: 1 ok")
		s.clock.Advance(-time.Second)
		s.put("q/a.nc.cdfz", damaged)
		s.set(nil)
		code, out, msg := s.run(scrub...)
		require.Equal(t, 3, code, "%v: %s%s", tagged, out, msg)
	}
}

// timed answers with a time in place of the ETag.
type timed struct {
	http.ResponseWriter
	at time.Time
}

// WriteHeader implements http.ResponseWriter.
func (w timed) WriteHeader(status int) {
	w.Header().Del("ETag")
	w.Header().Set("Last-Modified", w.at.UTC().Format(http.TimeFormat))
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w timed) Write(p []byte) (int, error) {
	w.Header().Del("ETag")
	w.Header().Set("Last-Modified", w.at.UTC().Format(http.TimeFormat))
	return w.ResponseWriter.Write(p)
}

// long returns an archive of more than n bytes.
func long(t *testing.T, n int) []byte {
	values := make([]uint8, n)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range values {
		values[i] = uint8(r.Uint32())
	}
	b := cdf3.NewBuilder(cdf3.Data64)
	b.Var("v", cdf3.UByte, b.Dim("x", int64(n))).Values(values)
	var image, stored bytes.Buffer
	require.NoError(t, b.WriteFile(t.Context(), &image))
	_, err := archive.Write(t.Context(), &stored, bytes.NewReader(image.Bytes()), int64(image.Len()), nil)
	require.NoError(t, err)
	require.Greater(t, stored.Len(), n)
	return stored.Bytes()
}

// smallImage returns a netCDF file of 26 kB.
func smallImage(t *testing.T) []byte {
	b := cdf3.NewBuilder(cdf3.Classic)
	b.Var("v", cdf3.Double, b.Dim("x", 3238)).Values(make([]float64, 3238))
	var image bytes.Buffer
	require.NoError(t, b.WriteFile(t.Context(), &image))
	return image.Bytes()
}

// TestPrefixRequests counts requests. A short object takes one when it is read, and another one if its
// kind is to be found.
func TestPrefixRequests(t *testing.T) {
	image, _ := sample(t, "cdf2_climate.nc")
	small := smallImage(t)
	require.InDelta(t, 26e3, len(small), 1e3)
	s := newBucket(t)
	s.put("classic/x.nc", image)
	s.put("small/x.nc", small)
	for _, c := range []struct{ args, want string }{
		{"archive --stats -o s3://bucket/run7/ s3://bucket/classic/", "requests: 1 LIST, 4 GET, 2 HEAD, 1 PUT\n"},
		{"archive --stats -o s3://bucket/run8/ s3://bucket/small/", "requests: 1 LIST, 3 GET, 2 HEAD, 1 PUT\n"},
		{"verify --stats s3://bucket/run7/", "requests: 1 LIST, 3 GET, 0 HEAD, 0 PUT\n"},
		{"restore --stats -o back/ s3://bucket/run7/", "requests: 1 LIST, 3 GET, 0 HEAD, 0 PUT\n"},
		{"info --stats s3://bucket/run7/", "requests: 1 LIST, 3 GET, 0 HEAD, 0 PUT\n"},
		{"catalogue --stats -o cat.parquet s3://bucket/run7/", "requests: 1 LIST, 3 GET, 0 HEAD, 0 PUT\n"},
	} {
		code, _, msg := s.run(strings.Fields(c.args)...)
		require.Zero(t, code, msg)
		require.Equal(t, c.want, msg, c.args)
	}

	// restore looks for volumes with the tree file of a whole tree: the names are those of the first page. Only if there are more, the files
	// of the folder itself are listed for it.
	for i := range 1100 {
		s.put(fmt.Sprintf("many/%d/%d.nc.cdfz", i%7, i), nil)
	}
	_, _, msg := s.run("restore", "--stats", "--include", "*/", "--exclude", "*", "-o", "none/", "s3://bucket/many/")
	require.Contains(t, msg, "requests: 3 LIST, 2 GET, 0 HEAD, 0 PUT\n")
}
