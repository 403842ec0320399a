package fileio

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/internal/filetime"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/urls"
	"github.com/cdfz-format/cdfz/remote"
)

// LocalName returns the path that a target is named after: a FILE argument, or the last
// element or else the host of a URL. Those of objects have no escapes. One without host is "url".
func LocalName(name string) string {
	if !remote.IsURL(name) {
		return name
	}
	if s3.IsURL(name) && urls.Redact(name) == name {
		if base := path.Base(name[len("s3:"):]); base != "/" {
			return base
		}
		return "url"
	}
	u, err := url.Parse(urls.Redact(name))
	if err != nil {
		return "url"
	}
	if base := path.Base("/" + u.Path); base != "/" {
		return base
	}
	return cmp.Or(u.Hostname(), "url")
}

// LocalName is the function LocalName for a file. Objects below a prefix keep their path below it.
func (j File) LocalName() string {
	if j.object {
		return j.Rel
	}
	return LocalName(j.Name)
}

// BaseName returns the name of a FILE argument without folders.
func BaseName(name string) string { return filepath.Base(LocalName(name)) }

// OlderName returns a name for an old archive: x.nc.cdfz of a source that was last changed at that time
// becomes x.nc.20260102T030405Z.cdfz, or x.nc.20260102T030405Z-2.cdfz if that is another file. Times that are
// not in the years 0 to 9999 are seconds since 1970: x.nc.@300000000000.cdfz. The names of files that are kept as they are
// get no ending.
func OlderName(path string, at time.Time, n int) string {
	text := filetime.Text(at) // of a year that this cannot write
	if filetime.RFC3339(at) {
		text = at.UTC().Format("20060102T150405Z")
	}
	base, isArchive := strings.CutSuffix(path, Suffix)
	name := base + "." + text
	if n > 1 {
		name += fmt.Sprintf("-%d", n)
	}
	if isArchive {
		name += Suffix
	}
	return name
}

// older matches what OlderName makes of the name of an archive.
var older = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^(.*[^/\\])\.(?:\d{8}T\d{6}Z|@-?\d+)(?:-\d+)?` + regexp.QuoteMeta(Suffix) + `$`)
})

// CurrentName returns the name of the archive of the current state if path is one that OlderName makes for an older one,
// or "".
func CurrentName(path string) string {
	m := older().FindStringSubmatch(path)
	if m == nil {
		return ""
	}
	return m[1] + Suffix
}
