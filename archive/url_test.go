package archive

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/internal/opening"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/faultsrv"
	"github.com/cdfz-format/cdfz/remote"
)

// TestURLFiles checks that archives and classic files have the same content over a URL
// as locally, and that opening takes the requests that Open promises.
func TestURLFiles(t *testing.T) {
	all := variants()
	next := 0
	for name, image := range someFiles(t) {
		o := all[next%len(all)]
		next++
		o.Name = name
		for kind, data := range map[string][]byte{"classic": image, "archive": pack(t, image, &o)} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				s := faultsrv.Serve(t, data)
				local, err := New(t.Context(), bytes.NewReader(data), int64(len(data)), nil)
				require.NoError(t, err)
				f, err := openURL(t, s, remote.Options{})
				require.NoError(t, err)
				limit := int64(3)
				if kind == "classic" {
					limit = 2
				}
				if len(data) <= opening.TailProbe {
					limit = 1
				}
				require.LessOrEqual(t, s.Requests.Load(), limit, "requests to open %d bytes", len(data))
				require.Equal(t, s.Requests.Load(), httpOf(f).Stats().Requests)
				require.Equal(t, local.Header(), f.Header())
				require.Equal(t, kind == "archive", f.archive != nil)
				got, err := readAll(f)
				require.NoError(t, err)
				require.True(t, bytes.Equal(image, got), "image differs")
				equalValues(t, name, local, f)
				require.Zero(t, httpOf(f).Stats().Retries)
			})
		}
	}
}

func TestURLOpenRequests(t *testing.T) {
	image, ar := largeArchive(t)
	s := faultsrv.Serve(t, ar)
	f, err := openURL(t, s, remote.Options{})
	require.NoError(t, err)
	require.EqualValues(t, 3, s.Requests.Load())
	got, err := readAll(f)
	require.NoError(t, err)
	require.True(t, bytes.Equal(image, got))
	require.Equal(t, "bytes=-4096", s.Seen[0].Get("Range"))
	for i, h := range s.Seen {
		require.Equal(t, "identity", h.Get("Accept-Encoding"))
		if i > 0 {
			require.Equal(t, faultsrv.Tag, h.Get("If-Match"))
			require.Equal(t, faultsrv.Tag, h.Get("If-Range"))
		}
	}
	st := httpOf(f).Stats()
	require.Equal(t, s.Requests.Load(), st.Requests)
	require.Less(t, st.Bytes, int64(2*len(ar)))

	// Bytes read when opening are not requested again.
	before := s.Requests.Load()
	h := httpOf(f)
	p := make([]byte, 1000)
	n, err := h.ReadAt(p, int64(len(ar))-700)
	require.Equal(t, 700, n)
	require.Equal(t, io.EOF, err)
	require.Equal(t, ar[len(ar)-700:], p[:700])
	require.Equal(t, before, s.Requests.Load())
	// Only the part before them is requested.
	_, err = h.ReadAt(p, int64(len(ar))-opening.TailProbe-10)
	require.NoError(t, err)
	require.Equal(t, ar[len(ar)-opening.TailProbe-10:][:1000], p)
	require.Equal(t, before+1, s.Requests.Load())
	require.Equal(t, fmt.Sprintf("bytes=%d-%d", len(ar)-opening.TailProbe-10, len(ar)-opening.TailProbe-1), s.Seen[before].Get("Range"))
}

// TestURLParallel checks that concurrent reads are right and that no more requests run
// at the same time than allowed.
func TestURLParallel(t *testing.T) {
	image, ar := largeArchive(t)
	s := faultsrv.Serve(t, ar)
	s.Fault = func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
		if n%5 == 4 {
			faultsrv.CutOff(w, ok)
		}
		if n%7 == 6 {
			w.WriteHeader(503)
			return
		}
		time.Sleep(time.Millisecond)
		faultsrv.Send(w, ok)
	}
	f, err := openURL(t, s, remote.Options{Parallel: 3, Retries: 50}, &OpenOptions{Cache: -1})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			im := f.Image()
			for i := range 8 {
				off := int64((g*8 + i) * 1999 % len(image))
				p := make([]byte, min(3000, int64(len(image))-off))
				if _, err := im.ReadAt(p, off); err != nil && err != io.EOF || !bytes.Equal(p, image[off:off+int64(len(p))]) {
					t.Errorf("%d bytes at %d: %v", len(p), off, err)
				}
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, s.Most.Load(), int64(3))
	require.Greater(t, s.Most.Load(), int64(1))
	got, err := readAll(f)
	require.NoError(t, err)
	require.True(t, bytes.Equal(image, got))
}

// TestURLChanged replaces a file while it is read.
func TestURLChanged(t *testing.T) {
	image, ar := largeArchive(t)
	other := pack(t, image, &WriteOptions{Block: MinBlock, Zarr: ZarrAlways, Name: "CDF2_CLIMATE.nc", Preset: "fast"})
	same := bytes.Clone(ar) // same length; a mixture of both looks damaged
	for i := range same[:len(same)-opening.TailProbe] {
		same[i] ^= 0xff
	}
	ignore := func(_ int, w http.ResponseWriter, r *http.Request, ok *httptest.ResponseRecorder) {
		faultsrv.Send(w, ok)
	}
	changes := []struct {
		name          string
		etag, stamp   string // before the change
		change        func(s *faultsrv.Server)
		unconditional bool // the server ignores conditions
	}{
		{name: "ETag", etag: faultsrv.Tag, change: func(s *faultsrv.Server) { s.ETag, s.Data = `"v2"`, same }},
		{name: "ETag alone", etag: faultsrv.Tag, change: func(s *faultsrv.Server) { s.ETag = `"v2"` }},
		{name: "ETag, conditions ignored", etag: faultsrv.Tag, unconditional: true, change: func(s *faultsrv.Server) { s.ETag, s.Data = `"v2"`, same }},
		{name: "weak ETag", etag: `W/"v1"`, change: func(s *faultsrv.Server) { s.ETag, s.Data = `W/"v2"`, same }},
		{name: "date", stamp: faultsrv.Time, change: func(s *faultsrv.Server) { s.Modified, s.Data = faultsrv.NewTime, same }},
		{name: "date, weak ETag stays", etag: `W/"v1"`, stamp: faultsrv.Time, change: func(s *faultsrv.Server) { s.Modified, s.Data = faultsrv.NewTime, same }},
		{name: "longer", change: func(s *faultsrv.Server) { s.Data = append(bytes.Clone(ar), 0) }},
		{name: "shorter", change: func(s *faultsrv.Server) { s.Data = ar[:len(ar)-1] }},
		{name: "much shorter", change: func(s *faultsrv.Server) { s.Data = ar[:100] }},
		{name: "empty", change: func(s *faultsrv.Server) { s.Data = nil }},
		{name: "ETag and size", etag: faultsrv.Tag, stamp: faultsrv.Time, change: func(s *faultsrv.Server) { s.ETag, s.Modified, s.Data = `"v2"`, faultsrv.NewTime, other }},
		{name: "200 without ETag", etag: faultsrv.Tag, change: func(s *faultsrv.Server) {
			s.Fault = func(_ int, w http.ResponseWriter, r *http.Request, _ *httptest.ResponseRecorder) {
				w.Header().Set("Content-Length", strconv.Itoa(len(same)))
				w.Write(same)
			}
		}},
	}
	for _, c := range changes {
		for at := 1; at <= 4; at++ { // change before this request
			t.Run(fmt.Sprintf("%s/%d", c.name, at), func(t *testing.T) {
				s := faultsrv.Serve(t, ar)
				s.ETag, s.Modified = c.etag, c.stamp
				inner := http.HandlerFunc(s.ServeHTTP)
				s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if s.Requests.Load() == int64(at) {
						s.Set(func() { c.change(s) })
					}
					if c.unconditional {
						r.Header.Del("If-Match")
						r.Header.Del("If-Range")
					}
					inner(w, r)
				})
				s.Fault = ignore
				f, err := openURL(t, s, remote.Options{})
				if at >= 3 {
					require.NoError(t, err)
					_, err = readAll(f)
				}
				sourceFailed(t, err)
				require.ErrorIs(t, err, remote.ErrChanged)
				require.LessOrEqual(t, s.Requests.Load(), int64(at+8), "no retries")
			})
		}
	}
	t.Run("nothing to tell by", func(t *testing.T) {
		// Parts of two files of the same size, without ETag and date: the end is
		// requested again.
		s := faultsrv.Serve(t, ar)
		s.ETag, s.Modified = "", ""
		s.Fault = func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			faultsrv.Send(w, ok)
			if n == 0 {
				s.Set(func() { s.Data = bytes.Repeat([]byte{7}, len(ar)) })
			}
		}
		_, err := openURL(t, s, remote.Options{})
		sourceFailed(t, err)
		require.ErrorIs(t, err, remote.ErrChanged)
	})
	t.Run("between the parts of one range", func(t *testing.T) {
		s := faultsrv.Serve(t, ar)
		s.Fault = func(n int, w http.ResponseWriter, _ *http.Request, ok *httptest.ResponseRecorder) {
			s.Set(func() { s.ETag = `"v2"` })
			if n == 0 {
				faultsrv.CutOff(w, ok)
			}
			faultsrv.Send(w, ok)
		}
		_, err := openURL(t, s, remote.Options{})
		sourceFailed(t, err)
		require.ErrorIs(t, err, remote.ErrChanged)
	})
}

// TestURLDamaged checks that damage is reported as damage if the server is not the
// cause.
func TestURLDamaged(t *testing.T) {
	_, ar := largeArchive(t)
	bad := bytes.Clone(ar)
	for i := range bad[:len(bad)-opening.TailProbe] {
		bad[i] ^= 0xff
	}
	for _, etag := range []string{faultsrv.Tag, ""} {
		s := faultsrv.Serve(t, bad)
		s.ETag = etag
		_, err := openURL(t, s, remote.Options{})
		require.ErrorIs(t, err, ErrCorrupt)
		require.NotErrorIs(t, err, remote.ErrChanged)
	}
	s := faultsrv.Serve(t, ar[:len(ar)-10])
	_, err := openURL(t, s, remote.Options{})
	require.ErrorIs(t, err, ErrCorrupt)
	for _, data := range [][]byte{nil, []byte("x"), bytes.Repeat([]byte("<html>"), 2000)} {
		s := faultsrv.Serve(t, data)
		_, err := openURL(t, s, remote.Options{})
		require.ErrorIs(t, err, cdf3.ErrNotCDF)
	}
}

// TestURLSecrets checks that errors of opening show no secrets, for URLs that are
// valid, malformed or of an unsupported scheme.
func TestURLSecrets(t *testing.T) {
	for _, name := range []string{"http://me:s3cret/x@h/y", "http://me:s3%cret@h/x", "HTTP://me:s3cret@h:port/", "http:/me:s3cret@h/x", "s3://me:s3cret@h/x?s3cret"} {
		_, err := Open(context.Background(), name, nil)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "s3cret", name)
	}
}
