//go:build corpus && judge && linux

package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cdfz-format/cdfz/testdata/corpus"
)

// TestCorpusPythonPackage compares every tenth archive of the corpus, in the soak all, with
// their originals by the Python package: bytes of the file, and what xarray reads, with and
// without decoding.
func TestCorpusPythonPackage(t *testing.T) {
	files := map[string][]byte{}
	corpus.Valid(t, func(t *testing.T, f corpus.File) { files[strings.TrimSuffix(f.Name, ".gz")] = f.Bytes(t) })
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(files)), claimsMany)
	names = sampled(names)
	maps.DeleteFunc(files, func(name string, _ []byte) bool { return !slices.Contains(names, name) })
	originals, archives := archived(t, files)
	comparePython(t, originals, archives, names)
}
