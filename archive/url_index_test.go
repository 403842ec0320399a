package archive

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/internal/faultsrv"
	"github.com/cdfz-format/cdfz/remote"
)

// cost runs f and returns its requests and bytes.
func cost(t testing.TB, s *faultsrv.Server, h *remote.File, f func()) (requests, size int64) {
	n, b := s.Requests.Load(), h.Stats().Bytes
	f()
	return s.Requests.Load() - n, h.Stats().Bytes - b
}

// TestURLListingCost checks that listing all blocks over HTTP reads the index in long
// runs.
func TestURLListingCost(t *testing.T) {
	ar := noiseArchive(t, noiseImage(t, 350), MinBlock)
	local := openFile(t, ar, nil)
	for _, o := range []*OpenOptions{nil, {Index: 1}} {
		s := faultsrv.Serve(t, ar)
		f, err := openURL(t, s, remote.Options{}, o)
		require.NoError(t, err)
		require.Greater(t, f.archive.L.Blocks, int64(20*256), "pages of the index")
		for name, list := range map[string]func(f *File) (any, error){
			"Stored": func(f *File) (any, error) {
				return f.Stored(context.Background())
			},
			"Blocks": func(f *File) (any, error) {
				var all []BlockInfo
				for b, err := range f.Blocks(context.Background()) {
					if err != nil {
						return nil, err
					}
					all = append(all, b)
				}
				return all, nil
			},
		} {
			want, err := list(local)
			require.NoError(t, err)
			n, _ := cost(t, s, httpOf(f), func() {
				got, err := list(f)
				require.NoError(t, err)
				require.Equal(t, want, got)
			})
			t.Logf("%s: %d requests", name, n)
			require.LessOrEqual(t, n, int64(2), "the second where a page in memory gave way to others")
		}
	}
}
