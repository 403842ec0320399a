package volume

import (
	"iter"
	"net/url"
	"strings"

	"github.com/cdfz-format/cdfz/internal/urls"
)

// Split divides a path or URL such as vol/0001.tar/1987/tas.nc.cdfz into that of a volume and the path of a member. A
// folder can be named like a volume, so Split yields each way to divide the name. The caller takes the first that leads
// to a volume. Split reads nothing.
func Split(name string) iter.Seq2[string, string] {
	return func(yield func(volume, member string) bool) {
		end, query, escaped := len(name), "", false
		if scheme := urls.Scheme(name); scheme != "" && scheme != "s3" && scheme != "gs" { // keys of objects have no query
			escaped = true
			if i := strings.IndexAny(name, "?#"); i >= 0 {
				end, query = i, name[i:]
			}
		}
		for at := 0; ; {
			i := strings.Index(name[at:end], Suffix+"/")
			if i < 0 {
				return
			}
			at += i + len(Suffix)
			member := strings.TrimLeft(name[at:end], "/")
			if escaped {
				if text, err := url.PathUnescape(member); err == nil {
					member = text
				}
			}
			if member != "" && !yield(name[:at]+query, member) {
				return
			}
		}
	}
}
