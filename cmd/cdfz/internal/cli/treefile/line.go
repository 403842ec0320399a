package treefile

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strconv"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/internal/filetime"
)

// line is the JSON of an entry. JSON is UTF-8, but names are any bytes on most systems: the bytes of a name that is not
// UTF-8 are kept in another field.
type line struct {
	Path      string            `json:"path"`
	PathBytes []byte            `json:"path_bytes,omitempty"`
	Kind      Kind              `json:"kind"`
	At        string            `json:"at,omitempty"`
	AtBytes   []byte            `json:"at_bytes,omitempty"`
	To        string            `json:"to,omitempty"`
	ToBytes   []byte            `json:"to_bytes,omitempty"`
	Mode      string            `json:"mode,omitempty"` // octal
	Modified  *filetime.Time    `json:"mtime,omitempty"`
	UID       uint32            `json:"uid"`
	GID       uint32            `json:"gid"`
	User      string            `json:"user,omitempty"`
	Group     string            `json:"group,omitempty"`
	Size      *int64            `json:"size,omitempty"`
	SHA256    string            `json:"sha256,omitempty"`
	Xattrs    map[string][]byte `json:"xattrs,omitempty"`
	Emptied   bool              `json:"emptied,omitempty"`
}

// split returns a name as text and, if it is not UTF-8, as bytes.
func split(name string) (string, []byte) {
	if utf8.ValidString(name) {
		return name, nil
	}
	return name, []byte(name)
}

func either(text string, b []byte) string {
	if len(b) > 0 {
		return string(b)
	}
	return text
}

// The upper bits of a mode, as chmod numbers them.
const (
	setuid = 0o4000
	setgid = 0o2000
	sticky = 0o1000
)

var upper = []struct {
	bit  uint64
	mode fs.FileMode
}{{setuid, fs.ModeSetuid}, {setgid, fs.ModeSetgid}, {sticky, fs.ModeSticky}}

func modeText(m fs.FileMode) string {
	n := uint64(m.Perm())
	for _, u := range upper {
		if m&u.mode != 0 {
			n |= u.bit
		}
	}
	return fmt.Sprintf("%04o", n)
}

func parseMode(text string) (fs.FileMode, error) {
	n, err := strconv.ParseUint(text, 8, 12)
	if err != nil {
		return 0, fmt.Errorf("expected a mode of 12 bits, found %.20q", text)
	}
	m := fs.FileMode(n) & fs.ModePerm
	for _, u := range upper {
		if n&u.bit != 0 {
			m |= u.mode
		}
	}
	return m, nil
}

// text returns the line of an entry, without its end.
func (e *Entry) text() ([]byte, error) {
	l := &line{Kind: e.Kind, UID: e.UID, GID: e.GID, User: e.User, Group: e.Group, SHA256: e.SHA256, Xattrs: e.Xattrs, Emptied: e.Emptied}
	l.Path, l.PathBytes = split(e.Path)
	l.At, l.AtBytes = split(e.At)
	l.To, l.ToBytes = split(e.To)
	if e.Kind != HardLink {
		l.Mode, l.Modified = modeText(e.Mode), &filetime.Time{Time: e.Modified}
	}
	if e.Kind == Archive || e.Kind == Plain {
		l.Size = &e.Size
	}
	return json.Marshal(l)
}

// parse returns the entry of a line.
func parse(text []byte) (*Entry, error) {
	l := new(line)
	if err := json.Unmarshal(text, l); err != nil {
		return nil, err
	}
	e := &Entry{
		Path: either(l.Path, l.PathBytes), Kind: l.Kind, At: either(l.At, l.AtBytes), To: either(l.To, l.ToBytes), UID: l.UID, GID: l.GID,
		User: l.User, Group: l.Group, SHA256: l.SHA256, Xattrs: l.Xattrs, Emptied: l.Emptied,
	}
	if l.Size != nil {
		e.Size = *l.Size
	}
	if l.Modified != nil {
		e.Modified = l.Modified.Time
	}
	if l.Mode == "" {
		return e, nil
	}
	var err error
	e.Mode, err = parseMode(l.Mode)
	return e, err
}
