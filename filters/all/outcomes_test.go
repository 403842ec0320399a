package all

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cdfz-format/cdfz/filters"
)

var writeOutcomes = flag.Bool("outcomes", false, "write testdata/outcomes.txt")

// TestFilterOutcomes decodes the worst blocks of every filter, and compares what they decode to, or
// that they are refused, with testdata/outcomes.txt. So builds without assembly and with 32 bits agree
// with all others.
func TestFilterOutcomes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	sums := map[uint32][]byte{}
	counts := map[uint32]int{}
	for w := range worstBlocks(t, worstSources(4096), 2) {
		m, _ := filters.Lookup(w.filter.ID)
		got, err := m.New().Decode(make([]byte, 0, w.n), w.stored, w.filter.Params, w.n)
		h := sha256.New()
		h.Write(sums[w.filter.ID])
		if err == nil {
			fmt.Fprint(h, "decoded")
			h.Write(got)
		}
		sums[w.filter.ID] = h.Sum(nil)
		counts[w.filter.ID]++
	}
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&b, "%d %d %x\n", id, counts[id], sums[id])
	}
	const name = "testdata/outcomes.txt"
	if *writeOutcomes {
		if err := os.WriteFile(name, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		t.Errorf("expected\n%sfound\n%s", want, got)
	}
}
