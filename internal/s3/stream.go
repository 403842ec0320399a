package s3

import (
	"bytes"
	"context"
	"crypto/md5" // ETags
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/internal/urls"
)

// streamPart is the length of the parts of an object whose length is not known, in bytes: with 10000 of them, it
// may have 625 GiB.
const streamPart = 64 << 20

// Writer writes an object while its bytes are made. It appears with Commit or not at all. Parts are in memory while they
// are sent. An object that exists is an error. It is not safe for concurrent use.
type Writer struct {
	ctx  context.Context
	name string
	u    *uploader
	id   string // of the upload in parts; "" before the second part
	buf  []byte
	size int64
	sum  hash.Hash // SHA-256 of all bytes
	g    *errgroup.Group
	send context.Context // of parts
	sums [][md5.Size]byte
	done []*minio.CompletePart
	end  bool
}

// NewWriter begins an object, which has at most most bytes; 0 means that this is not known. The caller must call Commit
// or Abort.
func NewWriter(ctx context.Context, name string, most int64) (*Writer, error) {
	o := &UploadOptions{Part: streamPart}
	if most > 0 {
		o.Part = max(DefaultPart, most/(maxParts-100)+1)
	}
	u, err := newUploader(ctx, name, o)
	if err == nil {
		err = u.missing(ctx)
	}
	if err != nil {
		if u != nil {
			err = u.explain(err)
		}
		return nil, fmt.Errorf("s3: %s: %w", urls.Redact(name), err)
	}
	w := &Writer{ctx: ctx, name: name, u: u, sum: sha256.New()}
	w.g, w.send = errgroup.WithContext(ctx)
	w.g.SetLimit(u.parallel)
	return w, nil
}

// Write appends to the object.
func (w *Writer) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if int64(len(w.buf)) == w.u.part {
			if err := w.flush(); err != nil {
				return n, w.named(err)
			}
		}
		k := min(int(w.u.part)-len(w.buf), len(p))
		w.buf = append(w.buf, p[:k]...)
		w.sum.Write(p[:k])
		w.size += int64(k)
		p, n = p[k:], n+k
	}
	return n, nil
}

// flush sends the part that is in memory.
func (w *Writer) flush() (err error) {
	if err := context.Cause(w.send); err != nil {
		return err
	}
	if w.id == "" {
		if w.id, err = w.u.begin(w.ctx); err != nil {
			return err
		}
	}
	if len(w.done) == maxParts {
		return fmt.Errorf("expected at most %d parts of %d bytes", maxParts, w.u.part)
	}
	b, p := w.buf, new(minio.CompletePart)
	w.buf = nil
	w.sums, w.done = append(w.sums, md5.Sum(b)), append(w.done, p)
	number := len(w.done)
	w.g.Go(func() (err error) {
		sum := sha256.Sum256(b)
		*p, err = w.u.sendPart(w.send, w.id, number, b, hex.EncodeToString(sum[:]))
		return err
	})
	return nil
}

// Commit sends the rest, and makes the object appear unless ctx is done. It looks at the object as Upload does.
func (w *Writer) Commit(ctx context.Context) error {
	err := w.commit(ctx)
	if err != nil {
		w.Abort()
		return w.named(err)
	}
	w.end = true
	return nil
}

func (w *Writer) commit(ctx context.Context) error {
	if w.id == "" {
		if err := w.u.missing(ctx); err != nil {
			return err
		}
		return w.u.apart(ctx, func() error { return w.u.whole(ctx, bytes.NewReader(w.buf), w.size) })
	}
	if len(w.buf) > 0 {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if err := w.g.Wait(); err != nil {
		return err
	}
	// Since the object was begun, another run may have written it, and not all stores obey the condition of the request.
	if err := w.u.missing(ctx); err != nil {
		return err
	}
	parts := make([]minio.CompletePart, len(w.done))
	for i, p := range w.done {
		parts[i] = *p
	}
	same := func() bool {
		return w.u.reads(ctx, w.size, func(body io.Reader) (bool, error) {
			sum := sha256.New()
			_, err := io.Copy(sum, body)
			return err == nil && bytes.Equal(sum.Sum(nil), w.sum.Sum(nil)), err
		})
	}
	err := w.u.commit(ctx, w.size, tagOf(w.sums), same, func() (string, error) {
		info, err := w.u.core.CompleteMultipartUpload(ctx, w.u.bucket, w.u.key, w.id, parts, w.u.put)
		return info.ETag, err
	})
	if conflict(err) { // the parts, which are gone, would have to be sent again
		return fs.ErrExist
	}
	return err
}

// Abort removes what was sent, unless Commit has succeeded.
func (w *Writer) Abort() {
	if w.end {
		return
	}
	w.end = true
	_ = w.g.Wait()
	if w.id != "" {
		w.u.abort(w.ctx, w.id)
	}
}

func (w *Writer) named(err error) error {
	return fmt.Errorf("s3: %s: %w", urls.Redact(w.name), w.u.explain(err))
}
