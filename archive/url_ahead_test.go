package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/read"
	"github.com/cdfz-format/cdfz/archive/repair"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/internal/faultsrv"
	"github.com/cdfz-format/cdfz/remote"
)

// TestURLCopyCancel checks that reading a whole archive over HTTP ends with its
// context, whichever request is active, and leaves no goroutine behind.
func TestURLCopyCancel(t *testing.T) {
	ar := noiseArchive(t, noiseImage(t, 350), 16<<10)
	for name, do := range map[string]func(context.Context, *File) error{
		"Copy": func(ctx context.Context, f *File) error { return f.Image().Copy(ctx, nil, nil) },
		"Verify": func(ctx context.Context, f *File) error {
			_, err := verify.Verify(ctx, httpOf(f), httpOf(f).Size(), nil)
			return err
		},
		"Repair": func(ctx context.Context, f *File) error {
			_, err := repair.Repair(ctx, httpOf(f), httpOf(f).Size(), nil)
			return err
		},
	} {
		for after := range 4 {
			t.Run(fmt.Sprintf("%s/%d", name, after), func(t *testing.T) {
				s := faultsrv.Serve(t, ar)
				f, err := openURL(t, s, remote.Options{})
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if after == 0 && (name == "Repair" || name == "Verify") {
					// The check whether a file is an archive does not use the context.
					cancel()
				} else {
					s.HangAfter(after, cancel)
				}
				before := runtime.NumGoroutine()
				start := time.Now()
				require.ErrorIs(t, do(ctx, f), context.Canceled)
				require.Less(t, time.Since(start), 5*time.Second)
				s.CloseClientConnections()
				for range 100 {
					if runtime.NumGoroutine() <= before+4 {
						break
					}
					time.Sleep(10 * time.Millisecond)
				}
				require.LessOrEqual(t, runtime.NumGoroutine(), before+4)
			})
		}
	}
}

// fullWriter fails after some bytes.
type fullWriter struct{ left int }

func (w *fullWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

// TestURLCopyFailures checks that a copy returns the error of a request or a writer.
func TestURLCopyFailures(t *testing.T) {
	image := noiseImage(t, 350)
	ar := noiseArchive(t, image, 16<<10)
	for after := range 4 {
		if testing.Short() && after != 2 {
			continue
		}
		s := faultsrv.Serve(t, ar)
		f, err := openURL(t, s, remote.Options{Retries: -1})
		require.NoError(t, err)
		first := int(s.Requests.Load()) + after
		s.Set(func() {
			s.Fault = func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
				if n >= first {
					w.WriteHeader(404)
					return
				}
				faultsrv.Send(w, ok)
			}
		})
		err = f.Image().Copy(context.Background(), nil, nil)
		sourceFailed(t, err)
		require.ErrorIs(t, err, fs.ErrNotExist)
		s.Set(func() { s.Fault = nil })
		require.ErrorContains(t, f.Image().Copy(context.Background(), &fullWriter{6 << 20}, nil), "disk full")

		// When the server recovers, copying succeeds again.
		var b bytes.Buffer
		require.NoError(t, f.Image().Copy(context.Background(), &b, nil))
		require.True(t, bytes.Equal(image, b.Bytes()))
	}
}

// remoteBytes is a reader in memory that acts like a remote one.
type remoteBytes struct{ *bytes.Reader }

func (remoteBytes) Gap() int64 { return 64 << 10 }

// TestRemoteDamage checks that a damaged archive has the same report from a remote
// reader and a local one.
func TestRemoteDamage(t *testing.T) {
	image := noiseImage(t, 64)
	ar := noiseArchive(t, image, 4000)
	a := open(t, ar)
	for name, damage := range map[string]func(b []byte){
		"blocks": func(b []byte) {
			for n := int64(0); n < a.L.Blocks; n += 37 {
				row, err := a.Index.Row(n)
				require.NoError(t, err)
				b[row.Off+row.Len/3] ^= 4
			}
		},
		"a local header": func(b []byte) {
			row, err := a.Index.Row(100)
			require.NoError(t, err)
			b[row.Off-3] ^= 4
		},
		"the index": func(b []byte) { b[a.Tail.IdxOff+12000] ^= 4 },
		"plan":      func(b []byte) { b[800] ^= 4 },
		"both": func(b []byte) {
			row, err := a.Index.Row(300)
			require.NoError(t, err)
			b[row.Off] ^= 4
			b[a.Tail.IdxOff+12000] ^= 4
		},
	} {
		t.Run(name, func(t *testing.T) {
			bad := bytes.Clone(ar)
			damage(bad)
			want, err := verify.Verify(context.Background(), bytes.NewReader(bad), int64(len(bad)), nil)
			require.NoError(t, err)
			require.NotEmpty(t, want.Damage)
			got, err := verify.Verify(context.Background(), remoteBytes{bytes.NewReader(bad)}, int64(len(bad)), nil)
			require.NoError(t, err)
			require.Equal(t, want, got)

			local, lerr := read.NewReader(context.Background(), bytes.NewReader(bad), int64(len(bad)), nil)
			far, ferr := read.NewReader(context.Background(), remoteBytes{bytes.NewReader(bad)}, int64(len(bad)), nil)
			if lerr != nil {
				require.EqualError(t, ferr, lerr.Error())
				return
			}
			require.NoError(t, ferr)
			lerr = copyImage(context.Background(), local, io.Discard, &imageOptions{Workers: 1})
			ferr = copyImage(context.Background(), far, io.Discard, &imageOptions{Workers: 1})
			if lerr == nil {
				require.NoError(t, ferr)
				return
			}
			require.EqualError(t, ferr, lerr.Error())
		})
	}
}
