package remote

import (
	"bytes"
	"context"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/internal/faultsrv"
)

// TestReadAt checks the contract of io.ReaderAt, with both ends of the file kept.
func TestReadAt(t *testing.T) {
	const frontProbe = 68 << 10
	image, ar := random(100_000), random(40_000)
	for _, data := range [][]byte{image, ar, image[:frontProbe+defaultTail-100], image[:5000]} {
		h, err := open(t, faultsrv.Serve(t, data), Options{})
		require.NoError(t, err)
		require.NoError(t, h.Preload(context.Background(), frontProbe))
		size := int64(len(data))
		require.Equal(t, size, h.Size())
		for _, off := range []int64{0, 1, frontProbe - 1, frontProbe, frontProbe + 1, size - defaultTail - 1, size - defaultTail, size - defaultTail + 1, size - 1, size, size + 1, size + 1<<40} {
			for _, n := range []int{0, 1, 2, 100, 5000, 80 << 10, len(data)} {
				if off < 0 {
					continue
				}
				p, q := make([]byte, n), make([]byte, n)
				got, err := h.ReadAt(p, off)
				want, wantErr := bytes.NewReader(data).ReadAt(q, off)
				require.Equal(t, want, got, "%d bytes at %d", n, off)
				if n > 0 {
					require.Equal(t, wantErr, err, "%d bytes at %d", n, off)
				}
				require.True(t, bytes.Equal(p, q), "%d bytes at %d", n, off)
			}
		}
		_, err = h.ReadAt(make([]byte, 1), -1)
		require.Error(t, err)
	}
}

// TestContext checks that a done context ends its reads, and that nothing is retried.
func TestContext(t *testing.T) {
	ar := random(40_000)
	s := faultsrv.Serve(t, ar)
	ctx, cancel := context.WithCancel(context.Background())
	f, err := Open(ctx, s.Address(), nil)
	require.NoError(t, err)
	cancel()
	_, err = readAll(f)
	require.NoError(t, err, "the context is for opening only")

	h := f
	block := func(_ int, _ http.ResponseWriter, r *http.Request, _ *httptest.ResponseRecorder) {
		<-r.Context().Done()
	}
	s.Set(func() { s.Fault = block })
	p := make([]byte, 100)
	before := s.Requests.Load()
	ctx, cancel = context.WithTimeout(context.Background(), 50*time.Millisecond)
	_, err = h.ReadAtContext(ctx, p, 0)
	cancel()
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, before+1, s.Requests.Load())
	_, err = h.ReadAtContext(ctx, p, 0)
	require.Error(t, err)

	_, err = Open(ctx, s.Address(), nil)
	require.ErrorIs(t, err, ctx.Err())
	ctx, cancel = context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err = Open(ctx, s.Address(), nil)
	require.ErrorIs(t, err, context.Canceled)

	// During a pause.
	s.Set(func() { s.Fault = faultsrv.Status(503, http.Header{"Retry-After": {"60"}}) })
	ctx, cancel = context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	start := time.Now()
	_, err = h.ReadAtContext(ctx, p, 0)
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, time.Since(start), 10*time.Second)

	// Close ends an active read.
	s.Set(func() { s.Fault = block })
	time.AfterFunc(50*time.Millisecond, func() { f.Close() })
	_, err = h.ReadAtContext(context.Background(), p, 0)
	require.ErrorIs(t, err, fs.ErrClosed)
	sourceFailed(t, err)
	before = s.Requests.Load()
	_, err = readAll(f)
	require.ErrorIs(t, err, fs.ErrClosed)
	_, err = h.ReadAt(p, h.Size()-100)
	require.ErrorIs(t, err, fs.ErrClosed)
	require.Equal(t, before, s.Requests.Load())
}

// TestMissing checks that the message about a URL that does not exist names no range of it.
func TestMissing(t *testing.T) {
	s := faultsrv.Serve(t, []byte("x"))
	s.Fault = faultsrv.Status(404, nil)
	_, err := open(t, s, Options{})
	require.ErrorContains(t, err, ": server answered 404 Not Found")
	require.NotContains(t, err.Error(), "bytes")
}
