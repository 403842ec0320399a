//go:build corpus && judge && linux

package main

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/testdata/corpus"
)

// dapLacks reports whether a file has what DAP2, or libnetcdf's reading of it, cannot tell, as
// docs/serve.md lists it, or what ncdump itself gets wrong.
func dapLacks(t *testing.T, b []byte) bool {
	h, err := cdf3.Read(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	newer := func(k cdf3.Type) bool { return k >= cdf3.UByte }
	odd := func(name string) bool {
		return strings.ContainsFunc(name, func(r rune) bool {
			return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+", r)
		})
	}
	attrs := func(list []cdf3.Attr, k cdf3.Type) bool {
		return slices.ContainsFunc(list, func(a cdf3.Attr) bool {
			return newer(a.Type) || odd(a.Name) || a.Name == "_FillValue" && a.Type != k || a.Type == cdf3.Char && bytes.IndexByte(a.Values, 0) >= 0 || strings.HasPrefix(a.Name, "DODS")
		})
	}
	lacks := h.Streaming || attrs(h.Attrs, 0)
	for i := range h.Vars {
		v := &h.Vars[i]
		lacks = lacks || newer(v.Type) || odd(v.Name) || attrs(v.Attrs, v.Type) || v.Len == 0 || v.Type == cdf3.Char && len(v.DimIDs) == 0
		if v.Type == cdf3.Char && v.Len > 0 && len(v.Shape) > 0 {
			var text []byte
			for n := range v.Len / v.RecLen {
				text = append(text, b[min(int64(len(b)), v.Begin+n*h.RecSize):min(int64(len(b)), v.Begin+n*h.RecSize+v.RecLen)]...)
			}
			for row := v.Shape[len(v.Shape)-1]; int64(len(text)) >= row; text = text[row:] {
				lacks = lacks || bytes.IndexByte(bytes.TrimRight(text[:row], "\x00"), 0) >= 0
			}
		}
		for _, id := range v.DimIDs {
			lacks = lacks || odd(h.Dims[id].Name)
		}
	}
	return lacks
}

// TestCorpusDAP compares what ncdump prints for files of the corpus with what it prints for
// their URLs: every tenth file, or all in the soak.
func TestCorpusDAP(t *testing.T) {
	files := map[string][]byte{}
	add := func(t *testing.T, f corpus.File) {
		if f.Size < 1<<20 {
			files[strings.TrimSuffix(f.Name, ".gz")] = f.Bytes(t)
		}
	}
	corpus.Valid(t, add)
	corpus.Ferret(t, add)
	chosen := map[string]bool{}
	for _, name := range sampled(slices.Sorted(maps.Keys(files))) {
		chosen[name] = true
	}
	maps.DeleteFunc(files, func(name string, b []byte) bool { return !chosen[name] || claimsMany(name) || dapLacks(t, b) })
	originals, archives := archived(t, files)
	s := serveOn(t, archives)
	var g errgroup.Group
	g.SetLimit(4)
	var compared, differ atomic.Int64
	for name := range files {
		g.Go(func() error {
			differs, refused := differsOverDAP(originals, name, s.at+"/dap/"+name)
			if refused {
				return nil
			}
			compared.Add(1)
			if differs {
				differ.Add(1)
				t.Logf("%s differs over DAP2", name)
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	t.Logf("%d files compared, %d differ", compared.Load(), differ.Load())
	require.Positive(t, compared.Load())
	require.LessOrEqual(t, differ.Load()*100, compared.Load()*3)
}
