package archive

import (
	"archive/zip"
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/czip"
)

var update = flag.Bool("update", false, "rewrite the dumps in docs/FORMAT.md")

// TestFormatExample checks the dumps in the specification: of an archive of the smallest netCDF file, whose plan is
// that which Write makes but for the version of the writer, and of the test vector with records, padding and a mask.
func TestFormatExample(t *testing.T) {
	smallest := pack(t, smallestImage, &WriteOptions{Name: "empty.nc"})
	require.True(t, bytes.Equal(smallestImage, unpack(t, smallest)))
	vector, err := os.ReadFile("../testdata/vectors/good/records")
	require.NoError(t, err)
	_, records, _ := bytes.Cut(vector, []byte("\n\n"))
	for _, e := range []struct {
		heading string
		archive []byte
	}{{"### D.1 ", smallest}, {"### D.2 ", records}} {
		want := "```\n" + dump(e.archive) + "```"
		b, err := os.ReadFile("../docs/FORMAT.md")
		require.NoError(t, err)
		text := string(b)
		at := strings.Index(text, e.heading)
		require.Positive(t, at)
		block := regexp.MustCompile("(?s)```\n.*?```").FindStringIndex(text[at:])
		require.NotNil(t, block)
		shown := undump(t, text[at+block[0]:at+block[1]])
		if bytes.Equal(e.archive, smallest) && planWithoutWriter(t, shown) == planWithoutWriter(t, smallest) {
			require.True(t, bytes.Equal(smallestImage, unpack(t, shown)))
			require.Equal(t, "```\n"+dump(shown)+"```", text[at+block[0]:at+block[1]])
			continue
		}
		if *update {
			text = text[:at+block[0]] + want + text[at+block[1]:]
			require.NoError(t, os.WriteFile("../docs/FORMAT.md", []byte(text), 0o644))
			continue
		}
		require.Equal(t, want, text[at+block[0]:at+block[1]], "run the test with -update if the change is meant")
	}
}

// undump returns the bytes that dump has printed.
func undump(t *testing.T, text string) []byte {
	var b []byte
	for _, m := range regexp.MustCompile(`(?m)^[0-9a-f]{4}  ((?:[0-9a-f]{2} )+)`).FindAllStringSubmatch(text, -1) {
		line, err := hex.DecodeString(strings.ReplaceAll(m[1], " ", ""))
		require.NoError(t, err)
		b = append(b, line...)
	}
	return b
}

// planWithoutWriter returns the JSON of an archive's plan, or nothing if the archive cannot be read.
func planWithoutWriter(t *testing.T, ar []byte) string {
	z, err := zip.NewReader(bytes.NewReader(ar), int64(len(ar)))
	if err != nil {
		return ""
	}
	b, err := fs.ReadFile(z, ".cdfz/plan.json")
	require.NoError(t, err)
	return regexp.MustCompile(`"writer":"cdfz [^"]*"`).ReplaceAllString(string(b), "")
}

// dump prints bytes by entry, 16 per line.
func dump(ar []byte) string {
	var b strings.Builder
	part := func(title string, from, to int64) {
		fmt.Fprintf(&b, "-- %s\n", title)
		for at := from; at < to; at += 16 {
			line := ar[at:min(at+16, to)]
			text := strings.Map(func(r rune) rune {
				if r < 0x20 || r > 0x7e {
					return '.'
				}
				return r
			}, latin1(line))
			fmt.Fprintf(&b, "%04x  %-47s  %s\n", at, strings.TrimSpace(regexp.MustCompile("..").ReplaceAllString(hex.EncodeToString(line), "$0 ")), text)
		}
	}
	w := &czip.Walker{R: bytes.NewReader(ar), Size: int64(len(ar))}
	off := int64(0)
	for {
		e, err := w.At(off)
		if err != nil {
			break
		}
		part("local header of "+e.Name, off, off+e.LocalLen())
		part("its stored bytes", off+e.LocalLen(), e.End())
		off = e.End()
	}
	part("central directory", off, int64(len(ar))-czip.EndLen)
	part("end", int64(len(ar))-czip.EndLen, int64(len(ar)))
	return b.String()
}

func latin1(b []byte) string {
	r := make([]rune, len(b))
	for i, c := range b {
		r[i] = rune(c)
	}
	return string(r)
}
