// Package s3 makes archive.Open and remote.Open read objects of stores that speak the S3 protocol, at
// URLs such as s3://bucket/key. Import it for that, or call [Upload] to write an object:
//
//	import _ "github.com/cdfz-format/cdfz/remote/s3"
//
// Objects are read by ranges, with retries and checks that they stay the same. Google's store is
// gs://bucket/key, with HMAC keys.
//
// Credentials, region and endpoint are found as Amazon's tools find them: AWS_PROFILE,
// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION,
// AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, and the files in ~/.aws. Without credentials,
// requests are not signed, as public buckets allow.
package s3

import (
	"context"
	"io"

	"github.com/cdfz-format/cdfz/internal/s3"
	_ "github.com/cdfz-format/cdfz/remote" // reads what internal/s3 resolves
)

// UploadOptions control Upload. Nil and the zero value mean the defaults.
type UploadOptions struct {
	Overwrite bool // replace an existing object; without it the error is fs.ErrExist
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
func Upload(ctx context.Context, url string, r io.ReaderAt, size int64, opts *UploadOptions) error {
	o := &s3.UploadOptions{}
	if opts != nil {
		o.Overwrite, o.Progress = opts.Overwrite, opts.Progress
	}
	return s3.Upload(ctx, url, r, size, o)
}
