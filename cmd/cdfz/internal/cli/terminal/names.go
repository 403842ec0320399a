package terminal

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cdfz-format/cdfz/internal/urls"
)

// StdinName stands for standard input on the command line, StdoutName for standard
// output after -o.
const (
	StdinName  = "-"
	StdoutName = "-"
)

// ShowName returns a FILE argument for messages: a URL without its secrets.
func ShowName(name string) string {
	if name == StdinName {
		return "standard input"
	}
	return urls.Redact(name)
}

// ShowTarget returns the name of a target for messages, as ShowName does for a FILE argument.
func ShowTarget(name string) string {
	if name == StdoutName {
		return "standard output"
	}
	return urls.Redact(name)
}

// ReportName returns a FILE argument for reports: unchanged, except that URLs lose
// their secrets.
func ReportName(name string) string {
	if name == StdinName {
		return name
	}
	return ShowName(name)
}

// secrets are the secrets of URLs and their replacements, in pairs for
// strings.NewReplacer. It is safe for concurrent use.
type secrets struct {
	mu    sync.Mutex
	pairs []string
}

// Hide makes messages show a URL without its secrets wherever it is quoted.
func (t *Terminal) Hide(name string) {
	shown := urls.Redact(name)
	if shown == name {
		return
	}
	t.secrets.mu.Lock()
	defer t.secrets.mu.Unlock()
	t.secrets.pairs = append(t.secrets.pairs, name, shown)
	if path := filepath.Clean(name); path != name { // where it was taken for a path
		t.secrets.pairs = append(t.secrets.pairs, path, urls.Redact(path))
	}
	if q := strconv.Quote(name); q[1:len(q)-1] != name {
		t.secrets.pairs = append(t.secrets.pairs, q[1:len(q)-1], shown)
	}
}

// HideAll is Hide for all URLs of a command line, the values of flags included.
func (t *Terminal) HideAll(args []string) {
	for _, arg := range args {
		t.Hide(arg)
		if flag, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(flag, "-") {
			t.Hide(value)
		}
	}
}

// userInfo matches user and password in URLs.
var userInfo = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*:/+)[^\s/?#"']*@`)
})

// query matches query and fragment of URLs that can have a signature there, and the URL before them. What may end
// a sentence does not belong to it. The keys of objects in stores have no query.
var query = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(https?:/+[^\s?#"'<>\\]*)[?#][^\s"'<>\\]*?([.,:;)]*(?:[\s"'<>\\]|$))`)
})

// redact removes the secrets of URLs from a text.
func (p *Printer) redact(text string) string {
	p.secrets.mu.Lock()
	pairs := slices.Clip(p.secrets.pairs)
	p.secrets.mu.Unlock()
	if len(pairs) > 0 {
		text = strings.NewReplacer(pairs...).Replace(text)
	}
	if !strings.Contains(text, ":/") {
		return text
	}
	return query().ReplaceAllString(userInfo().ReplaceAllString(text, "$1"), "$1$2")
}
