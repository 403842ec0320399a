package terminal

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestProgressText checks file, bytes, speed and time left. There is no speed at first,
// and files with nothing to do do not count.
func TestProgressText(t *testing.T) {
	p := &Progress{verb: "archive", sizes: map[int]int64{0: 100e6, 1: 50e6, 2: 50e6}, files: 3, total: 200e6, columns: 100, done: map[int]int64{}, start: time.Now()}
	a := &Terminal{Printer: Printer{screen: &screen{progress: p}}}
	a.Step("x/a.nc", 100e6, 0, 2)(50e6)
	require.Equal(t, "archive  1 of 3  25.0 MB of 200 MB  x/a.nc", p.text(barDelay))
	require.Equal(t, "archive  1 of 3  25.0 MB of 200 MB  12 MB/s  0:14 left  x/a.nc", p.text(2*time.Second))
	a.PassOver()
	p.end(0)
	p.name = "b.nc"
	require.Equal(t, "archive  2 of 3  0 B of 100 MB  b.nc", p.text(2*time.Second))
	p.done[1], p.done[2] = 20e6, 5e6 // at the same time
	require.Equal(t, "archive  2 of 3  25.0 MB of 100 MB  12 MB/s  0:06 left  b.nc", p.text(2*time.Second))
	p.name, p.columns = "a/long/name/1234567890.nc", 80
	require.Equal(t, "archive  2 of 3  25.0 MB of 100 MB  12 MB/s  0:06 left  …34567890.nc", p.text(2*time.Second))
	p.columns = 60 // no room for the name
	require.Equal(t, "archive  2 of 3  25.0 MB of 100 MB  12 MB/s  0:06 left", p.text(2*time.Second))
	// Without a terminal, a long run has a line a minute, with the time.
	var log bytes.Buffer
	a = New(nil, nil, &log)
	a.StartProgress("verify", 100e6)
	step := a.Step("a.nc.cdfz", 100e6, 0, 1)
	step(20e6)
	require.Empty(t, log.String())
	a.progress.printed = a.progress.printed.Add(-lineEvery)
	step(50e6)
	step(60e6)
	require.Regexp(t, `^cdfz: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)  verify  50.0 MB of 100 MB  a.nc.cdfz\n$`, log.String())
	// The number of files of a list is not known.
	a.StartProgress("verify")
	a.AddFile(0, 100e6)
	a.AddFile(1, 200e6)
	a.Step("a.nc.cdfz", 100e6, 0, 1)(20e6)
	require.Equal(t, "verify  file 1  20.0 MB  10 MB/s  a.nc.cdfz", a.progress.text(2*time.Second))
	a.EndFile(0)
	require.Equal(t, "verify  file 2  100 MB  50 MB/s  a.nc.cdfz", a.progress.text(2*time.Second))
	// A nil Progress shows nothing.
	p = nil
	p.end(1)
	p.clear()
	p.stop()
	require.Nil(t, (&Printer{screen: new(screen)}).Step("x", 1, 0, 1))
}
