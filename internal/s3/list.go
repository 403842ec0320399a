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

// Listing are the objects below a prefix. It is not safe for concurrent use, and need not be closed.
type Listing struct {
	name   string
	folder bool
	l      *lister // made by the first request

	token, seen, seenFirst string
	n, empty               int // pages so far, and those without objects at their end
	ended                  bool
	bad                    error    // the next page cannot be asked for
	kept                   []Object // a page that First has returned
}

// NewListing returns the listing of a prefix.
func NewListing(name string) *Listing { return &Listing{name: name} }

// NewFolder returns the listing of the objects of a prefix whose keys have no further slash: the files of a folder.
func NewFolder(name string) *Listing { return &Listing{name: name, folder: true} }

// First returns the first page, and whether there is no other one. Next will return it, too.
func (l *Listing) First(ctx context.Context) (page []Object, all bool, err error) {
	if l.kept == nil {
		l.kept, err = l.Next(ctx)
	}
	return l.kept, l.ended, err
}

// Next returns the next page of objects, in the order of the store, or none at the end. A page has at most 10000 objects,
// and the caller may keep it. Requests that fail are repeated.
//
// Errors of the store are *remote.RefusedError. A name for which IsPrefix is false is
// urls.ErrOptions. A listing that does not end is an error: one that repeats itself, or has 1000 pages without
// objects one after the other. A prefix without objects has no page and is no error. An object that is added or
// removed meanwhile may be listed or not.
func (l *Listing) Next(ctx context.Context) ([]Object, error) {
	if page := l.kept; page != nil {
		l.kept = nil
		return page, nil
	}
	if l.l == nil {
		lister, err := newLister(ctx, l.name, l.folder)
		if err != nil {
			return nil, fmt.Errorf("s3: %s: %w", urls.Redact(l.name), err)
		}
		l.l = lister
	}
	for !l.ended {
		if l.bad != nil {
			return nil, fmt.Errorf("s3: %s: list: %w", urls.Redact(l.name), l.bad)
		}
		objects, err := l.page(ctx)
		if err != nil {
			return nil, fmt.Errorf("s3: %s: list: %w", urls.Redact(l.name), err)
		}
		if len(objects) > 0 {
			return objects, nil
		}
	}
	return nil, nil
}

// page requests the next page, and finds listings that do not end.
func (l *Listing) page(ctx context.Context) ([]Object, error) {
	var p *page
	err := repeat(ctx, func() (err error) {
		p, err = l.l.page(ctx, l.token)
		return err
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, readable(err, l.l.t.signed.Load())
	}
	n := l.n
	l.n++
	// A store that goes round in circles would never end. seen and seenFirst are replaced at powers of
	// two: at last they are of a page of any circle.
	if len(p.objects) > 0 {
		if first := p.objects[0].Rel; n > 0 && first == l.seenFirst {
			return nil, fmt.Errorf("expected other objects on page %d, found those of an earlier page", n+1)
		} else if n&(n-1) == 0 {
			l.seenFirst = first
		}
		l.empty = 0
	} else if l.empty++; l.empty > maxEmpty {
		return nil, fmt.Errorf("expected objects or the end, found more than %d pages without objects one after the other", maxEmpty)
	}
	switch {
	case p.next == "":
		l.ended = true
	case p.next == l.seen || p.next == l.token:
		l.bad = fmt.Errorf("expected the token of another page after page %d, found that of an earlier one", n+1)
	default:
		if l.token = p.next; n&(n-1) == 0 {
			l.seen = l.token
		}
	}
	return p.objects, nil
}

// List calls use for each page of a listing, as [Listing.Next] returns them, until use returns an error, which List
// returns. Only one page is in memory at a time.
func List(ctx context.Context, name string, use func(page []Object) error) error {
	return NewListing(name).Each(ctx, use)
}

// Each calls use for each page that is left, until use returns an error, which Each returns. Only one page is in memory at
// a time.
func (l *Listing) Each(ctx context.Context, use func(page []Object) error) error {
	for {
		page, err := l.Next(ctx)
		if err == nil && page != nil {
			err = use(page)
		}
		if page == nil || err != nil {
			return err
		}
	}
}

// lister requests the pages of a listing.
type lister struct {
	t      *transport
	client *http.Client
	prefix string
	folder bool // keys with a further slash are left out
}

func newLister(ctx context.Context, name string, folder bool) (*lister, error) {
	o, err := parsePlace(name)
	if err != nil {
		return nil, err
	}
	if !IsPrefix(name) {
		return nil, fmt.Errorf("expected s3://BUCKET/ or s3://BUCKET/PREFIX/: %w", urls.ErrOptions)
	}
	l := &lister{prefix: o.key, folder: folder}
	o.key = "" // requests are for the bucket
	l.t = newTransport(ctx, o, base())
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
	if l.folder {
		q.Set("delimiter", "/")
	}
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
