// Package urls finds what opens the file at a URL. A package that can open URLs of a scheme
// registers itself, so that a program without URLs does not link an HTTP client.
package urls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

var (
	// ErrChanged means that the file is no longer the one that was opened.
	ErrChanged = errors.New("remote file changed while being read")
	// ErrOptions means a malformed URL or invalid options.
	ErrOptions = errors.New("invalid URL or options")
)

// File is a file at a URL.
type File interface {
	io.ReaderAt
	ioat.ContextReaderAt
	io.Closer
	// Name returns the URL without secrets.
	Name() string
	// Size returns the length in bytes.
	Size() int64
	// Preload reads the first n bytes, and keeps them for later reads.
	Preload(ctx context.Context, n int64) error
	// CheckTail reads the end again, and returns ErrChanged if it has changed.
	CheckTail(ctx context.Context) error
}

// Opener opens the file at a URL. It reads the last bytes of the file and keeps them. ctx is
// for opening only.
type Opener func(ctx context.Context, name string) (File, error)

var (
	openersMu sync.RWMutex
	openers   = map[string]Opener{}
	like      = map[string]string{} // schemes that are opened like another one
)

// packages lists the packages of this module that register the schemes.
var packages = map[string]string{
	"http":  "github.com/cdfz-format/cdfz/remote",
	"https": "github.com/cdfz-format/cdfz/remote",
	"s3":    "github.com/cdfz-format/cdfz/remote/s3",
	"gs":    "github.com/cdfz-format/cdfz/remote/s3",
}

// Register sets the opener of a scheme, in lower case. It is safe for concurrent use.
func Register(scheme string, o Opener) {
	openersMu.Lock()
	defer openersMu.Unlock()
	openers[scheme] = o
}

// RegisterLike makes the opener of another scheme open those of a scheme. It is safe for concurrent use.
func RegisterLike(scheme, other string) {
	openersMu.Lock()
	defer openersMu.Unlock()
	like[scheme] = other
}

// Scheme returns the scheme of a name such as "https://…" in lower case, or "".
func Scheme(name string) string {
	scheme, rest, ok := cutScheme(name)
	if !ok || !strings.HasPrefix(rest, "//") {
		return ""
	}
	return strings.ToLower(scheme)
}

// openerOf returns the opener of a scheme, or nil.
func openerOf(scheme string) Opener {
	openersMu.RLock()
	defer openersMu.RUnlock()
	if other := like[scheme]; other != "" {
		scheme = other
	}
	return openers[scheme]
}

// Is reports whether name begins like a URL of a scheme that is registered or that a package
// of this module registers, whether it is well-formed or not.
func Is(name string) bool {
	scheme := Scheme(name)
	return packages[scheme] != "" || openerOf(scheme) != nil
}

// Open opens the file at a URL for which Is is true, for archive.Open.
func Open(ctx context.Context, name string) (File, error) {
	scheme := Scheme(name)
	if o := openerOf(scheme); o != nil {
		return o(ctx, name)
	}
	return nil, fmt.Errorf("archive: %s: the program does not import %s", Redact(name), packages[scheme])
}
