// Package seeds keeps the seed corpora of fuzz targets: testdata/fuzz/FuzzX/NAME beside
// the tests, made from valid and damaged inputs. The targets define their seeds, and
// this command writes them:
//
//	go test -run '^Fuzz' ./PACKAGE -seeds
//
// Seeds of compressed data may differ from existing files as encoders improve, but old
// ones stay useful. So a test only requires a file of each name.
package seeds

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var write = flag.Bool("seeds", false, "write the seeds of fuzz targets into testdata/fuzz")

// maxLen is the largest length of a seed file.
const maxLen = 20_000

// Set is the seeds of a fuzz target.
type Set struct {
	f   *testing.F
	dir string
}

// Of returns the set of a target.
func Of(f *testing.F) *Set {
	return &Set{f, filepath.Join("testdata", "fuzz", f.Name())}
}

// Add adds a seed, for which a file must exist.
func (s *Set) Add(name string, args ...any) {
	s.f.Helper()
	s.f.Add(args...)
	path := filepath.Join(s.dir, name)
	if !*write {
		if _, err := os.Stat(path); err != nil {
			s.f.Fatalf("%v; go test -run '^Fuzz' -seeds writes it", err)
		}
		return
	}
	b := encode(args)
	if len(b) > maxLen {
		s.f.Fatalf("seed %s has %d bytes, expected at most %d", name, len(b), maxLen)
	}
	if err := os.MkdirAll(s.dir, 0o777); err != nil {
		s.f.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o666); err != nil {
		s.f.Fatal(err)
	}
}

// AddDamaged adds the bytes unchanged, cut off, with one byte inverted, and with bytes
// appended. rest are the other arguments.
func (s *Set) AddDamaged(name string, b []byte, rest ...any) {
	s.f.Helper()
	add := func(how string, b []byte) { s.Add(name+how, slices.Concat([]any{b}, rest)...) }
	add("", b)
	if len(b) == 0 {
		return
	}
	add("-cut", b[:len(b)*2/3])
	inverted := bytes.Clone(b)
	inverted[len(b)/3] ^= 0xff
	add("-inverted", inverted)
	add("-longer", append(bytes.Clone(b), b[:min(len(b), 16)]...))
}

// encode returns the text of a seed file.
func encode(args []any) []byte {
	b := []byte("go test fuzz v1\n")
	for _, a := range args {
		switch a := a.(type) {
		case []byte, string:
			b = fmt.Appendf(b, "%T(%q)\n", a, a)
		default:
			b = fmt.Appendf(b, "%T(%v)\n", a, a)
		}
	}
	return bytes.ReplaceAll(b, []byte("[]uint8("), []byte("[]byte("))
}
