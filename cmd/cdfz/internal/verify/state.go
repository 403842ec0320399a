package verify

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/jsonlines"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/remote"
)

// stateHead begins the first line of a state file: {"cdfz_verify_state":1}. The other lines are archives.
const stateHead = `{"cdfz_verify_state":`

// stateFormat is the version of the format.
const stateFormat = 1

// state is the file of --state: when was which archive last proved. It is safe for concurrent use.
type state struct {
	file  *jsonlines.File
	known map[stateKey]proved
}

// stateKey is the start of the SHA-256 of the name of an archive.
type stateKey [16]byte

func keyOf(archive string) stateKey {
	s := sha256.Sum256([]byte(archive))
	return stateKey(s[:])
}

// proved is what is known of an archive. It does not hold for a file of another size or time.
type proved struct {
	size, modified int64 // bytes; nanoseconds since 1970, 0 if unknown
	at             int64 // when the reading began; nanoseconds since 1970
}

// stateLine is the JSON of an archive.
type stateLine struct {
	Archive      string    `json:"archive"` // absolute path, or URL
	ArchiveBytes []byte    `json:"archive_bytes,omitempty"`
	Size         int64     `json:"size"`     // of the archive
	Modified     time.Time `json:"modified"` // time of the archive; zero if unknown
	SHA256       string    `json:"sha256"`   // of the netCDF file
	Proved       time.Time `json:"proved"`   // when the reading began; zero if the archive has failed since
}

func (l *stateLine) name() string {
	if len(l.ArchiveBytes) > 0 {
		return string(l.ArchiveBytes)
	}
	return l.Archive
}

func (l *stateLine) proved() proved {
	p := proved{size: l.Size}
	if !l.Proved.IsZero() {
		p.at = l.Proved.UnixNano()
	}
	if !l.Modified.IsZero() {
		p.modified = l.Modified.UnixNano()
	}
	return p
}

// openState opens a state file, or makes it. If most lines are about archives that have later ones, too,
// the file is replaced by one without them.
func openState(name string) (*state, error) {
	s := &state{known: map[stateKey]proved{}}
	for again := false; ; again = true {
		var err error
		if s.file, err = jsonlines.Open(name, stateHead, "state of verify"); err != nil {
			return nil, err
		}
		lines, err := s.read(s.file.Reader())
		if err != nil {
			s.file.Close()
			return nil, err
		}
		if lines < 0 { // an empty file
			s.file.Add(struct {
				Format int `json:"cdfz_verify_state"`
			}{stateFormat})
		}
		if again || lines < 1000 || lines < 2*len(s.known) {
			return s, nil
		}
		err = s.compact(name)
		if closeErr := s.file.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return nil, err
		}
	}
}

// stateLines calls use for the lines of a state file after the first. ok is false for an empty file.
func stateLines(r io.Reader, use func(text []byte, l *stateLine) error) (ok bool, err error) {
	b := bufio.NewScanner(r)
	b.Buffer(nil, jsonlines.MaxLine)
	for n := 1; b.Scan(); n++ {
		if n == 1 {
			var head struct {
				Format int `json:"cdfz_verify_state"`
			}
			if err := json.Unmarshal(b.Bytes(), &head); err != nil || head.Format < 1 {
				return true, errors.New("line 1: expected the head of a state of cdfz verify")
			}
			if head.Format > stateFormat {
				return true, fmt.Errorf("expected format %d, found %d: a state of a later version of cdfz", stateFormat, head.Format)
			}
			ok = true
			continue
		}
		l := new(stateLine)
		if err := json.Unmarshal(b.Bytes(), l); err != nil || l.Archive == "" {
			return true, fmt.Errorf("line %d: expected an archive and when it was proved", n)
		}
		if err := use(b.Bytes(), l); err != nil {
			return true, err
		}
	}
	return ok, b.Err()
}

// read reads the lines of a file and returns their number, -1 for an empty file.
func (s *state) read(r io.Reader) (lines int, err error) {
	ok, err := stateLines(r, func(_ []byte, l *stateLine) error {
		lines++
		s.known[keyOf(l.name())] = l.proved()
		return nil
	})
	if !ok && err == nil {
		return -1, nil
	}
	return lines, err
}

// compact replaces the file by one with the last line of each archive.
func (s *state) compact(name string) error {
	t, err := atomicfile.Create(name, &atomicfile.Options{Overwrite: true})
	if err != nil {
		return err
	}
	defer t.Close()
	w := bufio.NewWriter(t)
	fmt.Fprintf(w, "%s%d}\n", stateHead, stateFormat)
	if _, err = stateLines(s.file.Reader(), func(text []byte, l *stateLine) error {
		if s.known[keyOf(l.name())] == l.proved() {
			w.Write(text) // Flush returns the error
			w.WriteByte('\n')
		}
		return nil
	}); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return t.Commit()
}

// last returns when an archive of this size and time was last proved, in nanoseconds since 1970, or 0. size
// 0 and a zero time are unknown.
func (s *state) last(archive string, size int64, modified time.Time) int64 {
	p, ok := s.known[keyOf(archive)]
	if !ok || size > 0 && size != p.size || !modified.IsZero() && modified.UnixNano() != p.modified {
		return 0
	}
	return p.at
}

// lastOf is last for a file at a path, or a URL. It is 0 if the file may have changed since: archives have the
// times of their sources, so that a new one can have the time and the size of the old one. An object has the
// time when it was written.
func (s *state) lastOf(archive, path string, size int64, modified time.Time) int64 {
	at := s.last(archive, size, modified)
	if at == 0 || modified.IsZero() || remote.IsURL(path) {
		return at
	}
	if st, err := os.Stat(path); err != nil || changedAt(st) > at {
		return 0
	}
	return at
}

// revoke notes that an archive has failed: what was known of it holds no longer, even if nobody has written
// to it since.
func (s *state) revoke(archive string) {
	if s.known[keyOf(archive)].at != 0 {
		s.add(archive, 0, time.Time{}, "", time.Time{})
	}
}

// add notes that an archive was proved. start is when the reading began.
func (s *state) add(archive string, size int64, modified time.Time, sha256 string, start time.Time) {
	l := &stateLine{Archive: archive, Size: size, SHA256: sha256, Proved: start.UTC()}
	if !modified.IsZero() {
		l.Modified = modified.UTC()
	}
	if !utf8.ValidString(archive) {
		l.ArchiveBytes = []byte(archive)
	}
	s.file.Add(l)
}
