//go:build judge

package cdl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/latin"
	"github.com/cdfz-format/cdfz/slab"
)

// These tests compare the text with that of ncdump (Debian: netcdf-bin). A missing
// judge is a failure. If ncdump stops with an error, its output must be the beginning
// of ours.

const (
	// maxWhole is the file size above which only headers and coordinates are compared.
	maxWhole = 64 << 20
	// maxValues is the size of values, in bytes, above which few flags are tried.
	maxValues = 8 << 20
	// maxHollow is how many times more bytes of values than its length a file may claim for
	// its values to be printed. ncdump needs seconds for a million missing records.
	maxHollow = 1000
	// everyFlag is the share of the flags that are tried with a file, in turns. In the soak
	// it is all of them.
	everyFlag = 8
)

// comparison is a call of ncdump and the matching options of Dump.
type comparison struct {
	flags []string
	o     Options
	large bool // also for large files
}

// comparisons returns the flags to compare for a file.
func comparisons(h *cdf3.Header, name string) []comparison {
	out := []comparison{
		{flags: []string{"-h"}, o: Options{Header: true}, large: true},
		{flags: []string{"-c"}, o: Options{Coords: true}, large: true},
		{flags: []string{"-hs"}, o: Options{Header: true, Special: true}, large: true},
		{large: true},
		{flags: []string{"-p", "3,5"}, o: Options{FloatDigits: 3, DoubleDigits: 5}},
		{flags: []string{"-p", "9,17"}, o: Options{FloatDigits: 9, DoubleDigits: 17}},
		{flags: []string{"-f", "c"}, o: Options{Full: true}},
		{flags: []string{"-f", "fortran"}, o: Options{Full: true, Fortran: true}},
		{flags: []string{"-b", "c"}, o: Options{Brief: true}},
		{flags: []string{"-b", "f", "-l", "40"}, o: Options{Brief: true, Fortran: true, LineLen: 40}},
		{flags: []string{"-s", "-n", "1 other"}, o: Options{Special: true, Name: "1 other"}},
		{flags: []string{"-t"}, o: Options{Times: true}, large: true},
		{flags: []string{"-ic"}, o: Options{Times: true, ISO: true, Coords: true}, large: true},
		{flags: []string{"-i", "-b", "c", "-l", "50"}, o: Options{Times: true, ISO: true, Brief: true, LineLen: 50}},
		{flags: []string{"-wts", "-f", "f", "-p", "4"}, o: Options{Times: true, Special: true, Full: true, Fortran: true, FloatDigits: 4}},
		{flags: []string{"-x"}, o: Options{NcML: true}, large: true},
		{flags: []string{"-xh"}, o: Options{NcML: true, Header: true}, large: true},
		{flags: []string{"-xcs", "-p", "3,5"}, o: Options{NcML: true, Coords: true, Special: true, FloatDigits: 3, DoubleDigits: 5}},
	}
	for i := range h.Vars {
		if v := h.Vars[i].Name; v != "" && !strings.ContainsAny(v, ",/\x00") {
			out = append(out, comparison{flags: []string{"-v", v}, o: Options{Vars: []string{v}}})
			break
		}
	}
	for i := range out {
		if out[i].o.Name == "" {
			out[i].o.Name = Name(name)
		}
	}
	return out
}

// ncdump returns the output of ncdump. ok is false if it failed or took longer than a
// minute.
func ncdump(t testing.TB, args ...string) (out []byte, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ncdump", args...).Output()
	if errors.Is(err, exec.ErrNotFound) {
		t.Error(err)
	}
	return out, err == nil
}

// exception is an accepted difference from the text of ncdump. It must be the only one:
// once applied, the texts must be equal.
type exception struct {
	why     string
	misread bool // ncdump misreads the file or writes uninitialized memory; not counted, since the number depends on the machine
	alter   func(h *cdf3.Header, c *comparison, text []byte) []byte
}

var exceptions = []exception{{
	why:     "STREAMING: ncdump prints 4294967295 records, or 2^64-1",
	misread: true,
	alter: func(h *cdf3.Header, _ *comparison, text []byte) []byte {
		if !h.Streaming {
			return text
		}
		text = bytes.ReplaceAll(text, []byte(` length="-1" `), fmt.Appendf(nil, ` length="%d" `, h.NumRecs))
		n := fmt.Appendf(nil, "(%d currently)", h.NumRecs)
		text = bytes.ReplaceAll(text, []byte("(18446744073709551615 currently)"), n)
		return bytes.ReplaceAll(text, []byte("(4294967295 currently)"), n)
	},
}, {
	why:     "variables with a name of 256 bytes: ncdump has no room for the terminator and appends the type's number",
	misread: true,
	alter: func(h *cdf3.Header, _ *comparison, text []byte) []byte {
		for i := range h.Vars {
			if v := &h.Vars[i]; len(cString(v.Name)) == 256 {
				name := string(appendName(nil, v.Name))
				text = bytes.ReplaceAll(text, fmt.Appendf(nil, "%s\\%%%02x", name, uint32(v.Type)), []byte(name))
			}
		}
		return text
	},
}, {
	why:     "the Fortran index of a scalar: ncdump writes bits of its memory, in rare files 33 instead of 34",
	misread: true,
	alter: func(h *cdf3.Header, c *comparison, text []byte) []byte {
		if !c.o.Full || !c.o.Fortran {
			return text
		}
		for i := range h.Vars {
			if len(h.Vars[i].Shape) == 0 {
				v := string(appendName(nil, h.Vars[i].Name))
				text = bytes.ReplaceAll(text, []byte("  // "+v+"(33)\n"), []byte("  // "+v+"(34)\n"))
			}
		}
		return text
	},
}, {
	why:     "fill values of times: ncdump writes uninitialized memory as a date",
	misread: true,
	alter: func(_ *cdf3.Header, c *comparison, text []byte) []byte {
		if !c.o.Times {
			return text
		}
		return farTime.ReplaceAll(text, []byte("$1\"\"\n$2"))
	},
}, {
	why:     "text in NcML: ncdump does not escape names, nor looks at encodings and control characters",
	misread: true,
	alter: func(h *cdf3.Header, c *comparison, text []byte) []byte {
		if !c.o.NcML {
			return text
		}
		return wellFormed(escapedNames(h, text))
	},
}}

// farTime matches an attribute with a number that is not a time, the comment after it,
// which may contain any bytes, and the start of the next line.
var farTime = regexp.MustCompile(`(?s)( = -?[0-9.]+e\+[1-9][0-9]f? ; // )".*?"\n([\t\n}])`)

var quotedText, control = regexp.MustCompile(`"[^"]*"`), regexp.MustCompile(`&#([0-9]|[12][0-9]|3[01]);|[\x{fffe}\x{ffff}]`)

// wellFormed takes values in NcML that are not UTF-8 as Latin-1, and replaces characters that XML does not have.
func wellFormed(text []byte) []byte {
	text = quotedText.ReplaceAllFunc(text, func(b []byte) []byte { return []byte(latin.Text(string(b))) })
	return control.ReplaceAll(text, []byte("\ufffd"))
}

// escapedNames escapes the names in the NcML of ncdump, one after the other.
func escapedNames(h *cdf3.Header, text []byte) []byte {
	var out []byte
	replace := func(before string, names ...string) {
		var raw, escaped []byte
		for i, name := range names {
			if i > 0 {
				raw, escaped = append(raw, ' '), append(escaped, ' ')
			}
			raw = append(raw, cString(name)...)
			escaped = appendXML(escaped, latin.Text(cString(name)))
		}
		raw = append([]byte(before), raw...)
		i := bytes.Index(text, raw)
		if i < 0 {
			return
		}
		out = append(append(append(out, text[:i]...), before...), escaped...)
		text = text[i+len(raw):]
		if len(cString(names[0])) == 256 {
			// ncdump has no room for the terminator and writes the memory after it.
			text = text[max(0, bytes.IndexByte(text, '"')):]
		}
	}
	attrs := func(attrs []cdf3.Attr) {
		for i := range attrs {
			replace(`<attribute name="`, attrs[i].Name)
		}
	}
	for i := range h.Dims {
		replace(`<dimension name="`, h.Dims[i].Name)
	}
	attrs(h.Attrs)
	for i := range h.Vars {
		v := &h.Vars[i]
		replace(`<variable name="`, v.Name)
		var dims []string
		for _, id := range v.DimIDs {
			dims = append(dims, h.Dims[id].Name)
		}
		if len(dims) > 0 {
			replace(`" shape="`, dims...)
		}
		attrs(v.Attrs)
	}
	return append(out, text...)
}

// scale counts the comparisons.
type scale struct {
	dir                            string
	files, equal, unequal, refused int
	texts, stopped                 int
	excepted                       map[string][]string // files by reason
	mu                             sync.Mutex
}

func newScale(t *testing.T) *scale { return &scale{dir: t.TempDir(), excepted: map[string][]string{}} }

// verdict is the result for a file: the worst of all flags.
type verdict struct {
	compared, differ bool
	why              string // of the exception that makes them equal
}

// file compares a file and its archive with ncdump.
func (s *scale) file(t *testing.T, name string, image []byte) {
	h, err := cdf3.Read(bytes.NewReader(image), int64(len(image)))
	require.NoError(t, err)
	path := filepath.Join(s.dir, filepath.Base(name))
	require.NoError(t, os.WriteFile(path, image, 0o666))
	defer os.Remove(path)
	s.files++
	want, ok := ncdump(t, "-k", path)
	if !ok {
		s.refused++
		return
	}
	require.Equal(t, string(want), Kind(h.Version)+"\n")
	sources := s.sources(t, name, image)
	values := int64(0)
	for i := range h.Vars {
		values += h.Vars[i].Len
	}
	var wait sync.WaitGroup
	var v verdict
	busy := make(chan bool, 3)
	hollow := values > maxHollow*int64(len(image))
	soak := os.Getenv("CDFZ_SOAK") != ""
	for i, c := range comparisons(h, path) {
		switch {
		case !soak && len(c.flags) > 0 && (i+s.files)%everyFlag != 0,
			!c.large && values > maxValues, // too slow
			!c.o.Header && !c.o.NcML && hollow,
			!c.o.Header && !c.o.Coords && len(image) > maxWhole,
			!c.o.Header && h.Streaming: // endless
			continue
		}
		wait.Add(1)
		busy <- true
		go func() {
			defer func() { <-busy; wait.Done() }()
			s.compare(t, &v, &c, h, path, sources)
		}()
	}
	wait.Wait()
	switch {
	case v.differ:
		s.unequal++
	case v.why != "":
		s.excepted[v.why] = append(s.excepted[v.why], name)
	case !v.compared:
		s.refused++
	default:
		s.equal++
	}
}

// compare compares the texts of the sources under some flags with that of ncdump.
func (s *scale) compare(t *testing.T, v *verdict, c *comparison, h *cdf3.Header, path string, sources []slab.Source) {
	want, ok := ncdump(t, append(c.flags, path)...)
	o := c.o
	o.Location = path
	why, diff := "", ""
	texts := 0
	for i, f := range sources {
		if i > 0 && c.o.Special {
			break
		}
		var got bytes.Buffer
		err := Dump(context.Background(), &got, f, &o)
		if err != nil {
			diff = err.Error()
		}
		same := func(want []byte) bool {
			if !ok {
				return bytes.HasPrefix(got.Bytes(), want)
			}
			return bytes.Equal(got.Bytes(), want)
		}
		if !same(want) {
			k := slices.IndexFunc(exceptions, func(e exception) bool { return same(e.alter(h, c, want)) })
			if k >= 0 {
				why = exceptions[k].why
			} else {
				diff = fmt.Sprintf("%s, %v, source %d: %s", path, c.flags, i, difference(want, got.Bytes()))
			}
		}
		texts++
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts += texts
	if ok {
		v.compared = true
	} else {
		s.stopped++
	}
	if why != "" {
		v.why = why
	}
	if diff != "" {
		v.differ = true
		t.Error(diff)
	}
}

// sources returns the file and an archive of it.
func (s *scale) sources(t *testing.T, name string, image []byte) []slab.Source {
	classic, err := archive.New(t.Context(), bytes.NewReader(image), int64(len(image)), nil)
	require.NoError(t, err)
	var b bytes.Buffer
	_, err = archive.Write(context.Background(), &b, bytes.NewReader(image), int64(len(image)), &archive.WriteOptions{Name: filepath.Base(name)})
	require.NoError(t, err)
	packed, err := archive.New(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()), nil)
	require.NoError(t, err)
	_, ok := packed.Info()
	require.True(t, ok)
	return []slab.Source{classic, packed}
}

// difference shows where two texts diverge.
func difference(want, got []byte) string {
	i := 0
	for i < len(want) && i < len(got) && want[i] == got[i] {
		i++
	}
	around := func(b []byte) string { return string(b[max(0, i-60):min(len(b), i+40)]) }
	return fmt.Sprintf("at byte %d:\n ncdump %q\n  here  %q", i, around(want), around(got))
}

// report logs the counts. Less than one percent of the files may be exceptions.
func (s *scale) report(t *testing.T) {
	t.Logf("%d files: %d equal, %d different, %d refused by ncdump; %d texts, ncdump stopped in %d",
		s.files, s.equal, s.unequal, s.refused, s.texts, s.stopped)
	n := 0
	for _, e := range exceptions {
		names := s.excepted[e.why]
		if !e.misread {
			n += len(names)
		}
		if len(names) > 0 {
			t.Logf("%s: %d files %q", e.why, len(names), names)
		}
	}
	require.Less(t, n*100, s.equal+n)
}

func TestJudgeClassic(t *testing.T) {
	names, err := filepath.Glob("../testdata/classic/*.nc")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	// The three versions of a file are neighbors, so that all flags are tried with it.
	slices.SortFunc(names, func(a, b string) int {
		return strings.Compare(a[strings.Index(a, "_"):]+a, b[strings.Index(b, "_"):]+b)
	})
	s := newScale(t)
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			image, err := os.ReadFile(name)
			require.NoError(t, err)
			s.file(t, filepath.Base(name), image)
		})
	}
	s.report(t)
}
