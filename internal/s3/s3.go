// Package s3 reads and writes objects of stores that speak the S3 protocol. Package remote/s3 is what programs
// import; it describes URLs and credentials.
//
// Importing the package makes package remote read objects. [Upload] writes an object, [List] lists those below a
// prefix such as s3://bucket/dir/, and [Count] counts requests.
package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/signer"

	"github.com/cdfz-format/cdfz/internal/resolver"
)

func init() {
	resolver.Register("s3", resolve)
	resolver.Register("gs", resolve)
}

// resolve is the resolver.Resolver of both schemes.
func resolve(ctx context.Context, name string, base *http.Client) (*url.URL, *http.Client, error) {
	o, err := parse(name)
	if err != nil {
		return nil, nil, err
	}
	client := *base
	client.Transport = newTransport(ctx, o, base.Transport)
	return o.url(), &client, nil
}

// transport signs requests for objects, and explains the errors of the store. It is safe
// for concurrent use.
type transport struct {
	object
	base   http.RoundTripper
	creds  *credentials.Credentials
	counts *Requests
	moved  atomic.Pointer[string] // the region that the store named
	signed atomic.Bool            // there are credentials
}

// shared are the credentials of all objects, which may take a request to find.
var shared = struct {
	sync.Mutex
	creds *credentials.Credentials
}{}

// sharedCredentials returns credentials. Those of the environment are looked up each time.
func sharedCredentials() *credentials.Credentials {
	shared.Lock()
	defer shared.Unlock()
	if shared.creds == nil {
		shared.creds = newCredentials()
	}
	return shared.creds
}

// newTransport makes a transport for an object, or for a bucket if there is no key. Requests are
// counted as ctx requires.
func newTransport(ctx context.Context, o *object, base http.RoundTripper) *transport {
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{object: *o, base: base, creds: sharedCredentials(), counts: requestsOf(ctx)}
}

// emptySHA256 is the SHA-256 of the body of a GET.
const emptySHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// RoundTrip implements http.RoundTripper. A request that failed because its credentials
// have expired or because the bucket is in another region is sent once more.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	for again := true; ; again = false {
		r, region, err := t.sign(req)
		if err != nil {
			return nil, err
		}
		t.counts.add(r)
		res, err := t.base.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		switch res.StatusCode {
		case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMovedPermanently:
		default:
			return res, nil
		}
		where := res.Header.Get("X-Amz-Bucket-Region")
		answer := readAnswer(res)
		if answer == nil {
			return res, nil // its body has been put back
		}
		where = first(where, answer.Region)
		switch {
		case again && t.aws && where != "" && where != region:
			t.moved.Store(&where)
			continue
		case again && expired(answer.Code):
			t.creds.Expire()
			continue
		}
		return nil, explain(res.StatusCode, answer.Code, answer.Message, t.signed.Load())
	}
}

// sign returns a signed copy of a request, and the region of the signature.
func (t *transport) sign(req *http.Request) (*http.Request, string, error) {
	region := t.region
	r := req.Clone(req.Context())
	if moved := t.moved.Load(); moved != nil {
		region = *moved
		o := t.object
		o.endpoint = amazon(region)
		r.URL = o.url()
		r.URL.RawQuery = req.URL.RawQuery
		r.Host = r.URL.Host
	}
	if !t.ours(r.URL.Host) {
		return r, region, nil
	}
	value, err := t.creds.GetWithContext(&credentials.CredContext{Client: http.DefaultClient})
	if err != nil {
		return nil, "", &resolver.RefusedError{Status: http.StatusUnauthorized, Code: "no credentials", Text: err.Error()}
	}
	t.signed.Store(value.AccessKeyID != "")
	r.Header.Set("X-Amz-Content-Sha256", emptySHA256)
	return signer.SignV4(*r, value.AccessKeyID, value.SecretAccessKey, value.SessionToken, region), region, nil
}

// answer is the error of a store.
type answer struct {
	Code, Message, Region string
}

// maxAnswer bounds the length of an error, in bytes.
const maxAnswer = 64 << 10

// readAnswer reads the error in a response and closes it. It returns nil for a body of
// another kind, which it puts back.
func readAnswer(res *http.Response) *answer {
	b, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	var a answer
	if xml.Unmarshal(b, &a) != nil || a.Code == "" {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(strings.NewReader(string(b)), res.Body), res.Body}
		return nil
	}
	res.Body.Close()
	return &a
}

func expired(code string) bool {
	return code == "ExpiredToken" || code == "ExpiredTokenException" || code == "TokenRefreshRequired"
}

// readable makes an error of the library readable.
func readable(err error, signed bool) error {
	var e minio.ErrorResponse
	if !errors.As(err, &e) || e.Code == "" || e.StatusCode == 0 {
		return err
	}
	return explain(e.StatusCode, e.Code, e.Message, signed)
}

// explain returns the error for a code of a store.
func explain(status int, code, message string, signed bool) error {
	text := map[string]string{
		"NoSuchBucket":               "no such bucket",
		"NoSuchKey":                  "no such object",
		"InvalidAccessKeyId":         "the store does not know the access key",
		"SignatureDoesNotMatch":      "the secret key is wrong",
		"RequestTimeTooSkewed":       "the clock of this computer is wrong",
		"InvalidToken":               "the session token is wrong",
		"ConditionalRequestConflict": "other programs write the object at the same time",
	}[code]
	switch {
	case expired(code):
		text = "the credentials have expired, renew them"
		status = http.StatusForbidden
	case code == "AccessDenied" && !signed:
		text = "access denied, and no credentials were found: set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	case code == "AccessDenied":
		text = "access denied"
	case text == "":
		text = "the store answered: " + plain(message)
	}
	return &resolver.RefusedError{Status: status, Code: plain(code), Text: text}
}

// plain makes a text of a store safe to print.
func plain(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most]
	}
	q := fmt.Sprintf("%+q", s)
	return strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
}
