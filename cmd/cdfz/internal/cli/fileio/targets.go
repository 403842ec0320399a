package fileio

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stop"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/nofollow"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/urls"
)

// Targets are the targets of a run. They are safe for concurrent use.
type Targets struct {
	// OfMembers is set by verbs that make a target of each member of a volume, before Check.
	OfMembers bool

	in    *Inputs
	dest  *Dest
	rules *protect.Rules
	sel   *Selection
	taken *taken
}

// NewTargets returns the targets of a run that reads in.
func NewTargets(in *Inputs, rules *protect.Rules, sel *Selection) *Targets {
	return &Targets{in: in, dest: in.dest, rules: rules, sel: sel, taken: newTaken()}
}

// Check checks -o before anything is done.
func (t *Targets) Check(args []string) error {
	if err := t.dest.stdNames(args); err != nil {
		return err
	}
	if err := t.dest.CheckURL(); err != nil {
		return err
	}
	if i := slices.IndexFunc(args, s3.IsPrefix); i >= 0 && t.dest.Name == "" && !t.dest.Beside {
		return terminal.Hinted(fmt.Errorf("%s: the targets of its objects have no place", terminal.ShowName(args[i])), "%sDIR%c names it", t.dest.flag(), filepath.Separator)
	}
	switch {
	case t.dest.Name == "" && len(args) == 1 && args[0] == terminal.StdinName:
		t.dest.Name = terminal.StdoutName
	case t.dest.Name == "" || t.dest.IsDir():
		if end := len(t.dest.Name) - 1; end >= 0 && !os.IsPathSeparator(t.dest.Name[end]) {
			t.dest.Name += string(filepath.Separator) // it stays a folder, even if it is removed meanwhile
		}
		return t.CheckDir(args)
	}
	if t.sel.From != "" {
		return terminal.Hinted(fmt.Errorf("%s: one target for the files of a list", t.dest.show()), "%sDIR%c puts the targets into a folder", t.dest.flag(), filepath.Separator)
	}
	if len(args) > 1 {
		return terminal.Hinted(fmt.Errorf("%s: one target for %d files", t.dest.show(), len(args)), "%sDIR%c puts the targets into a folder", t.dest.flag(), filepath.Separator)
	}
	if t.ofSeveral(args[0]) {
		return terminal.Hinted(fmt.Errorf("%s: one target for the folder %s", t.dest.show(), terminal.ShowName(args[0])), "%sDIR%c puts the targets into a folder", t.dest.flag(), filepath.Separator)
	}
	return t.checkStdout()
}

// ofSeveral reports whether a FILE has several targets. A folder has, and so has a volume if each member gets one.
func (t *Targets) ofSeveral(name string) bool {
	if s3.IsPrefix(name) {
		return true
	}
	st, err := os.Stat(name)
	return err == nil && name != terminal.StdinName && (st.IsDir() || t.OfMembers && filepath.Ext(name) == volume.Suffix && isVolumeFile(name))
}

// CheckOfAll checks the -o of a verb that makes one target of all FILEs.
func (t *Targets) CheckOfAll() error {
	if err := t.CheckDest(); err != nil {
		return err
	}
	if t.dest.IsDir() {
		return fmt.Errorf("%s: expected the name of a file, found a folder", t.dest.show())
	}
	return nil
}

// CheckDest checks the -o of a verb that makes one target of all FILEs, or several in a folder.
func (t *Targets) CheckDest() error {
	if err := t.dest.stdNames(nil); err != nil {
		return err
	}
	if err := t.dest.CheckURL(); err != nil {
		return err
	}
	return t.checkStdout()
}

// checkStdout checks a target that may be standard output.
func (t *Targets) checkStdout() error {
	if !t.dest.IsStdout() {
		return nil
	}
	if t.in.term.JSON {
		return errors.New("--json: the report cannot go to standard output together with the data")
	}
	return t.checkBinary()
}

// checkBinary refuses to write binary data to a terminal.
func (t *Targets) checkBinary() error {
	if t.dest.IsStdout() && terminal.IsTerminal(t.in.term.Out) {
		return terminal.Hinted(errors.New("will not write binary data to a terminal"), "use -o FILE or a pipe")
	}
	return nil
}

// CheckDir checks -o if it is a folder or missing.
func (t *Targets) CheckDir(args []string) error {
	if err := named(args); err != nil {
		return err
	}
	if t.dest.Name == "" {
		return nil
	}
	if s3.IsURL(t.dest.Name) {
		return nil // stores have no folders
	}
	st, err := os.Stat(t.dest.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // the first target makes it
	case err != nil && isVolumeFile(t.dest.Name):
		return terminal.Hinted(fmt.Errorf("%s: is a volume, which is never changed", t.dest.show()), "archive --pack SIZE and pack add volumes to the folder that has it")
	case err != nil:
		return fmt.Errorf("%s: %w", t.dest.show(), atomicfile.Cause(err))
	case !st.IsDir():
		return fmt.Errorf("%s: not a folder", t.dest.show())
	}
	return nil
}

// PathOf returns the path for the result of a job. rename changes the ending of a
// path.
func (t *Targets) PathOf(j File, rename func(string) (string, error)) (string, error) {
	switch {
	case t.dest.Name == "":
		return rename(j.LocalName())
	case t.dest.IsDir() && j.At != "":
		return urls.Below(t.dest.Name, j.At), nil
	case t.dest.IsDir():
		rel, err := rename(j.Rel)
		return urls.Below(t.dest.Name, filepath.ToSlash(rel)), err
	}
	return t.dest.Name, nil
}

// Place returns a path that is the same for all paths to a target: it has no symbolic links to
// folders. The target may be missing.
func (t *Targets) Place(path string) string {
	t.taken.mu.Lock()
	defer t.taken.mu.Unlock()
	return t.taken.place(path)
}

// Taken reports whether this run has written a target, or is writing it.
func (t *Targets) Taken(path string) bool {
	t.taken.mu.Lock()
	defer t.taken.mu.Unlock()
	_, ok := t.taken.sums[t.taken.sum(path)]
	return ok
}

// Order returns a text that is the same for jobs that have the same target.
func (t *Targets) Order(j File) string {
	if j.Place != "" {
		return j.Place
	}
	if t.dest.Name != "" {
		return j.Rel
	}
	if j.object {
		return j.Name
	}
	t.taken.mu.Lock()
	defer t.taken.mu.Unlock()
	return t.taken.place(LocalName(j.Name))
}

// root returns the open folder that a target is below, and its path there: the folder of -o
// DIR/, or that of a source below a folder. It returns nil for others, whose folder the user
// named. src may be nil.
func (t *Targets) root(path string, src *Input) (root *os.Root, rel string, err error) {
	switch {
	case s3.IsURL(path):
		return nil, "", nil
	case t.dest.IsDir():
		return t.taken.below(filepath.Clean(t.dest.Name), path)
	case t.dest.Name == "" && src != nil && src.in != nil && filepath.Dir(path) == filepath.Dir(src.Name):
		return src.in, filepath.Base(path), nil
	}
	return nil, "", nil
}

// Folder opens the folder of the target of a FILE. The caller must close it.
func (t *Targets) Folder(path string, src *Input) (*os.Root, error) {
	root, rel, err := t.root(path, src)
	switch {
	case err != nil:
		return nil, err
	case root != nil:
		return nofollow.Folder(root, filepath.Dir(rel))
	}
	return openFolder(path)
}

// Scratch is a file that has no name, for what is made before it goes into a target.
type Scratch interface {
	Rewritable
	io.Closer
}

// Scratch makes a file for about size bytes: a large one where the targets are, since temporary files may be in memory.
func (t *Targets) Scratch(size int64) (Scratch, error) {
	const large = 8 << 20
	if size < large || s3.IsURL(t.dest.Name) || !t.dest.IsDir() {
		return atomicfile.Temp()
	}
	path := filepath.Join(t.dest.Name, ".cdfz-scratch")
	o := &atomicfile.Options{MakeDirs: true, Size: size}
	var err error
	if o.Root, o.Rel, err = t.root(path, nil); err != nil {
		return nil, err
	}
	return atomicfile.Create(path, o)
}

// prepare takes a target, unless it is the source, or this run has used it before or is
// writing it: two files may have one target even if they are worked on at the same time. src
// may be nil. Sources that are files are compared when the target is made.
func (t *Targets) prepare(path string, src *Input) error {
	if s3.IsURL(path) && t.in.isSource(path, src) {
		return fmt.Errorf("%s: the target is the source", terminal.ShowName(path))
	}
	stop.Catch()
	if !t.taken.take(path) {
		return fmt.Errorf("%s: %w", path, errTwice)
	}
	return nil
}

var errTwice = terminal.Lasting(errors.New("another FILE of this command has the same target"))

// taken are the targets that a run has written or is writing. It is safe for concurrent
// use.
type taken struct {
	mu      sync.Mutex
	sums    map[placeSum]struct{}
	folders map[string]string // see place
	// The folder of -o DIR/ as it was at the first target: its last part that existed, and the
	// rest of its path.
	base *os.Root
	rest string
}

func newTaken() *taken {
	return &taken{sums: map[placeSum]struct{}{}, folders: map[string]string{}}
}

// keepFolders keeps folders of targets open until done is called.
func (t *taken) keepFolders() (done func()) {
	let := atomicfile.KeepFolders()
	return func() {
		let()
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.base != nil {
			t.base.Close()
			t.base = nil
		}
	}
}

// place returns a path that is the same for all paths to a target: two FILE arguments may lead
// to one folder. t.mu must be locked.
func (t *taken) place(path string) string {
	dir, base := filepath.Split(path)
	real, ok := t.folders[dir]
	if !ok {
		real = realFolder(dir)
		t.folders[dir] = real
	}
	return filepath.Join(real, base)
}

// realFolder returns the absolute path of a folder without symbolic links. Its last folders may be
// missing.
func realFolder(dir string) string {
	if dir == "" {
		dir = "."
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // before Abs, which takes "link/.." for "."
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	for d, rest := dir, ""; ; d, rest = filepath.Dir(d), filepath.Join(filepath.Base(d), rest) {
		if real, err := filepath.EvalSymlinks(d); err == nil {
			return filepath.Join(real, rest)
		}
		if d == filepath.Dir(d) {
			return dir
		}
	}
}

// placeSum is the start of the SHA-256 of a place: a run over many files has to remember them all.
type placeSum [16]byte

// sum returns the placeSum of a path. t.mu must be locked.
func (t *taken) sum(path string) placeSum {
	return sumOf(t.place(path))
}

func sumOf(place string) placeSum {
	s := sha256.Sum256([]byte(place))
	return placeSum(s[:])
}

// take reports whether a target is free, and takes it.
func (t *taken) take(path string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := t.sum(path)
	if _, ok := t.sums[sum]; ok {
		return false
	}
	t.sums[sum] = struct{}{}
	return true
}

// free makes a target free that could not be written.
func (t *taken) free(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.sums, t.sum(path))
}

// below is root for a folder of targets.
func (t *taken) below(dest, path string) (*os.Root, string, error) {
	rel, err := filepath.Rel(dest, path)
	if err != nil || !filepath.IsLocal(rel) {
		return nil, "", nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.base == nil {
		base, rest, err := atomicfile.OpenBase(dest)
		if errors.Is(err, fs.ErrPermission) {
			return nil, "", nil // it cannot be read, but perhaps written
		}
		if err != nil {
			return nil, "", &atomicfile.FolderError{Dir: dest, Err: atomicfile.Cause(err)}
		}
		t.base, t.rest = base, rest
	}
	return t.base, filepath.Join(t.rest, rel), nil
}

// openFolder opens the folder of a path.
func openFolder(path string) (*os.Root, error) {
	dir, _ := filepath.Split(path) // not Dir, which takes "link/../x" for "x"
	if dir == "" {
		dir = "."
	}
	return os.OpenRoot(dir)
}

// overwriteHint is the advice for a target that exists.
func (t *Targets) overwriteHint() string {
	if t.rules.Overwrites != nil {
		return "-f overwrites it if it is " + t.rules.Overwrites.Name
	}
	return "-f overwrites it, but no archive or netCDF file that holds something else"
}

// Hinted adds advice to an error of a target.
func (t *Targets) Hinted(err error, path string) error {
	switch {
	case errors.Is(err, atomicfile.ErrExists):
		return terminal.Hinted(err, "%s", t.overwriteHint())
	case errors.Is(err, atomicfile.ErrFolder):
		return terminal.Hinted(err, "%s%s%c puts the target in it", t.dest.flag(), path, filepath.Separator)
	case errors.Is(err, atomicfile.ErrNotRegular):
		return terminal.Hinted(err, "%s- writes to standard output", t.dest.flag())
	}
	return err
}
