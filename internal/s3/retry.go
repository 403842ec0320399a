package s3

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/cdfz-format/cdfz/internal/resolver"
	"github.com/cdfz-format/cdfz/internal/retry"
)

// policy is that of requests with a body and of listings. Tests change it.
var policy = retry.Policy{Attempts: 7, First: 200 * time.Millisecond, Longest: 4 * time.Second}

// repeat calls f, a request with a body or a listing, until it succeeds or fails for good. Package
// remote repeats reads. minio-go would rewind the body of a
// request for the next attempt while the previous one may still read from it, so f makes
// a new body each time.
func repeat(ctx context.Context, f func() error) error {
	return policy.Do(ctx, func() (retry.Next, error) {
		err := f()
		return retry.Next{Again: err != nil && passing(err)}, err
	})
}

// passing reports whether another attempt may succeed: after errors of the connection, of
// an overloaded store, and for bytes that were damaged on the way.
func passing(err error) bool {
	var refused *resolver.RefusedError
	var listing listingError
	if errors.As(err, &refused) {
		return refused.Code == "RequestTimeout"
	} else if errors.As(err, &listing) {
		return false
	}
	switch e := minio.ToErrorResponse(err); {
	case e.StatusCode == 0:
		return e.Code == "" || e.Code == "InternalError" // not an answer of the store
	case e.StatusCode >= 500 && e.StatusCode != http.StatusNotImplemented && e.StatusCode != http.StatusInsufficientStorage:
		return true
	case e.StatusCode == http.StatusTooManyRequests, e.StatusCode == http.StatusRequestTimeout:
		return true
	default:
		return e.Code == "RequestTimeout" || e.Code == "XAmzContentSHA256Mismatch" || e.Code == "IncompleteBody"
	}
}

// conflict reports whether another writer of the object is in the way of an upload.
func conflict(err error) bool { return minio.ToErrorResponse(err).Code == "ConditionalRequestConflict" }
