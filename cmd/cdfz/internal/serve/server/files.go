package server

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"sync/atomic"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/archivefs/joinedfiles"
	"github.com/cdfz-format/cdfz/internal/filetime"
)

// serveFile answers with an image, another file, or the list of a folder.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request, name string) {
	f, done, err := s.serveFolder(w, r, name, false)
	switch {
	case done:
	case err != nil:
		s.fail(w, err)
	case f.Image:
		s.serveImage(w, r, f)
	default:
		s.serveOther(w, r, f)
	}
}

// serveImage answers with an image or ranges of it.
func (s *Server) serveImage(w http.ResponseWriter, r *http.Request, f *found) {
	d, err := s.source.acquire(f)
	if err != nil {
		s.fail(w, err)
		return
	}
	defer s.source.Release(d)
	h := w.Header()
	switch info, ok := d.NetCDF.Info(); {
	case ok:
		h.Set("ETag", `"`+info.SHA256+`"`)
	case joinedfiles.Is(f.Name): // members that were replaced are errors, or have sizes and sums in a new description
		h.Set("ETag", fmt.Sprintf(`"%x-%x-%x"`, f.Info.Size(), f.Info.ModTime().UnixNano(), f.Size))
	default: // replaced by a classic file meanwhile
		s.fail(w, archive.ErrCorrupt)
		return
	}
	in := &imageReader{ctx: r.Context(), im: d.NetCDF.Image()}
	serveContent(w, r, f, in)
	if err := in.err.Load(); err != nil {
		if r.Context().Err() == nil {
			s.source.Report(f.Name, *err)
		}
		panic(http.ErrAbortHandler) // the client must not take the answer for complete
	}
}

// serveOther answers with a file that appears unchanged.
func (s *Server) serveOther(w http.ResponseWriter, r *http.Request, f *found) {
	file, info, err := s.source.OpenStored(f.Name)
	if err != nil {
		s.fail(w, err)
		return
	}
	defer file.Close()
	f.Info = info
	w.Header().Set("ETag", fmt.Sprintf(`"%x-%x"`, info.Size(), info.ModTime().UnixNano()))
	serveContent(w, r, f, file.(io.ReadSeeker))
}

// serveContent sets the headers of all files. Ranges and conditions are the work of
// net/http.
func serveContent(w http.ResponseWriter, r *http.Request, f *found, content io.ReadSeeker) {
	h := w.Header()
	h.Set("Content-Security-Policy", "sandbox") // files are not part of this site
	switch path.Ext(f.shown) {
	case ".nc", ".cdf":
		h.Set("Content-Type", "application/x-netcdf")
	case ".txt", ".cdl", ".md":
		h.Set("Content-Type", "text/plain; charset=utf-8")
	default:
		h.Set("Content-Type", "application/octet-stream")
	}
	http.ServeContent(w, r, "", modified(f.Info), content)
}

// modified returns the modification time of a file in UTC. It is zero if the headers of HTTP and RFC 3339
// cannot write it, which end with the year 9999.
func modified(info fs.FileInfo) time.Time {
	if !filetime.RFC3339(info.ModTime()) {
		return time.Time{}
	}
	return info.ModTime().UTC()
}

const (
	// copyPiece is the number of bytes that net/http reads and writes at once.
	copyPiece = 32 << 10
	// aheadAfter is the number of bytes read in sequence before more is decoded at once,
	// and ahead how much that is: blocks of two of the default size.
	aheadAfter = 4 * copyPiece
	ahead      = 512 << 10
)

// imageReader reads an image for one request. Reads in sequence become longer, so that
// several blocks are decoded at the same time.
type imageReader struct {
	ctx context.Context
	im  *archive.Image
	err atomic.Pointer[error] // net/http answers several ranges in another goroutine
	off int64
	run int64  // bytes read in sequence
	buf []byte // decoded bytes from off on
	mem []byte
}

// Seek implements io.Seeker.
func (r *imageReader) Seek(off int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		off += r.off
	case io.SeekEnd:
		off += r.im.Size()
	}
	if off < 0 {
		return 0, fmt.Errorf("serve: seek to %d", off)
	}
	r.off, r.run, r.buf = off, 0, nil
	return off, nil
}

// Read implements io.Reader.
func (r *imageReader) Read(p []byte) (int, error) {
	if r.off >= r.im.Size() {
		return 0, io.EOF
	}
	if len(r.buf) == 0 && r.run >= aheadAfter {
		if r.mem == nil {
			r.mem = make([]byte, ahead)
		}
		n := min(int64(ahead), r.im.Size()-r.off)
		if err := r.readAt(r.mem[:n]); err != nil {
			return 0, err
		}
		r.buf = r.mem[:n]
	}
	n := min(int64(len(p)), r.im.Size()-r.off)
	if len(r.buf) > 0 {
		n = int64(copy(p, r.buf))
		r.buf = r.buf[n:]
	} else if err := r.readAt(p[:n]); err != nil {
		return 0, err
	}
	r.off += n
	r.run += n
	return int(n), nil
}

func (r *imageReader) readAt(p []byte) error {
	n, err := r.im.ReadAtContext(r.ctx, p, r.off)
	if n == len(p) {
		return nil
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	r.err.Store(&err)
	return err
}
