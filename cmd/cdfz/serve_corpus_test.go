//go:build corpus && judge && linux

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/testdata/corpus"
)

// TestCorpusDAP compares what ncdump prints for files of the corpus with what it prints for
// their URLs: every tenth file, or all in the soak. A file that differs has a cause that
// docs/serve.md lists.
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
	maps.DeleteFunc(files, func(name string, b []byte) bool { return !chosen[name] || claimsMany(name) })
	originals, archives := archived(t, files)
	s := serveOn(t, archives)
	var g errgroup.Group
	g.SetLimit(4)
	var mu sync.Mutex
	compared, differ, lacking := 0, map[string]int{}, 0
	for name, b := range files {
		causes := dapCauses(t, b)
		if slices.Contains(causes, causeStream) {
			continue // ncdump reads 4294967295 records
		}
		g.Go(func() error {
			differs, refused := differsOverDAP(originals, name, s.at+"/dap/"+name)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case refused:
				return nil
			case slices.ContainsFunc(causes, func(c string) bool { return slices.Contains(dapTypes, c) }):
				lacking++
				return nil
			}
			compared++
			if !differs {
				return nil
			}
			if len(causes) == 0 {
				return fmt.Errorf("%s differs over DAP2 without a cause", name)
			}
			differ[causes[0]]++
			return nil
		})
	}
	require.NoError(t, g.Wait())
	t.Logf("%d files have types that DAP2 lacks; of %d others, these differ: %v", lacking, compared, differ)
	require.Positive(t, compared)
}
