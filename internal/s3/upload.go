package s3

import (
	"bytes"
	"context"
	"crypto/md5" // ETags
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"

	"github.com/cdfz-format/cdfz/internal/retry"
	"github.com/cdfz-format/cdfz/internal/urls"
)

const (
	// DefaultPart is the length of the parts of an upload, in bytes. A part that fails
	// is sent again as a whole.
	DefaultPart = 16 << 20
	// DefaultParallel is the number of parts sent at the same time. They are in memory.
	DefaultParallel = 4

	minPart  = 5 << 20 // of the protocol
	maxParts = 10000   // of the protocol

	// answerTime is how long a store may take to answer after a request was sent.
	answerTime = time.Minute
	// abortTime is how long the removal of an incomplete upload may take.
	abortTime = 10 * time.Second
)

// UploadOptions control Upload. Nil and the zero value mean the defaults.
type UploadOptions struct {
	Overwrite bool // replace an existing object; without it the error is fs.ErrExist
	// Replace, if not nil, is the version of an existing object that Upload replaces. If the store
	// has another one by then, the error is fs.ErrExist, and if it has none fs.ErrNotExist.
	Replace  *Version
	Part     int64 // length of a part; 0: DefaultPart; longer for objects of more than 10000 parts
	Parallel int   // parts sent at the same time; 0: DefaultParallel
	// Progress, if not nil, is called with the number of bytes sent so far. It must be
	// safe for concurrent use.
	Progress func(done int64)
}

// Upload writes an object, which appears complete or not at all. The SHA-256 of each part
// is sent with it, so that the store refuses parts that were damaged on the way. Requests
// that fail are repeated. If the upload fails in the end, its parts are removed. Upload then looks at the
// size of the object, and at its ETag if that is an MD5: a store that has not kept what it has accepted is an
// error.
//
// r must not change meanwhile, and be safe for concurrent use. Errors of r are wrapped.
// Those of the store are *remote.RefusedError, or fs.ErrExist.
func Upload(ctx context.Context, name string, r io.ReaderAt, size int64, opts *UploadOptions) error {
	var o UploadOptions
	if opts != nil {
		o = *opts
	}
	u, err := newUploader(ctx, name, &o)
	if err != nil {
		return fmt.Errorf("s3: %s: %w", urls.Redact(name), err)
	}
	err = u.apart(ctx, func() error {
		if !o.Overwrite && o.Replace == nil {
			if err := u.missing(ctx); err != nil {
				return err
			}
		}
		if size <= u.part {
			return u.whole(ctx, r, size)
		}
		return u.parts(ctx, r, size)
	})
	if err != nil {
		return fmt.Errorf("s3: %s: %w", urls.Redact(name), u.explain(err))
	}
	return nil
}

// uploader writes an object.
type uploader struct {
	*object
	replaces *Version
	core     *minio.Core
	part     int64
	parallel int
	progress func(int64)
	put      minio.PutObjectOptions
	signed   bool
}

// base is the transport of all requests that are not those of package remote, so that they share connections.
var base = sync.OnceValue(func() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = answerTime
	t.MaxIdleConnsPerHost = t.MaxIdleConns // most runs use one store, and many requests at a time
	return t
})

func newUploader(ctx context.Context, name string, o *UploadOptions) (*uploader, error) {
	place, err := parse(name)
	if err != nil {
		return nil, err
	}
	t := &counter{base(), requestsOf(ctx)}
	lookup := minio.BucketLookupPath
	if place.virtual() {
		lookup = minio.BucketLookupDNS
	}
	creds := sharedCredentials()
	core, err := minio.NewCore(place.endpoint.Host, &minio.Options{
		Creds: creds, Secure: place.endpoint.Scheme == "https", Transport: t, Region: place.region, BucketLookup: lookup, MaxRetries: 1,
	})
	if err != nil {
		return nil, err
	}
	u := &uploader{replaces: o.Replace, object: place, core: core, part: o.Part, parallel: o.Parallel, progress: o.Progress}
	if u.part <= 0 {
		u.part = DefaultPart
	}
	u.part = max(u.part, minPart)
	if u.parallel <= 0 {
		u.parallel = DefaultParallel
	}
	if u.progress == nil {
		u.progress = func(int64) {}
	}
	u.put = unconditional()
	switch {
	case o.Replace != nil && o.Replace.ETag != "":
		u.put.SetMatchETag(o.Replace.ETag)
	case o.Replace == nil && !o.Overwrite:
		u.put.SetMatchETagExcept("*")
	}
	value, err := creds.GetWithContext(nil)
	u.signed = err == nil && value.AccessKeyID != ""
	return u, nil
}

// unconditional returns the options of a request that makes an object, whatever is there.
func unconditional() (o minio.PutObjectOptions) {
	// Signatures have the SHA-256 of the whole body. Else they would be in frames within it.
	o.DisableContentSha256 = true
	o.ContentType = "application/octet-stream"
	return o
}

// missing fails with fs.ErrExist if there is an object, and with another error if the store does not tell. Answers to HEAD have no reason, so a refusal
// of these keys or of this region is left to the upload, which tells it. Only keys that do not allow to look may write then:
// their uploads are conditional, which not all stores obey.
func (u *uploader) missing(ctx context.Context) error {
	_, err := u.stat(ctx)
	if err == nil {
		return fs.ErrExist
	}
	switch minio.ToErrorResponse(err).StatusCode {
	case http.StatusNotFound, http.StatusForbidden, http.StatusUnauthorized, http.StatusBadRequest, http.StatusMovedPermanently:
		return nil
	}
	return fmt.Errorf("looking whether there is an object: %w", u.explain(err))
}

func (u *uploader) stat(ctx context.Context) (info minio.ObjectInfo, err error) {
	err = repeat(ctx, func() error {
		info, err = u.core.StatObject(ctx, u.bucket, u.key, minio.StatObjectOptions{})
		return err
	})
	return info, err
}

// Version is one version of an object.
type Version struct {
	ETag     string // "" if the store has none
	Size     int64  // bytes
	Modified time.Time
}

func (v *Version) same(o *Version) bool {
	return v.ETag == o.ETag && v.Size == o.Size && v.Modified.Equal(o.Modified)
}

// Stat describes the present version of an object. The error is fs.ErrNotExist if there is none.
func Stat(ctx context.Context, name string) (*Version, error) {
	u, err := newUploader(ctx, name, &UploadOptions{})
	if err != nil {
		return nil, fmt.Errorf("s3: %s: %w", urls.Redact(name), err)
	}
	v, err := u.version(ctx)
	if err != nil {
		return nil, fmt.Errorf("s3: %s: %w", urls.Redact(name), u.explain(err))
	}
	return v, nil
}

func (u *uploader) version(ctx context.Context) (*Version, error) {
	info, err := u.stat(ctx)
	if minio.ToErrorResponse(err).StatusCode == http.StatusNotFound {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	return &Version{ETag: info.ETag, Size: info.Size, Modified: info.LastModified}, nil
}

// whole writes a small object with one request.
func (u *uploader) whole(ctx context.Context, r io.ReaderAt, size int64) error {
	b, sum, err := piece(r, 0, size)
	if err != nil {
		return err
	}
	tag := md5.Sum(b)
	err = u.commit(ctx, size, hex.EncodeToString(tag[:]), u.sameAs(ctx, r, size), func() (string, error) {
		info, err := u.core.PutObject(ctx, u.bucket, u.key, bytes.NewReader(b), size, "", sum, u.put)
		return info.ETag, err
	})
	if err == nil {
		u.progress(size)
	}
	return err
}

// apart calls send, which sends an object, until no other writer of the object is in its way. Amazon's store answers so
// while it cannot tell yet whose object stays. All parts have to be sent again then, if what is there may still be replaced.
func (u *uploader) apart(ctx context.Context, send func() error) error {
	return policy.Do(ctx, func() (retry.Next, error) {
		err := send()
		return retry.Next{Again: conflict(err)}, err
	})
}

// commit sends the request that makes the object appear, until it succeeds or fails for
// good. etag is the ETag of an object with the right bytes, if the store's are MD5; same reads the object and reports
// whether it has them; send returns the ETag of
// the answer. If the answer to one attempt is lost, the next one may fail because the object is
// there. Then the object counts, not the error.
func (u *uploader) commit(ctx context.Context, size int64, etag string, same func() bool, send func() (string, error)) error {
	// Not all stores obey the condition of the request.
	if u.replaces != nil {
		if now, err := u.version(ctx); err != nil {
			return err
		} else if !now.same(u.replaces) {
			return fs.ErrExist
		}
	}
	lost := false // an attempt failed without the final answer of the store
	var answered string
	err := repeat(ctx, func() (err error) {
		answered, err = send()
		lost = lost || err != nil && passing(err)
		return err
	})
	if err == nil {
		return u.kept(ctx, size, etag, same, answered)
	}
	if !lost || ctx.Err() != nil {
		return err
	}
	info, again := u.stat(ctx)
	if again != nil || info.Size != size {
		return err
	}
	// Many stores have ETags of another kind, or none. Then the bytes are compared.
	if info.ETag == etag || same() {
		return nil
	}
	return err
}

// kept returns an error if the store does not have the object that it has accepted. etag is that of the right
// bytes, answered that of the answer to the upload.
func (u *uploader) kept(ctx context.Context, size int64, etag string, same func() bool, answered string) error {
	info, err := u.stat(ctx)
	if err != nil {
		status := minio.ToErrorResponse(err).StatusCode
		if answered == etag && (status == http.StatusForbidden || status == http.StatusUnauthorized) {
			return nil // the keys only allow to write
		}
		if status == http.StatusNotFound {
			return fmt.Errorf("the store has accepted the object, but does not have it")
		}
		return fmt.Errorf("looking at the uploaded object: %w", u.explain(err))
	}
	if info.Size != size {
		return fmt.Errorf("the store has accepted %d bytes, but has an object of %d", size, info.Size)
	}
	// Objects that are encrypted with keys of their own have ETags that look like an MD5.
	if info.ETag == etag || !isMD5(info.ETag) || encrypted(info.Metadata) || same() {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("the store has accepted %d bytes, but has others: expected the ETag %s, found %s", size, etag, plain(info.ETag))
}

// isMD5 reports whether an ETag looks like that of an object of Amazon's store: an MD5, of the object or, with
// their number, of its parts.
func isMD5(etag string) bool {
	sum, parts, multi := strings.Cut(etag, "-")
	b, err := hex.DecodeString(sum)
	return err == nil && len(b) == md5.Size && (!multi || parts != "" && strings.Trim(parts, "0123456789") == "")
}

// encrypted reports whether the headers of an object say that its ETag is no MD5
// (https://docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html, ETag).
func encrypted(h http.Header) bool {
	return strings.HasPrefix(h.Get("X-Amz-Server-Side-Encryption"), "aws:") || h.Get("X-Amz-Server-Side-Encryption-Customer-Algorithm") != ""
}

// sameAs returns a function that reads the object and reports whether it has the bytes of r.
func (u *uploader) sameAs(ctx context.Context, r io.ReaderAt, size int64) func() bool {
	return func() bool {
		const chunk = 1 << 20
		have, want := make([]byte, chunk), make([]byte, chunk)
		return u.reads(ctx, size, func(body io.Reader) (bool, error) {
			for off := int64(0); off < size; off += chunk {
				n := min(chunk, size-off)
				if _, err := io.ReadFull(body, have[:n]); err != nil {
					return false, err
				}
				if k, _ := r.ReadAt(want[:n], off); int64(k) < n || !bytes.Equal(have[:n], want[:n]) {
					return false, nil
				}
			}
			return true, nil
		})
	}
}

// reads reads the object, and returns what check returns for its bytes, and false for another size.
func (u *uploader) reads(ctx context.Context, size int64, check func(io.Reader) (bool, error)) (same bool) {
	_ = repeat(ctx, func() error {
		body, info, _, err := u.core.GetObject(ctx, u.bucket, u.key, minio.GetObjectOptions{})
		if err != nil {
			return err
		}
		defer body.Close()
		if info.Size != size {
			return nil
		}
		same, err = check(body)
		return err
	})
	return same
}

// piece reads n bytes and returns their SHA-256.
func piece(r io.ReaderAt, off, n int64) ([]byte, string, error) {
	b := make([]byte, n)
	if k, err := r.ReadAt(b, off); int64(k) < n {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, "", err
	}
	sum := sha256.Sum256(b)
	return b, hex.EncodeToString(sum[:]), nil
}

// parts writes a large object in parts.
func (u *uploader) parts(ctx context.Context, r io.ReaderAt, size int64) (err error) {
	part := max(u.part, (size+maxParts-1)/maxParts)
	id, err := u.begin(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			u.abort(ctx, id)
		}
	}()
	n := int((size + part - 1) / part)
	done, sums := make([]minio.CompletePart, n), make([][md5.Size]byte, n)
	var sent atomic.Int64
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(u.parallel)
	for i := range n {
		g.Go(func() error {
			if err := within.Err(); err != nil {
				return err
			}
			off := int64(i) * part
			b, sum, err := piece(r, off, min(part, size-off))
			if err != nil {
				return err
			}
			sums[i] = md5.Sum(b)
			if done[i], err = u.sendPart(within, id, i+1, b, sum); err != nil {
				return err
			}
			u.progress(sent.Add(int64(len(b))))
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return u.commit(ctx, size, tagOf(sums), u.sameAs(ctx, r, size), func() (string, error) {
		info, err := u.core.CompleteMultipartUpload(ctx, u.bucket, u.key, id, done, u.put)
		return info.ETag, err
	})
}

// begin begins an upload in parts, and returns its identity. The protocol has no conditions here, only in the request
// that makes the object appear, and a store may refuse them.
func (u *uploader) begin(ctx context.Context) (id string, err error) {
	err = repeat(ctx, func() error {
		id, err = u.core.NewMultipartUpload(ctx, u.bucket, u.key, unconditional())
		return err
	})
	return id, err
}

// abort removes the parts of an upload, also if ctx is done.
func (u *uploader) abort(ctx context.Context, id string) {
	rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer cancel()
	_ = repeat(rest, func() error { return u.core.AbortMultipartUpload(rest, u.bucket, u.key, id) })
}

// sendPart sends a part, which has a SHA-256 in hexadecimal.
func (u *uploader) sendPart(ctx context.Context, id string, number int, b []byte, sum string) (minio.CompletePart, error) {
	var p minio.ObjectPart
	err := repeat(ctx, func() (err error) {
		o := minio.PutObjectPartOptions{Sha256Hex: sum, DisableContentSha256: true}
		p, err = u.core.PutObjectPart(ctx, u.bucket, u.key, id, number, bytes.NewReader(b), int64(len(b)), o)
		return err
	})
	return minio.CompletePart{PartNumber: number, ETag: p.ETag}, err
}

// tagOf returns the ETag that Amazon's store gives an object in parts: the MD5 of theirs
// and their number.
func tagOf(parts [][md5.Size]byte) string {
	h := md5.New()
	for _, sum := range parts {
		h.Write(sum[:])
	}
	return fmt.Sprintf("%x-%d", h.Sum(nil), len(parts))
}

// explain makes an error of the store readable.
func (u *uploader) explain(err error) error {
	var e minio.ErrorResponse
	if errors.As(err, &e) && e.Code != "" && e.StatusCode == http.StatusPreconditionFailed {
		return fs.ErrExist
	}
	return readable(err, u.signed)
}
