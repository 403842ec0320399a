package fileio

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stop"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/nofollow"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/urls"
	"github.com/cdfz-format/cdfz/remote"
)

var errTwice = terminal.Lasting(errors.New("another FILE of this command has the same target"))

// targets are the targets that a run has written or is writing. It is safe for concurrent
// use.
type targets struct {
	mu      sync.Mutex
	taken   map[placeSum]struct{}
	folders map[string]string // see place
	// The folder of -o DIR/ as it was at the first target: its last part that existed, and the
	// rest of its path.
	base *os.Root
	rest string
}

func newTargets() *targets {
	return &targets{taken: map[placeSum]struct{}{}, folders: map[string]string{}}
}

// keepFolders keeps folders of targets open until done is called.
func (t *targets) keepFolders() (done func()) {
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
func (t *targets) place(path string) string {
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
func (t *targets) sum(path string) placeSum {
	return sumOf(t.place(path))
}

func sumOf(place string) placeSum {
	s := sha256.Sum256([]byte(place))
	return placeSum(s[:])
}

// take reports whether a target is free, and takes it.
func (t *targets) take(path string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	sum := t.sum(path)
	if _, ok := t.taken[sum]; ok {
		return false
	}
	t.taken[sum] = struct{}{}
	return true
}

// Place returns a path that is the same for all paths to a target: it has no symbolic links to
// folders. The target may be missing.
func (a *IO) Place(path string) string {
	a.targets.mu.Lock()
	defer a.targets.mu.Unlock()
	return a.targets.place(path)
}

// Taken reports whether this run has written a target, or is writing it.
func (a *IO) Taken(path string) bool {
	a.targets.mu.Lock()
	defer a.targets.mu.Unlock()
	_, ok := a.targets.taken[a.targets.sum(path)]
	return ok
}

// Order returns a text that is the same for jobs that have the same target.
func (a *IO) Order(j File) string {
	if j.Place != "" {
		return j.Place
	}
	if a.Dest != "" {
		return j.Rel
	}
	if j.object {
		return j.Name
	}
	a.targets.mu.Lock()
	defer a.targets.mu.Unlock()
	return a.targets.place(LocalName(j.Name))
}

// free makes a target free that could not be written.
func (t *targets) free(path string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.taken, t.sum(path))
}

// IsDirDest reports whether -o names a folder.
func (a *IO) IsDirDest() bool {
	if a.Dest == "" || a.Dest == terminal.StdoutName {
		return false
	}
	if os.IsPathSeparator(a.Dest[len(a.Dest)-1]) {
		return true
	}
	if s3.IsURL(a.Dest) {
		return a.Dest[len(a.Dest)-1] == '/'
	}
	st, err := os.Stat(a.Dest)
	return err == nil && st.IsDir()
}

// CheckURLDest refuses URLs that the verb cannot write.
func (a *IO) CheckURLDest() error {
	switch {
	case a.ToObjects && !s3.IsURL(a.Dest) && (remote.IsURL(a.Dest) || otherScheme().MatchString(a.Dest)):
		return fmt.Errorf("%s: cannot write to a URL of this kind, expected s3 or gs", a.destName())
	case remote.IsURL(a.Dest) && !a.ToObjects:
		return fmt.Errorf("%s: cannot write to a URL", a.destName())
	}
	return nil
}

// CheckDest checks -o before anything is done.
func (a *IO) CheckDest(args []string) error {
	if err := a.stdNames(args); err != nil {
		return err
	}
	if err := a.CheckURLDest(); err != nil {
		return err
	}
	if i := slices.IndexFunc(args, s3.IsPrefix); i >= 0 && a.Dest == "" {
		return terminal.Hinted(fmt.Errorf("%s: the targets of its objects have no place", terminal.ShowName(args[i])), "%sDIR%c names it", a.destFlag(), filepath.Separator)
	}
	switch {
	case a.Dest == "" && len(args) == 1 && args[0] == terminal.StdinName:
		a.Dest = terminal.StdoutName
	case a.Dest == "" || a.IsDirDest():
		if end := len(a.Dest) - 1; end >= 0 && !os.IsPathSeparator(a.Dest[end]) {
			a.Dest += string(filepath.Separator) // it stays a folder, even if it is removed meanwhile
		}
		return a.CheckDirDest(args)
	}
	if a.Select.From != "" {
		return terminal.Hinted(fmt.Errorf("%s: one target for the files of a list", a.destName()), "%sDIR%c puts the targets into a folder", a.destFlag(), filepath.Separator)
	}
	if len(args) > 1 {
		return terminal.Hinted(fmt.Errorf("%s: one target for %d files", a.destName(), len(args)), "%sDIR%c puts the targets into a folder", a.destFlag(), filepath.Separator)
	}
	if st, err := os.Stat(args[0]); err == nil && st.IsDir() && args[0] != terminal.StdinName || s3.IsPrefix(args[0]) {
		return terminal.Hinted(fmt.Errorf("%s: one target for the folder %s", a.destName(), terminal.ShowName(args[0])), "%sDIR%c puts the targets into a folder", a.destFlag(), filepath.Separator)
	}
	return a.checkStdout()
}

// CheckDestOfAll checks the -o of a verb that makes one target of all FILEs.
func (a *IO) CheckDestOfAll() error {
	if err := a.stdNames(nil); err != nil {
		return err
	}
	if err := a.CheckURLDest(); err != nil {
		return err
	}
	if a.IsDirDest() {
		return fmt.Errorf("%s: expected the name of a file, found a folder", a.destName())
	}
	return a.checkStdout()
}

// checkStdout checks a target that may be standard output.
func (a *IO) checkStdout() error {
	if a.Dest != terminal.StdoutName {
		return nil
	}
	if a.JSON {
		return errors.New("--json: the report cannot go to standard output together with the data")
	}
	return a.checkBinary()
}

// checkBinary refuses to write binary data to a terminal.
func (a *IO) checkBinary() error {
	if a.Dest == terminal.StdoutName && terminal.IsTerminal(a.Out) {
		return terminal.Hinted(errors.New("will not write binary data to a terminal"), "use -o FILE or a pipe")
	}
	return nil
}

// CheckDirDest checks -o if it is a folder or missing.
func (a *IO) CheckDirDest(args []string) error {
	if err := named(args); err != nil {
		return err
	}
	if a.Dest == "" {
		return nil
	}
	if s3.IsURL(a.Dest) {
		return nil // stores have no folders
	}
	st, err := os.Stat(a.Dest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // the first target makes it
	case err != nil:
		return fmt.Errorf("%s: %w", a.destName(), atomicfile.Cause(err))
	case !st.IsDir():
		return fmt.Errorf("%s: not a folder", a.destName())
	}
	return nil
}

// TargetPath returns the path for the result of a job. rename changes the ending of a
// path.
func (a *IO) TargetPath(j File, rename func(string) (string, error)) (string, error) {
	switch {
	case a.Dest == "":
		return rename(j.LocalName())
	case a.IsDirDest():
		rel, err := rename(j.Rel)
		return urls.Below(a.Dest, filepath.ToSlash(rel)), err
	}
	return a.Dest, nil
}

// Target is the file of a target that is being written.
type Target interface {
	io.Writer
	io.ReaderAt
	io.WriterAt
}

// WriteTo makes the target of a FILE, a file or an object: write fills it, and it appears unless write returns an error.
// proved tells that write compares it with its source. size is the expected number of bytes, 0 if unknown.
func (a *IO) WriteTo(ctx context.Context, path string, src *Input, size int64, proved bool, write func(Target) error) error {
	if err := a.prepare(path, src); err != nil {
		return err
	}
	err := a.fill(ctx, path, src, size, proved, write)
	if err != nil {
		a.targets.free(path)
	}
	return a.targetHint(err, path)
}

// fill is WriteTo for a target that is taken.
func (a *IO) fill(ctx context.Context, path string, src *Input, size int64, proved bool, write func(Target) error) error {
	g := a.guard(path, src)
	g.unproved = func() bool { return !proved }
	if s3.IsURL(path) {
		t, err := atomicfile.Temp()
		if err != nil {
			return err
		}
		defer t.Close()
		if err := a.filled(ctx, t, write); err != nil {
			return err
		}
		st, err := t.Stat()
		if err != nil {
			return err
		}
		return g.upload(ctx, t, st.Size())
	}
	o := &atomicfile.Options{
		Overwrite: a.Force, MakeDirs: a.IsDirDest(), Source: src.Stat, Size: size, Together: a.Written != nil, MayReplace: g.file(ctx),
	}
	t, err := a.open(path, src, o)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := a.filled(ctx, t, write); err != nil {
		return err
	}
	return a.Commit(t)
}

// filled calls write. What remains needs neither processor nor memory.
func (a *IO) filled(ctx context.Context, t Target, write func(Target) error) error {
	err := write(t)
	if err == nil {
		err = ctx.Err()
	}
	if err == nil && a.Written != nil {
		a.Written()
	}
	return err
}

// root returns the open folder that a target is below, and its path there: the folder of -o
// DIR/, or that of a source below a folder. It returns nil for others, whose folder the user
// named. src may be nil.
func (a *IO) root(path string, src *Input) (root *os.Root, rel string, err error) {
	switch {
	case s3.IsURL(path):
		return nil, "", nil
	case a.IsDirDest():
		return a.targets.below(filepath.Clean(a.Dest), path)
	case a.Dest == "" && src != nil && src.in != nil && filepath.Dir(path) == filepath.Dir(src.Name):
		return src.in, filepath.Base(path), nil
	}
	return nil, "", nil
}

// TargetFolder opens the folder of the target of a FILE. The caller must close it.
func (a *IO) TargetFolder(path string, src *Input) (*os.Root, error) {
	root, rel, err := a.root(path, src)
	switch {
	case err != nil:
		return nil, err
	case root != nil:
		return nofollow.Folder(root, filepath.Dir(rel))
	}
	return openFolder(path)
}

// openFolder opens the folder of a path.
func openFolder(path string) (*os.Root, error) {
	dir, _ := filepath.Split(path) // not Dir, which takes "link/../x" for "x"
	if dir == "" {
		dir = "."
	}
	return os.OpenRoot(dir)
}

// below is root for a folder of targets.
func (t *targets) below(dest, path string) (*os.Root, string, error) {
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

// prepare takes a target, unless it is the source, or this run has used it before or is
// writing it: two files may have one target even if they are worked on at the same time. src
// may be nil. Sources that are files are compared when the target is made.
func (a *IO) prepare(path string, src *Input) error {
	if s3.IsURL(path) && a.isSource(path, src) {
		return fmt.Errorf("%s: the target is the source", terminal.ShowName(path))
	}
	stop.Catch()
	if !a.targets.take(path) {
		return fmt.Errorf("%s: %w", path, errTwice)
	}
	return nil
}

// Create starts the target of a FILE. src may be nil.
func (a *IO) Create(ctx context.Context, path string, src *Input) (*atomicfile.File, error) {
	o := &atomicfile.Options{Overwrite: a.Force, MakeDirs: a.IsDirDest()}
	if src != nil {
		o.Source = src.Stat
	}
	o.MayReplace = a.guard(path, src).file(ctx)
	return a.create(path, src, o)
}

// CreateCopy starts a file that will hold the image of an intact archive. Without -o it replaces
// the archive.
func (a *IO) CreateCopy(ctx context.Context, path string, src *Input) (*atomicfile.File, error) {
	o := &atomicfile.Options{Overwrite: a.Force || a.Dest == "", MakeDirs: a.IsDirDest(), Source: src.Stat, Replace: a.Dest == ""}
	g := a.guard(path, src)
	g.unproved, g.own = func() bool { return false }, a.Dest == ""
	o.MayReplace = g.file(ctx)
	return a.create(path, src, o)
}

func (a *IO) create(path string, src *Input, o *atomicfile.Options) (*atomicfile.File, error) {
	if err := a.prepare(path, nil); err != nil {
		return nil, err
	}
	t, err := a.open(path, src, o)
	if err != nil {
		a.targets.free(path)
		return nil, a.targetHint(err, path)
	}
	return t, nil
}

// open starts a file for a target that is taken.
func (a *IO) open(path string, src *Input, o *atomicfile.Options) (t *atomicfile.File, err error) {
	if o.Root, o.Rel, err = a.root(path, src); err != nil {
		return nil, err
	}
	o.Rights, o.FolderRights = a.rights(path, src, o.Rel)
	return atomicfile.Create(path, o)
}

// Commit makes a target appear.
func (a *IO) Commit(t *atomicfile.File) error {
	if err := t.Commit(); err != nil {
		return a.targetHint(err, t.Path())
	}
	if left := t.Leftover(); left != "" {
		a.Message("warning: %s: the temporary name %s cannot be removed", t.Path(), left)
	}
	return nil
}

// overwriteHint is the advice for a target that exists.
func (a *IO) overwriteHint() string {
	if a.Overwrites != nil {
		return "-f overwrites it if it is " + a.Overwrites.Name
	}
	return "-f overwrites it, but no archive or netCDF file that holds something else"
}

// targetHint adds advice to an error of a target.
func (a *IO) targetHint(err error, path string) error {
	switch {
	case errors.Is(err, atomicfile.ErrExists):
		return terminal.Hinted(err, "%s", a.overwriteHint())
	case errors.Is(err, atomicfile.ErrFolder):
		return terminal.Hinted(err, "%s%s%c puts the target in it", a.destFlag(), path, filepath.Separator)
	case errors.Is(err, atomicfile.ErrNotRegular):
		return terminal.Hinted(err, "%s- writes to standard output", a.destFlag())
	}
	return err
}
