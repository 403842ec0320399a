package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/cdfz-format/cdfz/internal/resolver"
	"github.com/cdfz-format/cdfz/internal/urls"
)

const (
	// maxListing bounds the length of a page, in bytes. One of 1000 keys of 1024 bytes, each
	// escaped, has about 4 MB.
	maxListing = 16 << 20
	// maxKeys bounds the objects of a page. Stores send up to 1000.
	maxKeys = 10000
	// maxEmpty bounds the pages without objects that follow one another. Stores send such pages where many
	// objects were deleted.
	maxEmpty = 1000
)

// Object is an object of a listing.
type Object struct {
	// Rel is the key without the prefix. It may be any text: empty, if the key is the prefix,
	// or no path, such as "../x".
	Rel      string
	Size     int64     // bytes
	Modified time.Time // zero if the store does not tell
	ETag     string    // with its quotes, "" if the store does not tell
}

// IsPrefix reports whether a name stands for all objects below a prefix, s3://BUCKET/PREFIX/ or
// s3://BUCKET/: it ends in a slash.
func IsPrefix(name string) bool { return IsURL(name) && strings.HasSuffix(name, "/") }

// List calls use for each page of the objects below a prefix, in the order of the store, until
// use returns an error, which List returns. A page has at most 10000 objects, and use may keep
// it. Only one page is in memory at a time. Requests that fail are repeated.
//
// Errors of the store are *remote.RefusedError. A name for which IsPrefix is false is
// urls.ErrOptions. A listing that does not end is an error: one that repeats itself, or has 1000 pages without
// objects one after the other. A prefix without objects has no page and is no error. An object that is added or
// removed meanwhile may be listed or not.
func List(ctx context.Context, name string, use func(page []Object) error) error {
	l, err := newLister(ctx, name)
	if err != nil {
		return fmt.Errorf("s3: %s: %w", urls.Redact(name), err)
	}
	token, seen, seenFirst, empty := "", "", "", 0
	for n := 0; ; n++ {
		var p *page
		err := repeat(ctx, func() (err error) {
			p, err = l.page(ctx, token)
			return err
		})
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("s3: %s: list: %w", urls.Redact(name), readable(err, l.t.signed.Load()))
		}
		// A store that goes round in circles would never end. seen and seenFirst are replaced at powers of
		// two: at last they are of a page of any circle.
		if len(p.objects) > 0 {
			if first := p.objects[0].Rel; n > 0 && first == seenFirst {
				return fmt.Errorf("s3: %s: list: expected other objects on page %d, found those of an earlier page", urls.Redact(name), n+1)
			} else if n&(n-1) == 0 {
				seenFirst = first
			}
			if err := use(p.objects); err != nil {
				return err
			}
			empty = 0
		} else if empty++; empty > maxEmpty {
			return fmt.Errorf("s3: %s: list: expected objects or the end, found more than %d pages without objects one after the other", urls.Redact(name), maxEmpty)
		}
		if p.next == "" {
			return nil
		}
		if p.next == seen || p.next == token {
			return fmt.Errorf("s3: %s: list: expected the token of another page after page %d, found that of an earlier one", urls.Redact(name), n+1)
		}
		if token = p.next; n&(n-1) == 0 {
			seen = token
		}
	}
}

// lister requests the pages of a listing.
type lister struct {
	t      *transport
	client *http.Client
	prefix string
}

// listBase is the transport of all listings, so that they share connections.
var listBase = sync.OnceValue(newBase)

func newLister(ctx context.Context, name string) (*lister, error) {
	o, err := parsePlace(name)
	if err != nil {
		return nil, err
	}
	if !IsPrefix(name) {
		return nil, fmt.Errorf("expected s3://BUCKET/ or s3://BUCKET/PREFIX/: %w", urls.ErrOptions)
	}
	l := &lister{prefix: o.key}
	o.key = "" // requests are for the bucket
	l.t = newTransport(ctx, o, listBase())
	l.client = &http.Client{Transport: l.t, Timeout: answerTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return l, nil
}

// page is a page of a listing.
type page struct {
	objects []Object
	next    string // token of the next page, "" for none
}

// page requests a page. token is that of the page before, "" for the first.
func (l *lister) page(ctx context.Context, token string) (*page, error) {
	u := l.t.url()
	q := url.Values{"list-type": {"2"}, "encoding-type": {"url"}, "prefix": {l.prefix}}
	if token != "" {
		q.Set("continuation-token", token)
	}
	u.RawQuery = q.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	res, err := l.client.Do(r)
	if err != nil {
		var refused *resolver.RefusedError
		var wrapped *url.Error // with the URL, which the user has not written
		if errors.As(err, &refused) {
			return nil, refused
		} else if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		e := minio.ErrorResponse{StatusCode: res.StatusCode, Code: http.StatusText(res.StatusCode), Message: res.Status}
		if a := readAnswer(res); a != nil {
			e.Code, e.Message = a.Code, a.Message
		}
		return nil, e
	}
	body := &io.LimitedReader{R: res.Body, N: maxListing}
	p, err := l.parse(body)
	if err == nil { // a connection is used again only if its body was read
		_, err = io.Copy(io.Discard, body)
	}
	if body.N == 0 {
		return nil, listingError(fmt.Sprintf("expected a page of at most %d bytes, found more", maxListing))
	}
	return p, err
}

// listingError is an answer that is no listing. Another attempt would not help.
type listingError string

func (e listingError) Error() string { return string(e) }

// entry is an object in XML.
type entry struct {
	Key          string
	Size         string
	LastModified string
	ETag         string
}

// parse parses a page in XML.
func (l *lister) parse(r io.Reader) (*page, error) {
	d := xml.NewDecoder(r)
	var entries []entry
	var encoding, truncated, next string
	for root := false; ; {
		t, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("malformed listing: %w", noEOF(err))
		}
		switch t := t.(type) {
		case xml.EndElement:
			// Only the end of the root comes here.
			if !strings.EqualFold(truncated, "true") {
				next = ""
			} else if next == "" {
				return nil, listingError("expected the token of the next page, found none")
			}
			objects, err := l.objects(entries, encoding)
			return &page{objects, next}, err
		case xml.StartElement:
			if !root {
				if t.Name.Local != "ListBucketResult" {
					return nil, listingError(fmt.Sprintf("expected a ListBucketResult, found %s", plain(t.Name.Local)))
				}
				root = true
				continue
			}
			switch t.Name.Local {
			case "Contents":
				if len(entries) == maxKeys {
					return nil, listingError(fmt.Sprintf("expected at most %d objects a page, found more", maxKeys))
				}
				entries = append(entries, entry{})
				err = d.DecodeElement(&entries[len(entries)-1], &t)
			case "EncodingType":
				err = d.DecodeElement(&encoding, &t)
			case "IsTruncated":
				err = d.DecodeElement(&truncated, &t)
			case "NextContinuationToken":
				err = d.DecodeElement(&next, &t)
			default:
				err = d.Skip()
			}
			if err != nil {
				return nil, fmt.Errorf("malformed listing: %w", noEOF(err))
			}
		}
	}
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// objects checks the objects of a page.
func (l *lister) objects(entries []entry, encoding string) ([]Object, error) {
	list := make([]Object, len(entries))
	for i, e := range entries {
		key := e.Key
		if strings.EqualFold(encoding, "url") {
			var err error
			if key, err = url.QueryUnescape(key); err != nil {
				return nil, listingError("malformed key " + plain(e.Key))
			}
		}
		rel, below := strings.CutPrefix(key, l.prefix)
		if !below {
			return nil, listingError(fmt.Sprintf("expected keys that begin with %q, found %s", l.prefix, plain(key)))
		}
		size, err := strconv.ParseInt(e.Size, 10, 64)
		if err != nil || size < 0 {
			return nil, listingError(fmt.Sprintf("expected the size of %s in bytes, found %s", plain(key), plain(e.Size)))
		}
		list[i] = Object{Rel: rel, Size: size, ETag: e.ETag}
		if at, err := time.Parse(time.RFC3339, e.LastModified); err == nil {
			list[i].Modified = at
		}
	}
	return list, nil
}
