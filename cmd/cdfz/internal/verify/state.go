package verify

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/jsonlines"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/access"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/remote"
)

// stateHead begins the first line of a state file: {"cdfz_verify_state":2}. The other lines are archives, and
// the folders that runs were given.
const stateHead = `{"cdfz_verify_state":`

// stateFormat is the version of the format. Version 1 knew of an archive its size and its time only, so that
// all of its archives are due. It has no folders.
const stateFormat = 2

// state is the file of --state: when was which archive last proved, and what it held. It is safe for
// concurrent use.
type state struct {
	name   string
	file   *jsonlines.File
	now    int64 // when it was opened: nothing can have been proved later; nanoseconds since 1970
	known  map[stateKey]proved
	roots  []root
	format int
	spelt  []move // folders that the state has under other names
}

// stateKey is the start of the SHA-256 of the name of an archive.
type stateKey [16]byte

func keyOf(archive string) stateKey {
	s := sha256.Sum256([]byte(archive))
	return stateKey(s[:])
}

// proved is what is known of an archive.
type proved struct {
	id     identitySum
	sha256 [32]byte // of the netCDF file that it has to hold; zero if unknown
	at     int64    // when the reading began; nanoseconds since 1970; 0 if the archive is due
}

// root is a folder that a run was given.
type root struct {
	path string
	id   folderID
}

// move tells that what was below a folder, or the URL of one, is below another one.
type move struct{ from, to string }

// of returns the name that a file has after a move.
func (m move) of(name string) string {
	if rest, ok := below(name, m.from); ok {
		return join(m.to, rest)
	}
	return name
}

// below returns the path of a file below a folder, or below the URL of one, with slashes. It is "" for the
// folder itself.
func below(name, folder string) (rel string, ok bool) {
	if name == folder {
		return "", true
	}
	if !remote.IsURL(folder) {
		rest, ok := strings.CutPrefix(name, strings.TrimSuffix(folder, string(filepath.Separator))+string(filepath.Separator))
		return filepath.ToSlash(rest), ok
	}
	return strings.CutPrefix(name, strings.TrimSuffix(folder, "/")+"/")
}

// join returns the name of a file below a folder, or below the URL of one.
func join(folder, rel string) string {
	switch {
	case rel == "":
		return folder
	case remote.IsURL(folder):
		return strings.TrimSuffix(folder, "/") + "/" + rel
	}
	return filepath.Join(folder, filepath.FromSlash(rel))
}

// stateLine is the JSON of an archive, or of a folder. Names are absolute paths or URLs.
type stateLine struct {
	Archive      string `json:"archive"`
	ArchiveBytes []byte `json:"archive_bytes,omitempty"` // Archive, if that is not UTF-8
	identity
	SHA256 string    `json:"sha256"` // of the netCDF file
	Proved time.Time `json:"proved"` // when the reading began; zero if the archive has failed since
	// Gone tells that the archive was removed, and that the user has accepted it.
	Gone bool `json:"gone,omitempty"`

	root *rootLine
}

// rootLine is the JSON of a folder that a run was given.
type rootLine struct {
	Root      string `json:"root"`
	RootBytes []byte `json:"root_bytes,omitempty"`
	folderID
}

// rawBytes returns a name for JSON if that is not UTF-8.
func rawBytes(name string) []byte {
	if utf8.ValidString(name) {
		return nil
	}
	return []byte(name)
}

func (l *stateLine) name() string {
	if len(l.ArchiveBytes) > 0 {
		return string(l.ArchiveBytes)
	}
	return l.Archive
}

func (l *rootLine) name() string {
	if len(l.RootBytes) > 0 {
		return string(l.RootBytes)
	}
	return l.Root
}

// proved returns what a line tells. A proof that is later than now is none: the clock was ahead, and would
// be for as long.
func (l *stateLine) proved(now int64) proved {
	l.object = remote.IsURL(l.Archive)
	p := proved{id: l.identity.sum()}
	if sum, err := hex.DecodeString(l.SHA256); err == nil && len(sum) == len(p.sha256) {
		p.sha256 = [32]byte(sum)
	}
	start := time.Unix(0, 0)
	if p.id != (identitySum{}) && l.Proved.After(start) && !l.Proved.After(time.Unix(0, now)) && l.settledBefore(l.Proved.UnixNano()) {
		p.at = l.Proved.UnixNano()
	}
	return p
}

// openState opens a state file, or makes it. where are the folders and files of the run: if the state has them
// below other names, these are changed, or translated by [state.named]. moves are those that the user tells.
//
// The file is replaced if names change, if it is of an earlier format, or if most of its lines are about
// archives that have later ones, too.
func openState(name string, where []string, moves ...move) (*state, error) {
	for again := false; ; again = true {
		s, err := newState(name)
		if err != nil {
			return nil, err
		}
		lines, err := s.read(s.file.Reader())
		if err != nil {
			s.file.Close()
			return nil, terminal.Hinted(err, "keep the file, and name a new one: then all archives are due")
		}
		if lines < 0 { // an empty file
			s.file.Add(struct {
				Format int `json:"cdfz_verify_state"`
			}{stateFormat})
		}
		found := s.look(where)
		if again {
			return s, nil
		}
		moves = append(moves, found...)
		if len(moves) == 0 && (lines < 0 || s.format == stateFormat) && (lines < 1000 || lines < 2*len(s.known)) {
			return s, nil
		}
		err = s.compact(moves)
		if closeErr := s.file.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return nil, err
		}
	}
}

func newState(name string) (*state, error) {
	s := &state{name: name, now: time.Now().UnixNano(), known: map[stateKey]proved{}}
	var err error
	s.file, err = jsonlines.Open(name, stateHead, "state of verify")
	return s, err
}

// look compares the folders that a run is given, and those above them, with those that the state knows. A
// folder that has another name now and is nowhere else was moved. One that has two names, as with a bind
// mount, keeps that in the state. Nothing is concluded for others: if another folder has the name, what is in
// the moved one is due.
func (s *state) look(where []string) (moves []move) {
	for _, dir := range where {
		for ; !remote.IsURL(dir); dir = filepath.Dir(dir) {
			if from, id, ok := s.rootAt(dir); ok && from != dir {
				m := move{from, dir}
				if there, ok := folderAt(from); ok && there == id {
					s.spelt = append(s.spelt, move{dir, from})
				} else if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) && !slices.Contains(moves, m) {
					moves = append(moves, m)
				}
				break
			} else if ok || dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return moves
}

// rootAt returns the name that the folder at a path has in the state: this path, or else the last one.
func (s *state) rootAt(path string) (name string, id folderID, ok bool) {
	if len(s.roots) == 0 {
		return "", folderID{}, false
	}
	if id, ok = folderAt(path); !ok {
		return "", folderID{}, false
	}
	ok = false
	for _, r := range s.roots {
		if r.id == id {
			name, ok = r.path, true
			if name == path {
				break
			}
		}
	}
	return name, id, ok
}

// named returns the name that a file, or a folder, has in the state.
func (s *state) named(name string) string {
	for _, m := range s.spelt {
		if n := m.of(name); n != name {
			return n
		}
	}
	return name
}

// addRoot notes a folder of the run.
func (s *state) addRoot(path string) {
	id, ok := folderAt(path)
	r := root{s.named(path), id}
	if !ok || slices.Contains(s.roots, r) {
		return
	}
	s.setRoot(r)
	s.file.Add(&rootLine{Root: r.path, RootBytes: rawBytes(r.path), folderID: id})
}

func (s *state) setRoot(r root) {
	s.roots = slices.DeleteFunc(s.roots, func(old root) bool { return old.path == r.path })
	s.roots = append(s.roots, r)
}

// stateLines calls use for the lines of a state file after the first. format is that of the file, 0 for an
// empty one.
func stateLines(r io.Reader, use func(text []byte, l *stateLine) error) (format int, err error) {
	b := bufio.NewScanner(r)
	b.Buffer(nil, jsonlines.MaxLine)
	for n := 1; b.Scan(); n++ {
		if n == 1 {
			var head struct {
				Format int `json:"cdfz_verify_state"`
			}
			if err := json.Unmarshal(b.Bytes(), &head); err != nil || head.Format < 1 {
				return 0, errors.New("line 1: expected the head of a state of cdfz verify")
			}
			if head.Format > stateFormat {
				return 0, fmt.Errorf("expected format %d, found %d: a state of a later version of cdfz", stateFormat, head.Format)
			}
			format = head.Format
			continue
		}
		line := new(stateLine)
		if err := json.Unmarshal(b.Bytes(), line); err != nil || line.Archive == "" {
			r := new(rootLine)
			if err := json.Unmarshal(b.Bytes(), r); err != nil || r.Root == "" {
				return format, fmt.Errorf("line %d: expected an archive and when it was proved, or a folder", n)
			}
			line = &stateLine{root: r}
		}
		if format < 2 { // its archives are due
			line.Proved = time.Time{}
		}
		if err := use(b.Bytes(), line); err != nil {
			return format, err
		}
	}
	return format, b.Err()
}

// read reads the lines of a file and returns their number, -1 for an empty file.
func (s *state) read(r io.Reader) (lines int, err error) {
	s.format, err = stateLines(r, func(_ []byte, l *stateLine) error {
		lines++
		s.use(l)
		return nil
	})
	if s.format == 0 && err == nil {
		return -1, nil
	}
	return lines, err
}

// use takes over a line.
func (s *state) use(l *stateLine) {
	switch {
	case l.root != nil:
		s.setRoot(root{l.root.name(), l.root.folderID})
	case l.Gone:
		delete(s.known, keyOf(l.name()))
	default:
		s.known[keyOf(l.name())] = l.proved(s.now)
	}
}

// compact replaces the file by one with the last line of each archive and folder, under their names after
// moves.
func (s *state) compact(moves []move) error {
	old, err := access.OfPath(s.name)
	if err != nil {
		return err
	}
	t, err := atomicfile.Create(s.name, &atomicfile.Options{Overwrite: true, Rights: (&access.Limits{Copy: old}).Set})
	if err != nil {
		return err
	}
	defer t.Close()
	w := bufio.NewWriter(t)
	fmt.Fprintf(w, "%s%d}\n", stateHead, stateFormat) // Flush returns the error
	written := map[stateKey]bool{}
	if _, err = stateLines(s.file.Reader(), func(_ []byte, l *stateLine) error {
		if l.root != nil {
			return nil
		}
		key := keyOf(l.name())
		if p, ok := s.known[key]; !ok || p != l.proved(s.now) || written[key] {
			return nil
		}
		written[key] = true
		for _, m := range moves {
			l.Archive = m.of(l.name())
			l.ArchiveBytes = rawBytes(l.Archive)
		}
		return writeLine(w, l)
	}); err != nil {
		return err
	}
	for _, r := range s.roots {
		for _, m := range moves {
			r.path = m.of(r.path)
		}
		if err := writeLine(w, &rootLine{r.path, rawBytes(r.path), r.id}); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return t.Commit()
}

func writeLine(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// last returns when an archive was last proved, in nanoseconds since 1970, or 0 if it is due: it has another
// identity now, or an unknown one.
func (s *state) last(archive string, id *identity) int64 {
	p := s.known[keyOf(archive)]
	if p.at == 0 || p.id != id.sum() {
		return 0
	}
	return p.at
}

// claim returns when an archive was last proved, in nanoseconds since 1970, if it has not changed. It is 0 if
// it is unknown.
func (s *state) claim(archive string) int64 { return s.known[keyOf(archive)].at }

// has reports whether the state has an archive.
func (s *state) has(key stateKey) bool {
	_, ok := s.known[key]
	return ok
}

// sha256 returns the SHA-256 of the netCDF file that an archive has to hold, or "".
func (s *state) sha256(archive string) string {
	if p := s.known[keyOf(archive)]; p.sha256 != ([32]byte{}) {
		return hex.EncodeToString(p.sha256[:])
	}
	return ""
}

// revoke notes that an archive has failed: that it was proved holds no longer, even if nobody has written
// to it since. What it has to hold stays.
func (s *state) revoke(archive string) {
	if s.known[keyOf(archive)].at != 0 {
		s.add(archive, &identity{}, s.sha256(archive), time.Time{})
	}
}

// add notes that an archive was proved. start is when the reading began.
func (s *state) add(archive string, id *identity, sha256 string, start time.Time) {
	l := &stateLine{Archive: archive, ArchiveBytes: rawBytes(archive), identity: *id, SHA256: sha256, Proved: start.UTC()}
	s.file.Add(l)
}

// forget notes that an archive was removed.
func (s *state) forget(archive string) {
	s.file.Add(&stateLine{Archive: archive, ArchiveBytes: rawBytes(archive), Gone: true})
}
