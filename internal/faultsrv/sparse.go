package faultsrv

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
)

// Sparse is a file that is zero except for some pieces. The map holds them by offset.
// They must lie within the file and must not overlap.
type Sparse struct {
	Size   int64
	Pieces map[int64][]byte
}

// Stretched returns a file of size bytes with half of data at either end.
func Stretched(data []byte, size int64) *Sparse {
	k := len(data) / 2
	return &Sparse{size, map[int64][]byte{0: data[:k], size - int64(len(data)-k): data[k:]}}
}

// ReadAt implements io.ReaderAt.
func (s *Sparse) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.New("negative offset")
	}
	if off >= s.Size {
		return 0, io.EOF
	}
	var err error
	if int64(len(p)) > s.Size-off {
		p, err = p[:s.Size-off], io.EOF
	}
	clear(p)
	for at, b := range s.Pieces {
		if at >= off {
			if at-off < int64(len(p)) {
				copy(p[at-off:], b)
			}
		} else if off-at < int64(len(b)) {
			copy(p, b[off-at:])
		}
	}
	return len(p), err
}

// Ranges serves the first size bytes of r by ranges, reading them on demand.
func Ranges(r io.ReaderAt, size int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var from, to int64
		text := req.Header.Get("Range")
		if n, _ := fmt.Sscanf(text, "bytes=%d-%d", &from, &to); n < 2 {
			if n, _ := fmt.Sscanf(text, "bytes=-%d", &to); n < 1 {
				w.WriteHeader(http.StatusNotImplemented)
				return
			}
			from, to = max(0, size-to), size-1
		}
		to = min(to, size-1)
		if from > to {
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return
		}
		w.Header().Set("ETag", Tag)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, size))
		w.Header().Set("Content-Length", strconv.FormatInt(to-from+1, 10))
		w.WriteHeader(http.StatusPartialContent)
		io.Copy(w, io.NewSectionReader(r, from, to-from+1))
	})
}
