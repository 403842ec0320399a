// Package statefile has the file of cdfz verify --state: when which archive was last proved, how the archive is
// told from others, and what it has to hold.
//
//	{"cdfz_verify_state":2}
//	{"archive":"/data/x.nc.cdfz","size":…,"modified":"…",…,"sha256":"…","proved":"…"}
//	{"root":"/data","fs":"…","inode":…}
//
// Lines are added while verify runs. The last line of an archive or a folder holds. See package jsonlines.
package statefile

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

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/access"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/jsonlines"
	"github.com/cdfz-format/cdfz/remote"
)

// stateHead begins the first line of a state file: {"cdfz_verify_state":2}. The other lines are archives, and
// the folders that runs were given.
const stateHead = `{"cdfz_verify_state":`

// stateFormat is the version of the format. Version 1 knew of an archive its size and its time only, so that
// all of its archives are due. It has no folders.
const stateFormat = 2

// State is the open file: when was which archive last proved, and what it held. It is safe for
// concurrent use.
type State struct {
	name   string
	file   *jsonlines.File
	now    int64 // when it was opened: nothing can have been proved later; nanoseconds since 1970
	known  map[Key]proved
	roots  []root
	format int
	spelt  []Move // folders that the state has under other names
}

// Key is the start of the SHA-256 of the name of an archive.
type Key [16]byte

// KeyOf returns the key of the name of an archive.
func KeyOf(archive string) Key {
	s := sha256.Sum256([]byte(archive))
	return Key(s[:])
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

// Move tells that what was below a folder, or the URL of one, is below another one.
type Move struct{ From, To string }

// of returns the name that a file has after a move.
func (m Move) of(name string) string {
	if rest, ok := Below(name, m.From); ok {
		return Join(m.To, rest)
	}
	return name
}

// Below returns the path of a file below a folder, or below the URL of one, with slashes. It is "" for the
// folder itself.
func Below(name, folder string) (rel string, ok bool) {
	if name == folder {
		return "", true
	}
	if !remote.IsURL(folder) {
		rest, ok := strings.CutPrefix(name, strings.TrimSuffix(folder, string(filepath.Separator))+string(filepath.Separator))
		return filepath.ToSlash(rest), ok
	}
	return strings.CutPrefix(name, strings.TrimSuffix(folder, "/")+"/")
}

// Join returns the name of a file below a folder, or below the URL of one.
func Join(folder, rel string) string {
	switch {
	case rel == "":
		return folder
	case remote.IsURL(folder):
		return strings.TrimSuffix(folder, "/") + "/" + rel
	}
	return filepath.Join(folder, filepath.FromSlash(rel))
}

// entry is the JSON of an archive, or of a folder. Names are absolute paths or URLs.
type entry struct {
	Archive      string `json:"archive"`
	ArchiveBytes []byte `json:"archive_bytes,omitempty"` // Archive, if that is not UTF-8
	Identity
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

func (l *entry) name() string {
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
func (l *entry) proved(now int64) proved {
	l.object = remote.IsURL(l.Archive)
	p := proved{id: l.Identity.sum()}
	if sum, err := hex.DecodeString(l.SHA256); err == nil && len(sum) == len(p.sha256) {
		p.sha256 = [32]byte(sum)
	}
	start := time.Unix(0, 0)
	if p.id != (identitySum{}) && l.Proved.After(start) && !l.Proved.After(time.Unix(0, now)) && l.settledBefore(l.Proved.UnixNano()) {
		p.at = l.Proved.UnixNano()
	}
	return p
}

// Open opens a state file, or makes it. where are the folders and files of the run: if the state has them
// below other names, these are changed, or translated by [State.Named]. moves are those that the user tells.
//
// The file is replaced if names change, if it is of an earlier format, or if most of its lines are about
// archives that have later ones, too.
func Open(name string, where []string, moves ...Move) (*State, error) {
	for again := false; ; again = true {
		s, err := newState(name)
		if err != nil {
			return nil, err
		}
		lines, err := s.read(s.file.Reader())
		if err != nil {
			s.Close()
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
		if closeErr := s.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			return nil, err
		}
	}
}

// Close closes the file, and returns the first error of writing it.
func (s *State) Close() error { return s.file.Close() }

// Name returns the name of the file.
func (s *State) Name() string { return s.name }

func newState(name string) (*State, error) {
	s := &State{name: name, now: time.Now().UnixNano(), known: map[Key]proved{}}
	var err error
	s.file, err = jsonlines.Open(name, stateHead, "state of verify")
	return s, err
}

// look compares the folders that a run is given, and those above them, with those that the state knows. A
// folder that has another name now and is nowhere else was moved. One that has two names, as with a bind
// mount, keeps that in the state. Nothing is concluded for others: if another folder has the name, what is in
// the moved one is due.
func (s *State) look(where []string) (moves []Move) {
	for _, dir := range where {
		for ; !remote.IsURL(dir); dir = filepath.Dir(dir) {
			if from, id, ok := s.rootAt(dir); ok && from != dir {
				m := Move{from, dir}
				if there, ok := folderAt(from); ok && there == id {
					s.spelt = append(s.spelt, Move{dir, from})
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
func (s *State) rootAt(path string) (name string, id folderID, ok bool) {
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

// Named returns the name that a file, or a folder, has in the state.
func (s *State) Named(name string) string {
	for _, m := range s.spelt {
		if n := m.of(name); n != name {
			return n
		}
	}
	return name
}

// AddRoot notes a folder of the run.
func (s *State) AddRoot(path string) {
	id, ok := folderAt(path)
	r := root{s.Named(path), id}
	if !ok || slices.Contains(s.roots, r) {
		return
	}
	s.setRoot(r)
	s.file.Add(&rootLine{Root: r.path, RootBytes: rawBytes(r.path), folderID: id})
}

func (s *State) setRoot(r root) {
	s.roots = slices.DeleteFunc(s.roots, func(old root) bool { return old.path == r.path })
	s.roots = append(s.roots, r)
}

// readLines calls use for the lines of a state file after the first. format is that of the file, 0 for an
// empty one.
func readLines(r io.Reader, use func(text []byte, l *entry) error) (format int, err error) {
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
		line := new(entry)
		if err := json.Unmarshal(b.Bytes(), line); err != nil || line.Archive == "" {
			r := new(rootLine)
			if err := json.Unmarshal(b.Bytes(), r); err != nil || r.Root == "" {
				return format, fmt.Errorf("line %d: expected an archive and when it was proved, or a folder", n)
			}
			line = &entry{root: r}
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
func (s *State) read(r io.Reader) (lines int, err error) {
	s.format, err = readLines(r, func(_ []byte, l *entry) error {
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
func (s *State) use(l *entry) {
	switch {
	case l.root != nil:
		s.setRoot(root{l.root.name(), l.root.folderID})
	case l.Gone:
		delete(s.known, KeyOf(l.name()))
	default:
		s.known[KeyOf(l.name())] = l.proved(s.now)
	}
}

// compact replaces the file by one with the last line of each archive and folder, under their names after
// moves.
func (s *State) compact(moves []Move) error {
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
	written := map[Key]bool{}
	if _, err = readLines(s.file.Reader(), func(_ []byte, l *entry) error {
		if l.root != nil {
			return nil
		}
		key := KeyOf(l.name())
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

// Last returns when an archive was last proved, in nanoseconds since 1970, or 0 if it is due: it has another
// identity now, or an unknown one.
func (s *State) Last(archive string, id *Identity) int64 {
	p := s.known[KeyOf(archive)]
	if p.at == 0 || p.id != id.sum() {
		return 0
	}
	return p.at
}

// Claim returns when an archive was last proved, in nanoseconds since 1970, if it has not changed. It is 0 if
// it is unknown.
func (s *State) Claim(archive string) int64 { return s.known[KeyOf(archive)].at }

// Has reports whether the state has an archive.
func (s *State) Has(key Key) bool {
	_, ok := s.known[key]
	return ok
}

// Empty reports whether the state has no archive.
func (s *State) Empty() bool { return len(s.known) == 0 }

// Entries calls use for the archives in the file, once for each time that one was noted, in this order. proved is
// zero for an archive that has failed or was removed.
func (s *State) Entries(use func(archive, sha256 string, proved time.Time)) error {
	_, err := readLines(s.file.Reader(), func(_ []byte, l *entry) error {
		if l.root == nil {
			use(l.name(), l.SHA256, l.Proved)
		}
		return nil
	})
	return err
}

// SHA256 returns the SHA-256 of the netCDF file that an archive has to hold, or "".
func (s *State) SHA256(archive string) string {
	if p := s.known[KeyOf(archive)]; p.sha256 != ([32]byte{}) {
		return hex.EncodeToString(p.sha256[:])
	}
	return ""
}

// Revoke notes that an archive has failed: that it was proved holds no longer, even if nobody has written
// to it since. What it has to hold stays.
func (s *State) Revoke(archive string) {
	if s.known[KeyOf(archive)].at != 0 {
		s.Add(archive, &Identity{}, s.SHA256(archive), time.Time{})
	}
}

// Add notes that an archive was proved. start is when the reading began.
func (s *State) Add(archive string, id *Identity, sha256 string, start time.Time) {
	l := &entry{Archive: archive, ArchiveBytes: rawBytes(archive), Identity: *id, SHA256: sha256, Proved: start.UTC()}
	s.file.Add(l)
}

// Forget notes that an archive was removed.
func (s *State) Forget(archive string) {
	s.file.Add(&entry{Archive: archive, ArchiveBytes: rawBytes(archive), Gone: true})
}
