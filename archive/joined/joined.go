// Package joined presents many netCDF files as one dataset: [Build] describes it, [Open] opens it, and
// [Dataset.File] is the joined file. They are joined along the outermost dimension of their variables, as
// NcML's aggregations joinExisting and joinNew, and as ncrcat and ncecat do. The members are archives and
// classic files.
//
// [Build] compares the members and returns a [Description]. [Description.WriteNcML] writes it as NcML,
// and [ReadNcML] reads that. [Open] opens the dataset:
//
//	d, err := joined.Open(ctx, desc, joined.Folder("tas.ncml"), nil)
//	v, err := d.File().Var("tas")
//	series, err := slab.Read[float32](ctx, v, slab.Sel{…})
//
// [Dataset.File] is the classic file that the dataset would be, so all that works on an [archive.File] works
// on a dataset. Reads of several members open and decode these at the same time. Only a bounded number of
// members is open at once.
//
// Nothing is stored but the description. The dataset changes when its members do: a member of another
// length, with other variables, or of another size, SHA-256 or sample than described is an error when it
// is opened. The SHA-256 is that in an archive. Classic files contain none, and are compared by a sample
// of their bytes. [Description.Verify] reads them as a whole.
//
// # What is not done
//
// Dimensions inside of variables are not joined, and values other than times are not converted. The elements of NcML that change a dataset, such as variable and remove,
// and scan, are refused.
package joined

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/internal/urls"
)

// Errors of this package. Damage of a description is archive.ErrCorrupt, and so is that of a member.
var (
	// ErrNotNcML reports a file that is not NcML with an aggregation, or one with parts that this
	// package does not follow. The text names them.
	ErrNotNcML = errors.New("not an NcML description of joined files")
	// ErrDiffers reports members that cannot be joined, or that are no longer as described. It comes
	// with a [*Problem] or several, which are joined by errors.Join.
	ErrDiffers = errors.New("files do not fit together")
)

// Description names the members of a dataset and how they are joined.
type Description struct {
	Dim string // the joined dimension
	New bool   // Dim is a new dimension, with one index for each member; else members have it
	// Vars are the variables that get the new dimension, nil if not New. All others are those of the
	// first member.
	Vars []string
	// First means that members may differ in attributes that do not change the meaning of values, and
	// in the variables without Dim. Those of the first member count.
	First bool
	// Convert means that times of members may have other units of the same calendar than those of the first,
	// to which they are converted. Results that are not exact are errors.
	Convert bool
	Members []Member // in order, at least one
}

// Member is a file of a dataset.
type Member struct {
	// Location is the path of the netCDF file, relative to the description, with slashes, or a URL. If
	// there is no such file, its archive is used, whose name ends in .cdfz, too.
	Location string
	Len      int64 // number of indices along the dimension; -1 if unknown
	// Part means that the member is a part of a file: Len indices from Start on. Other members are whole files,
	// and Start is 0.
	Part   bool
	Start  int64
	Size   int64  // of the netCDF file, in bytes; -1 if unknown
	SHA256 string // of the netCDF file, in hexadecimal digits; "" if unknown
	// Sample is a sum of parts of the netCDF file, as Build returns it; "" if unknown. A file without a
	// known SHA-256 of its own, such as a classic one, is compared by it when it is opened.
	Sample string
}

// FileCount returns the number of files. Parts of one that follow each other are one file.
func (desc *Description) FileCount() (n int) {
	for i := range desc.Members {
		if !desc.continues(i) {
			n++
		}
	}
	return n
}

// continues reports whether member i is a later part of the file of member i - 1.
func (desc *Description) continues(i int) bool {
	return i > 0 && desc.Members[i].Part && desc.Members[i-1].Part && desc.Members[i].Location == desc.Members[i-1].Location
}

// shown returns the location for messages: URLs without secrets.
func (m *Member) shown() string { return urls.Redact(m.Location) }

// Opener opens a member by its location. The closer, which may be nil, closes what the file reads. An
// Opener must be safe for concurrent use. o are the options for archive.Open or archive.New.
type Opener func(ctx context.Context, location string, o *archive.OpenOptions) (*archive.File, io.Closer, error)

// Folder returns an Opener of locations relative to the folder of a description, which may be a path or a
// URL. A description at a URL can name members of the same server only, so that it cannot make a program
// read local files or other servers.
func Folder(description string) Opener {
	return func(ctx context.Context, location string, o *archive.OpenOptions) (*archive.File, io.Closer, error) {
		name, err := Resolve(description, location)
		if err != nil {
			return nil, nil, err
		}
		f, err := openRegular(ctx, name, o)
		if notExist(err) && !strings.HasSuffix(name, archive.Suffix) {
			of := withSuffix(name)
			if g, again := openRegular(ctx, of, o); notExist(again) {
				err = fmt.Errorf("%w, nor is there its archive %s", err, urls.Redact(of))
			} else {
				f, err = g, again
			}
		}
		if err != nil {
			return nil, nil, err
		}
		return f, f, nil
	}
}

// Files returns the paths and URLs that Folder opens for the members, if they exist.
func (desc *Description) Files(description string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range desc.Members {
			name, err := Resolve(description, desc.Members[i].Location)
			if err != nil {
				continue
			}
			if !yield(name) || !strings.HasSuffix(name, archive.Suffix) && !yield(withSuffix(name)) {
				return
			}
		}
	}
}

// openRegular opens a URL or a regular file. Opening a pipe could block forever.
func openRegular(ctx context.Context, name string, o *archive.OpenOptions) (*archive.File, error) {
	if !urls.Is(name) {
		st, err := os.Stat(name)
		if err == nil && !st.Mode().IsRegular() {
			err = &fs.PathError{Op: "open", Path: name, Err: errors.New("expected a regular file")}
		}
		if err != nil && st != nil {
			return nil, err
		}
	}
	return archive.Open(ctx, name, o) // also of a member of a volume, which Stat does not find
}

// withSuffix returns the name of the archive of a file. Queries of URLs stay at the end.
func withSuffix(name string) string {
	base, query := cutQuery(name)
	return base + archive.Suffix + query
}

// cutQuery cuts a URL before its query. Paths, and URLs of object stores, have none.
func cutQuery(name string) (base, query string) {
	switch urls.Scheme(name) {
	case "http", "https":
		if i := strings.IndexByte(name, '?'); i >= 0 {
			return name[:i], name[i:]
		}
	}
	return name, ""
}

// Resolve returns the path or URL of a location in a description, which is at a path or URL itself.
// It is that of the netCDF file, whether only its archive exists or not. The error is that of a
// description at a URL, which can name members of the same server only.
func Resolve(description, location string) (string, error) {
	switch remote := urls.Is(description); {
	case urls.Is(location):
		if remote && server(location) != server(description) {
			return "", fmt.Errorf("joined: member %q: members must be on the server of the description", urls.Redact(location))
		}
		return location, nil
	case remote:
		if location == "" || path.IsAbs(location) || strings.ContainsAny(location, `\?#`) {
			return "", fmt.Errorf("joined: member %q: expected a relative path, since the description is at a URL", location)
		}
		base, query := cutQuery(description)
		scheme, rest, _ := strings.Cut(base, "://")
		host, folder, _ := strings.Cut(rest, "/")
		return scheme + "://" + host + path.Join("/", path.Dir("/"+folder), location) + query, nil
	case filepath.IsAbs(filepath.FromSlash(location)):
		return filepath.FromSlash(location), nil
	}
	return filepath.Join(filepath.Dir(description), filepath.FromSlash(location)), nil
}

// server returns scheme and host of a URL, which for an object store is the bucket.
func server(url string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	host, _, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, "?")
	return strings.ToLower(scheme + "://" + host)
}
