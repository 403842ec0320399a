package display

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"":               "",
		"température":    "température",
		"a b":            "a b",
		"a\nb\tc":        `a\nb\tc`,
		"\x1b[31mred":    `\x1b[31mred`,
		"\xff\xfe":       `\xff\xfe`,
		"\u202eevil":     `\u202eevil`,
		"\ufffd":         "\ufffd",
		"x\ufffdy\x80":   "x\ufffdy\\x80",
		`back\slash "q"`: `back\slash "q"`,
	} {
		require.Equal(t, want, Printable(in), "%q", in)
	}
	require.Equal(t, "tas", Quoted("tas"))
	require.Equal(t, `"a b"`, Quoted("a b"))
	require.Equal(t, `""`, Quoted(""))
	require.Equal(t, `"a\x00"`, Quoted("a\x00"))
}

func TestSizes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.00 kB", 9994: "9.99 kB", 9996: "10.0 kB", 99949: "99.9 kB", 99960: "100 kB",
		999499: "999 kB", 999500: "1.00 MB", 1 << 40: "1.10 TB", 1<<63 - 1: "9 EB",
	} {
		require.Equal(t, want, Size(n))
	}
	for s, want := range map[string]int64{
		"0": 0, "65536": 65536, "64K": 65536, "64k": 65536, "64KiB": 65536, "64KB": 65536, "1M": 1 << 20, "2G": 2 << 30, "1T": 1 << 40, "7B": 7,
	} {
		got, err := ParseSize(s)
		require.NoError(t, err, s)
		require.Equal(t, want, got, s)
	}
	for _, s := range []string{"", "K", "-1", "1.5M", "1X", "1KK", "9999999T", "1 M", "0x10"} {
		_, err := ParseSize(s)
		require.Error(t, err, s)
	}
}

func TestNearest(t *testing.T) {
	verbs := []string{"archive", "restore", "verify", "repair", "info", "get", "dump", "bench"}
	for name, want := range map[string]string{
		"archiv": "archive", "verfy": "verify", "INFO": "info", "resotre": "restore", "x": "", "frobnicate": "", "arch": "archive", "gt": "get", "": "",
	} {
		require.Equal(t, want, Nearest(name, verbs), "%q", name)
	}
	require.Equal(t, "tas", Nearest("tsa", []string{"pr", "tas"}))
}

func TestClock(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0:00", 499 * time.Millisecond: "0:00", 7 * time.Second: "0:07", 754 * time.Second: "12:34", 3665 * time.Second: "1:01:05"} {
		require.Equal(t, want, Clock(d))
	}
}
