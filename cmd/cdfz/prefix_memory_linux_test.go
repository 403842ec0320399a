package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPrefixMemory checks that the memory of a run does not grow with the listing. It verifies two prefixes with 2000 and
// with 500000 objects. Each has 20 archives.
func TestPrefixMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes more than a second")
	}
	_, stored := sample(t, "cdf1_bits.nc")
	s := newBucket(t)
	const each, archives = 1000, 20
	verify := func(pages int) int64 {
		s.set(func(w http.ResponseWriter, r *http.Request) bool {
			if isTree(w, r) {
				return true
			}
			if !isListing(r) {
				w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", len(stored)-1, len(stored)))
				w.WriteHeader(http.StatusPartialContent)
				_, _ = w.Write(stored)
				return true
			}
			page, _ := strconv.Atoi(r.URL.Query().Get("continuation-token"))
			var b strings.Builder
			fmt.Fprintf(&b, "<ListBucketResult><IsTruncated>%t</IsTruncated>", page < pages-1)
			fmt.Fprintf(&b, "<NextContinuationToken>%d</NextContinuationToken>", page+1)
			for i := range each {
				ending := ".txt"
				if i == 0 && page%(pages/min(pages, archives)) == 0 || pages < archives && i < archives/pages {
					ending = ".nc.cdfz"
				}
				fmt.Fprintf(&b, "<Contents><Key>p/%s/%d/%d%s</Key><Size>%d</Size></Contents>", strings.Repeat("long", 20), page, i, ending, len(stored))
			}
			fmt.Fprint(w, b.String(), "</ListBucketResult>")
			return true
		})
		require.Contains(t, s.done("verify", "s3://bucket/p/"), fmt.Sprintf("20 files: 20 ok, 0 damaged; %d skipped", pages*each-archives))
		return peak(t, "verify", "-q", "s3://bucket/p/")
	}
	few, many := verify(2), verify(500)
	t.Logf("2000 objects: %d MB, 500000 objects: %d MB", few/1e6, many/1e6)
	require.Less(t, many, few+32<<20) // 500000 names have 50 MB
}
