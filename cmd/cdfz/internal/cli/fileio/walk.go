package fileio

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/remote"
)

// Suffix is the ending of archive names, after the name of the image.
const Suffix = ".cdfz"

// File is a file of a command line.
type File struct {
	Name string // name to open
	Rel  string // path of the target below -o DIR/, before its ending changes
	Size int64  // bytes, 0 if unknown
	N    int    // number of the FILE argument that it is or is below
	tree *tree  // that it is below, nil for none
	// volume is the volume in which it is the member of a path, nil for none.
	volume *File
	member string
	states *membersOf // the volume with its neighbours, nil if a run has found no others
	err    error      // it cannot be opened
	skip   string     // the reason to skip it

	object bool // it is below a prefix, and Rel is its key after that
	empty  bool // it is an object without bytes
	noPath bool // Rel is not the path of a file

	// At is the path of the target below -o DIR/, with slashes, if it is not made from Rel.
	At string
	// Plain is set for a file that is kept as it is, below a folder that is kept whole.
	Plain bool

	Modified time.Time // when it was found, zero if unknown
	ETag     string    // of an object when it was found, "" if unknown
	SHA256   string    // of a member, as its volume has it; "" if unknown. Finder.Checks compares that
	Place    string    // of the target, if known: see Targets.Place
}

// List lists the files of a command line.
type List struct {
	Files   []File
	Folders bool     // there was a folder or a list
	skipped int64    // number of skipped files below folders, and of excluded folders
	kinds   Kinds    // of them
	links   []string // symbolic links among them that lead to something
	trees   []*tree
	later   *later // the rest of the files, nil for none
	at      int    // number of files that Next has returned
	done    func() // closes the folders of targets
}

// NewList returns a list of files that are named themselves.
func NewList(files []File) List { return List{Files: files, Folders: true, done: func() {}} }

// symbolicLink is the reason to skip one.
const symbolicLink = "symbolic link"

// alreadyArchive is the reason of archive to skip one.
const alreadyArchive = "already an archive"

// Dangling returns the symbolic links below the folders that lead nowhere since the files were
// listed.
func (f *List) Dangling() []string {
	var names []string
	for _, name := range f.links {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			names = append(names, name)
		}
	}
	return names
}

// Close closes the folders.
func (f *List) Close() {
	f.done()
	for _, t := range f.trees {
		t.close()
	}
	if f.later != nil {
		f.later.close()
	}
}

// Sizes returns the sizes of the files.
func (f *List) Sizes() []int64 {
	sizes := make([]int64, len(f.Files))
	for i := range f.Files {
		sizes[i] = f.Files[i].Size
	}
	return sizes
}

// OpenFolders returns the number of folders that stay open.
func (f *List) OpenFolders() int { return len(f.trees) }

// Skipped is the JSON of a skipped file below a folder.
type Skipped struct {
	File   string `json:"file"`
	Reason string `json:"skipped"`
}

// Pred decides about a file below a folder. It returns "" to process it, or the reason
// to skip it.
type Pred func(e Entry) (reason string, err error)

// StripSuffix returns the name of the image that an archive is named after.
func StripSuffix(name string) (string, error) {
	base := filepath.Base(name)
	if s := strings.TrimSuffix(base, Suffix); s != base && s != "" {
		return strings.TrimSuffix(name, Suffix), nil
	}
	return "", terminal.Hinted(terminal.Lasting(errors.New("the name does not end in "+Suffix)), "-o OUT names the target")
}

// SourceDir returns the folder that names in warnings of mount and serve are relative to.
func SourceDir(src string) string {
	if st, err := os.Stat(src); err == nil && !st.IsDir() {
		return filepath.Dir(src)
	}
	return src
}

// Archives selects files by the name of an archive, not by their bytes, which may be
// damaged.
func Archives(e Entry) (string, error) {
	if _, err := StripSuffix(e.Name); err != nil {
		return "not named *" + Suffix, nil
	}
	return "", nil
}

// Classic selects files that begin like a classic netCDF file.
func Classic(e Entry) (string, error) {
	f, err := e.Open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	k, err := sniff(f)
	switch {
	case err != nil:
		return "", err
	case k == kindClassic:
		return "", nil
	case k == kindArchive:
		return alreadyArchive, nil
	}
	return string(k), nil
}

// IsClassic reports whether a file begins like a classic netCDF file.
func (n *Inputs) IsClassic(ctx context.Context, j File) bool {
	in, err := n.OpenFile(ctx, j)
	if err != nil {
		return false
	}
	defer in.Close()
	k, err := sniff(in.R)
	return err == nil && k == kindClassic
}

// Finder finds the files of a command line.
type Finder struct {
	// TakesBack is set by verbs that delete files: what a killed run was deleting gets its name
	// again in the folders that are walked.
	TakesBack bool
	// NoVolumes is set by verbs that take volumes for files like others.
	NoVolumes bool
	// Checks compares the headers of volumes with their indexes, and files in them with their sums.
	Checks bool
	// Current leaves out members of volumes of which a later volume in the same folder has another state.
	Current bool
	// AsOf, if not zero, leaves out volumes that were packed later.
	AsOf time.Time

	sel     *Selection
	targets *Targets
	term    *terminal.Terminal
	begun   map[string]*s3.Listing // of prefixes that were looked at
}

// NewFinder returns a Finder for a run with these targets.
func NewFinder(targets *Targets) *Finder {
	return &Finder{sel: targets.sel, targets: targets, term: targets.in.term}
}

// Find lists the files of a command line: FILE arguments and, for folders, the files
// below them that pred selects. Symbolic links below folders are not followed. Skipped
// files are reported with -v and --json. With --files-from, the files are those of the list. Lists, and
// prefixes of stores, are read later: see [List.Next]. The caller must close the result.
func (f *Finder) Find(ctx context.Context, args []string, pred Pred, failed func(name string, err error)) (out List) {
	out = List{done: f.targets.taken.keepFolders()}
	if f.sel.From != "" {
		out.Folders = true
		l, err := f.openList(args)
		if err != nil {
			failed(terminal.ShowName(f.sel.From), err)
			return out
		}
		out.add(f, l)
		if l.tree != nil {
			out.trees = append(out.trees, l.tree)
		}
		return out
	}
	defer func() {
		if len(args) > 1 && !f.sel.Repeats {
			out.Files = f.once(out.Files)
		}
	}()
	for n, arg := range args {
		if f.term.Stopped(ctx) {
			break
		}
		if s3.IsPrefix(arg) {
			out.Folders = true
			out.add(f, f.openPrefix(ctx, arg, n, pred))
			continue
		}
		st, err := os.Stat(arg)
		if err != nil || !st.IsDir() || arg == terminal.StdinName {
			j := File{Name: arg, Rel: BaseName(arg), N: n}
			if err == nil {
				j.Size, j.Modified = st.Size(), st.ModTime()
			}
			if f.IsVolume(ctx, j) {
				out.Folders = true
				f.addVolumes(ctx, []File{j}, "", true, pred, failed, &out)
				continue
			}
			if f.sel.takes(j.Rel) {
				out.Files = append(out.Files, j)
			}
			continue
		}
		out.Folders = true
		t, err := openTree(arg)
		if err != nil {
			failed(t.path, err)
			continue
		}
		f.walk(ctx, t, ".", n, pred, failed, &out)
		if len(out.trees) < keptOpen {
			out.trees = append(out.trees, t)
		} else {
			t.close()
		}
	}
	return out
}

// once leaves out files that the command line names again, such as a folder and a file in it, if the results
// have the same place.
func (f *Finder) once(jobs []File) []File {
	seen := make(map[placeSum]bool, len(jobs))
	f.targets.taken.mu.Lock()
	defer f.targets.taken.mu.Unlock()
	return slices.DeleteFunc(jobs, func(j File) bool {
		if j.Name == terminal.StdinName || remote.IsURL(j.Name) {
			return false
		}
		key := f.targets.taken.place(j.Name)
		if f.targets.dest.Name != "" {
			key += "\x00" + j.Rel
		}
		sum := sumOf(key)
		again := seen[sum]
		seen[sum] = true
		return again
	})
}

// walk lists the files below a folder of a tree. A folder that no run can list, as without permission, is a
// failure of one shard, that of its path. All other errors are failures of every shard, since another one
// may have them alone, on its computer. So is that of the tree itself: it may not be mounted there.
func (f *Finder) walk(ctx context.Context, t *tree, rel string, n int, pred Pred, failed func(name string, err error), out *List) {
	list, err := t.list(rel, pred, f.sel, f.TakesBack, func() bool { return ctx.Err() != nil })
	if err != nil {
		if s := f.sel.Shard; rel != "." && terminal.IsLasting(err) && !s.Takes(filepath.ToSlash(rel)) {
			out.count("of other shards")
			f.skip(t.name(rel), fmt.Sprintf("%s; shard %s reports it", terminal.PlainText(err, t.name(rel)), s.Of(filepath.ToSlash(rel))))
			return
		}
		failed(t.name(rel), err)
		return
	}
	var volumes []File
	defer func() { f.addVolumes(ctx, volumes, rel, false, pred, failed, out) }()
	for _, is := range list {
		name := t.name(is.rel)
		if is.volume {
			if j := (File{Name: name, Rel: is.rel, Size: is.size, N: n, tree: t}); f.IsVolume(ctx, j) {
				volumes = append(volumes, j)
				continue
			}
		}
		switch {
		case ctx.Err() != nil:
			return
		case is.others:
		case is.folder && is.reason == "":
			f.walk(ctx, t, is.rel, n, pred, failed, out)
		case errors.Is(is.err, fs.ErrNotExist): // another program has removed it since
		case is.err != nil:
			failed(name, is.err)
		case is.reason != "":
			out.count(is.reason)
			f.skip(name, is.reason)
			if is.reason == symbolicLink {
				if _, err := os.Stat(name); err == nil {
					out.links = append(out.links, name)
				}
			}
		default:
			out.Files = append(out.Files, File{Name: name, Rel: is.rel, Size: is.size, Modified: is.modified, N: n, tree: t})
		}
	}
}

// notAFile returns the reason to skip anything but a file with data. It has the given name now.
func notAFile(d fs.DirEntry, name string) string {
	switch t := d.Type(); {
	case t&fs.ModeSymlink != 0:
		return symbolicLink
	case t&fs.ModeNamedPipe != 0:
		return "FIFO"
	case t&fs.ModeSocket != 0:
		return "socket"
	case !t.IsRegular():
		return "device"
	case atomicfile.IsTemporary(name):
		return "temporary file of cdfz"
	case atomicfile.IsAside(name):
		return "source that cdfz archive --delete-source was deleting"
	}
	return ""
}

// skip reports a skipped file.
func (f *Finder) skip(name, reason string) {
	switch {
	case f.term.JSON:
		f.term.Emit(Skipped{name, reason})
	case f.term.Verbose:
		f.term.Report("%s: skipped: %s", name, reason)
	}
}

// SummaryTail returns the end of a summary: failed and skipped files, and whether the run was interrupted.
func (f *List) SummaryTail(ctx context.Context, failed int64) string {
	s := ""
	if ctx.Err() != nil {
		s += "; interrupted"
	}
	if failed > 0 {
		s += fmt.Sprintf("; %d failed", failed)
	}
	if n := f.Skipped(); n > 0 {
		s += fmt.Sprintf("; %d skipped", n)
	}
	return s
}
