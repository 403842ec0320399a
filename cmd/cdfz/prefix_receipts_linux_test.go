package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPrefixReceipts archives to a store with receipts, again, and checks the receipts, which are in the
// store, too.
func TestPrefixReceipts(t *testing.T) {
	climate, _ := sample(t, "cdf2_climate.nc")
	bits, _ := sample(t, "cdf1_bits.nc")
	_, other := sample(t, "cdf5_all_types.nc")
	s := newBucket(t)
	writeTree(t, map[string][]byte{"a.nc": climate, "1990/b.nc": bits})
	run := []string{"archive", "--receipts", "r.jsonl", "-o", "s3://bucket/run7/", "data"}
	s.done(run...)
	lines := func() int {
		b, err := os.ReadFile("r.jsonl")
		require.NoError(t, err)
		return strings.Count(string(b), `"archive":"s3://bucket/run7/`)
	}
	require.Equal(t, 2, lines())
	require.Contains(t, s.done(run...), "2 archived before")
	require.Equal(t, 2, lines())

	check := func() string { return s.done("receipts", "s3://bucket/jobs/r.jsonl") }
	b, err := os.ReadFile("r.jsonl")
	require.NoError(t, err)
	s.put("jobs/r.jsonl", b)
	require.Contains(t, check(), "s3://bucket/run7/1990/b.nc.cdfz: ok, its source exists\n")
	require.Contains(t, s.done("receipts", "--quick", "r.jsonl", "s3://bucket/jobs/r.jsonl"), "4 receipts: 4 ok, 0 failed\n")

	// A file that was archived without receipts gets one later.
	writeTree(t, map[string][]byte{"c.nc": bits})
	s.done("archive", "-o", "s3://bucket/run7/", "data")
	require.Contains(t, s.done(run...), "3 archived before")
	require.Equal(t, 3, lines())

	// A replaced archive, one that is missing, and damaged receipts.
	s.put("run7/a.nc.cdfz", other)
	_, err = s.back.DeleteObject("bucket", "run7/c.nc.cdfz")
	require.NoError(t, err)
	code, out, msg := s.run("receipts", "r.jsonl")
	require.Equal(t, 1, code)
	require.Contains(t, out, "3 receipts: 1 ok, 2 failed\n")
	require.Regexp(t, `s3://bucket/run7/a.nc.cdfz: line \d of r.jsonl: the archive holds another file`, msg)
	require.Regexp(t, `s3://bucket/run7/c.nc.cdfz: line \d of r.jsonl: the archive is missing`, msg)
	b[len(b)/2] ^= 1
	s.put("jobs/r.jsonl", b)
	code, _, msg = s.run("receipts", "s3://bucket/jobs/r.jsonl")
	require.Equal(t, 3, code)
	require.Contains(t, msg, "s3://bucket/jobs/r.jsonl: line ")

	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{[]string{"receipts", "s3://bucket/jobs/none.jsonl"}, 1, "s3://bucket/jobs/none.jsonl: "},
		{[]string{"archive", "--receipts", "s3://bucket/r.jsonl", "-o", "out/", "data"}, 2, "--receipts: expected the name of a file, found a URL"},
		{[]string{"archive", "--receipts", "r.jsonl", "--delete-source", "-o", "s3://bucket/run7/", "data"}, 2, "--delete-source: the archive goes to an object store"},
	} {
		code, _, msg := s.run(c.args...)
		require.Equal(t, c.code, code, "%v: %s", c.args, msg)
		require.Contains(t, msg, c.text, "%v", c.args)
	}
	require.FileExists(t, "data/a.nc")
}
