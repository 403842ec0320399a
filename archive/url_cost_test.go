package archive

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/plan"
	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/internal/faultsrv"
	"github.com/cdfz-format/cdfz/remote"
)

// TestURLCopyCost checks that reading a whole archive over HTTP uses long runs and
// reads no byte twice.
func TestURLCopyCost(t *testing.T) {
	image := noiseImage(t, 350)
	sizes := []int64{MinBlock, 16 << 10, DefaultBlock}
	if testing.Short() {
		sizes = sizes[1:2]
	}
	for _, block := range sizes {
		ar := noiseArchive(t, image, block)
		size := int64(len(ar))
		// Runs of 4 MiB, or shorter where a part of the read-ahead ends, and the index.
		limit := 2*plan.CeilDiv(size, 4<<20) + 3
		for name, do := range map[string]func(*read.Reader, *remote.File) error{
			"Copy": func(a *read.Reader, _ *remote.File) error { return copyImage(context.Background(), a, nil, nil) },
			"Copy in passes": func(a *read.Reader, _ *remote.File) error {
				return copyImage(context.Background(), a, nil, &imageOptions{Memory: 1, Workers: 3})
			},
			"WriteTo": func(a *read.Reader, _ *remote.File) error {
				var b bytes.Buffer
				_, err := newImage(a).WriteTo(&b)
				if err == nil && !bytes.Equal(image, b.Bytes()) {
					err = io.ErrUnexpectedEOF
				}
				return err
			},
			"Repair": func(_ *read.Reader, h *remote.File) error {
				p, err := repair.Repair(context.Background(), h, h.Size(), nil)
				if err == nil {
					require.True(t, p.Intact())
					err = p.Close()
				}
				return err
			},
			"Verify": func(a *read.Reader, h *remote.File) error {
				rep, err := verify.Verify(context.Background(), h, h.Size(), nil)
				if err == nil {
					require.Empty(t, rep.Damage)
				}
				return err
			},
		} {
			s := faultsrv.Serve(t, ar)
			f, err := openURL(t, s, remote.Options{})
			require.NoError(t, err)
			n, got := cost(t, s, httpOf(f), func() { require.NoError(t, do(f.archive, httpOf(f))) })
			t.Logf("%s, blocks of %d bytes (%d): %d requests, %d bytes of %d", name, block, f.archive.L.Blocks, n, got, size)
			switch name {
			case "Copy in passes": // each reads every other block
				require.LessOrEqual(t, n, max(3*limit, f.archive.L.Blocks))
				require.LessOrEqual(t, got, 2*size)
			case "Verify", "Repair": // read everything twice, or the tail
				require.LessOrEqual(t, n, 2*limit+4)
				require.LessOrEqual(t, got, 2*size+size/10)
			default:
				require.LessOrEqual(t, n, limit)
				require.LessOrEqual(t, got, size)
			}
		}
	}
}

// TestURLWriteCost checks that a classic file at a URL is archived in long reads and
// downloaded once.
func TestURLWriteCost(t *testing.T) {
	image := noiseImage(t, 350)
	s := faultsrv.Serve(t, image)
	r, err := remote.Open(context.Background(), s.URL, nil)
	require.NoError(t, err)
	defer r.Close()
	opened, before := s.Requests.Load(), r.Stats().Bytes
	var got, want bytes.Buffer
	_, err = Write(context.Background(), &got, r, r.Size(), &WriteOptions{Name: "x.nc"})
	require.NoError(t, err)
	_, err = Write(context.Background(), &want, bytes.NewReader(image), int64(len(image)), &WriteOptions{Name: "x.nc"})
	require.NoError(t, err)
	require.True(t, bytes.Equal(want.Bytes(), got.Bytes()))
	// The header and the choice of the layout need a few more reads.
	require.LessOrEqual(t, s.Requests.Load()-opened, plan.CeilDiv(r.Size(), aheadRun)+8)
	require.LessOrEqual(t, r.Stats().Bytes-before, r.Size()+r.Size()/20)
	t.Logf("%d requests for %d bytes: %d bytes", s.Requests.Load()-opened, r.Size(), r.Stats().Bytes-before)
}
