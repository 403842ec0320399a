package archive

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/internal/faultsrv"
	"github.com/cdfz-format/cdfz/remote"
)

// cost runs f and returns the requests and bytes that it took.
func cost(t testing.TB, s *faultsrv.Server, h *remote.File, f func()) (requests, size int64) {
	n, b := s.Requests.Load(), h.Stats().Bytes
	f()
	return s.Requests.Load() - n, h.Stats().Bytes - b
}

// TestURLListingCost: what lists all blocks over HTTP reads the index in long runs.
func TestURLListingCost(t *testing.T) {
	ar := noiseArchive(t, noiseImage(t, 350), MinBlock)
	local := open(t, ar)
	for _, o := range []*ReaderOptions{nil, {Index: 1}} {
		s := faultsrv.Serve(t, ar)
		f, err := openURL(t, s, remote.Options{}, o)
		require.NoError(t, err)
		require.Greater(t, f.archive.l.blocks, int64(20*256), "pages of the index")
		for name, list := range map[string]func(a *Reader) (any, error){
			"Vars": func(a *Reader) (any, error) { return a.Vars(true) },
			"Rest": func(a *Reader) (any, error) { return a.Rest() },
			"EachBlock": func(a *Reader) (any, error) {
				var all []BlockInfo
				err := a.EachBlock(func(b BlockInfo) error { all = append(all, b); return nil })
				return all, err
			},
		} {
			want, err := list(local)
			require.NoError(t, err)
			n, _ := cost(t, s, httpOf(f), func() {
				got, err := list(f.Archive())
				require.NoError(t, err)
				require.Equal(t, want, got)
			})
			t.Logf("%s: %d requests", name, n)
			require.LessOrEqual(t, n, int64(2), "the second where a page in memory gave way to others")
		}
	}
}
