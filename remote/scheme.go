package remote

import (
	"context"

	"github.com/cdfz-format/cdfz/internal/urls"
)

func init() {
	urls.Register("http", openURL)
	urls.Register("https", openURL)
}

// openURL opens a URL for archive.Open.
func openURL(ctx context.Context, name string) (urls.File, error) {
	f, err := Open(ctx, name, nil)
	if err != nil {
		return nil, err // not a File that is nil
	}
	return f, nil
}

// IsURL reports whether name begins like the URL of a file that a program may open: with http
// or https, a scheme of package s3, or another one that is registered. It may be malformed.
func IsURL(name string) bool { return urls.Is(name) }
