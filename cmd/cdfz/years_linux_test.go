package main

import (
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/fusefs"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/serve/server"
	"github.com/cdfz-format/cdfz/internal/nstest"
)

// setSeconds sets the modification time of a file. [os.Chtimes] cannot set all.
func setSeconds(t *testing.T, name string, at unix.Timespec) {
	t.Helper()
	require.NoError(t, unix.UtimesNanoAt(unix.AT_FDCWD, name, []unix.Timespec{at, at}, 0))
}

// secondsOf returns the modification time of a file.
func secondsOf(t *testing.T, name string) unix.Timespec {
	t.Helper()
	st, err := os.Stat(name)
	require.NoError(t, err)
	m := st.Sys().(*syscall.Stat_t).Mtim
	return unix.Timespec{Sec: m.Sec, Nsec: m.Nsec}
}

// TestYears has files whose times are not in the years that RFC 3339 and the nanoseconds of an int64 can
// write. They are archived, deleted, proved, shown and changed as all others are.
func TestYears(t *testing.T) {
	if !nstest.Enter(t) {
		return
	}
	image := readFile(t, "../../testdata/classic/cdf1_bits.nc")
	t.Chdir(t.TempDir())
	nstest.Mount(t, "tmpfs", "none", "m", "")
	times := map[string]unix.Timespec{
		"usual":     {Sec: 1e9, Nsec: 5},
		"before":    {Sec: -1, Nsec: 999999999},
		"nano":      {Sec: 10413792000, Nsec: 1}, // 2300
		"year10000": {Sec: 253402300800},
		"year11476": {Sec: 300000000000, Nsec: 5e8},
		"year0":     {Sec: -62167219200},
		"year1":     {Sec: -62135596800},
		"bc":        {Sec: -100000000000, Nsec: 1},
		"last":      {Sec: math.MaxInt64},
		"first":     {Sec: math.MinInt64},
	}
	n := len(times)
	create := func() {
		require.NoError(t, os.MkdirAll("m/d", 0o755))
		for name, at := range times {
			require.NoError(t, os.WriteFile("m/d/"+name+".nc", image, 0o644))
			setSeconds(t, "m/d/"+name+".nc", at)
			require.Equal(t, at, secondsOf(t, "m/d/"+name+".nc"))
		}
	}
	ok := func(args ...string) string {
		t.Helper()
		code, out, msg := cdfz(t, args...)
		require.Zero(t, code, "%v: %s%s", args, out, msg)
		return out
	}

	create()
	deletes := []string{"archive", "--receipts", "r.jsonl", "--delete-source", "--durable-mount", "m", "-o", "m/a/", "m/d"}
	ok(append(deletes, "--dry-run")...)
	ok("archive", "--receipts", "k.jsonl", "--json", "-o", "m/a/", "m/d")
	ok("receipts", "k.jsonl")
	for range 2 { // the second run finds all archives by their times
		out := ok("archive", "--receipts", "k.jsonl", "-o", "m/a/", "m/d")
		require.Equal(t, "0 files; 10 archived before", strings.TrimSpace(out))
	}
	require.Equal(t, n, strings.Count(ok("receipts", "k.jsonl"), "its source exists\n"))
	ok(append(deletes, "--log", "log.jsonl")...)
	left, err := os.ReadDir("m/d")
	require.NoError(t, err)
	require.Empty(t, left)
	for name, at := range times {
		require.Equal(t, at, secondsOf(t, "m/a/"+name+".nc.cdfz"), name)
	}
	receipts := string(readFile(t, "r.jsonl"))
	for _, text := range []string{"2001-09-09T01:46:40.000000005Z", "1969-12-31T23:59:59.999999999Z", "2300-01-01T00:00:00.000000001Z", "@253402300800", "@300000000000.5",
		"0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "@-99999999999.999999999", "@9223372036854775807", "@-9223372036854775808"} {
		require.Contains(t, receipts, `"modified":"`+text+`"`)
	}
	ok("receipts", "--stats", "r.jsonl")
	ok("receipts", "r.jsonl")

	// What was proved is not read again.
	ok("verify", "--state", "s.jsonl", "m/a")
	code, out, msg := cdfz(t, "verify", "--state", "s.jsonl", "--older-than", "1d", "m/a")
	require.Zero(t, code, msg)
	require.Contains(t, out, "10 proved before")

	ok("catalogue", "-o", "c.parquet", "--receipts", "r.jsonl", "m/a")
	ok("find", "--stac", "--catalogue", "c.parquet")

	// What is restored, repaired and gets parity has the same times.
	ok("restore", "-o", "m/b/", "m/a")
	ok("copy", "m/a", "m/e/")
	ok("parity", "m/e")
	for name, at := range times {
		f, err := os.OpenFile("m/e/"+name+".nc.cdfz", os.O_WRONLY|os.O_APPEND, 0)
		require.NoError(t, err)
		_, err = f.WriteString("more")
		require.NoError(t, err)
		require.NoError(t, f.Close())
		setSeconds(t, f.Name(), at)
	}
	ok("repair", "-f", "m/e")
	for name, at := range times {
		require.Equal(t, at, secondsOf(t, "m/b/"+name+".nc"), name)
		require.Equal(t, at, secondsOf(t, "m/e/"+name+".nc.cdfz"), name)
	}

	// A source is an older or a newer state.
	create()
	for name := range times {
		f, err := os.OpenFile("m/d/"+name+".nc", os.O_RDWR, 0)
		require.NoError(t, err)
		st, err := f.Stat()
		require.NoError(t, err)
		_, err = f.WriteAt([]byte{1}, st.Size()-1)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		setSeconds(t, f.Name(), unix.Timespec{Sec: math.MaxInt64})
	}
	require.NoError(t, os.Remove("m/d/last.nc"))
	ok("archive", "--replace-changed", "-o", "m/a/", "m/d")
	for _, kept := range []string{"usual.nc.20010909T014640Z", "year11476.nc.@300000000000", "bc.nc.@-100000000000", "first.nc.@-9223372036854775808"} {
		require.FileExists(t, "m/a/"+kept+".cdfz")
	}
	setSeconds(t, "m/d/usual.nc", unix.Timespec{Sec: 300000000000})

	// Views.
	require.NoError(t, os.Mkdir("m/view", 0o755))
	mounted, err := fusefs.Mount("m/e", "m/view", nil)
	require.NoError(t, err)
	defer mounted.Close()
	for name, at := range times {
		require.Equal(t, at, secondsOf(t, "m/view/"+name+".nc"), name)
	}
	web, err := server.New("m/e", nil)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- web.Serve(ctx, l, nil) }()
	defer func() { stop(); <-ended }()
	get := func(path string) (http.Header, string) {
		t.Helper()
		r, err := http.Get("http://" + l.Addr().String() + path)
		require.NoError(t, err)
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, r.StatusCode, path)
		return r.Header, string(b)
	}
	for name, at := range times {
		header := ""
		if first, end := int64(-62167219200), int64(253402300800); first <= at.Sec && at.Sec < end && name != "year1" {
			header = time.Unix(at.Unix()).UTC().Format(http.TimeFormat)
		}
		for _, url := range []string{"/files/" + name + ".nc", "/files/" + name + ".nc.cdfz", "/dap/" + name + ".nc.dds", "/zarr/" + name + ".nc/.zgroup"} {
			h, _ := get(url)
			require.Equal(t, header, h.Get("Last-Modified"), url)
		}
	}
	for path, field := range map[string]string{"/catalog/catalog.xml": "<date ", "/catalog/catalog.json": `"modified"`} {
		_, list := get(path)
		require.Equal(t, 4, strings.Count(list, field), "%s: %s", path, list) // RFC 3339 cannot write the others, or the time is zero
	}
	get("/files/")
}
