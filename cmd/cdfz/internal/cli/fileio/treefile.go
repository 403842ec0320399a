package fileio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stop"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/internal/access"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/nofollow"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/urls"
	"github.com/cdfz-format/cdfz/internal/xattr"
	"github.com/cdfz-format/cdfz/remote"
)

// TreePath returns the path or the URL of the tree file of a folder.
func TreePath(folder string) string { return urls.Below(folder, treefile.Name) }

// ReadTree reads the tree file of a folder or a prefix. It returns nil if there is none.
func ReadTree(ctx context.Context, folder string) (*treefile.Tree, error) {
	path := TreePath(folder)
	var r io.Reader
	if remote.IsURL(folder) {
		f, err := remote.Open(ctx, path, nil)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = io.NewSectionReader(ioat.Bind(ctx, f), 0, f.Size())
	} else {
		in, err := OpenRegular(path, os.O_RDONLY)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, atomicfile.Cause(err))
		}
		defer in.Close()
		r = in.File
	}
	return readTree(r, path)
}

func readTree(r io.Reader, path string) (*treefile.Tree, error) {
	t, err := treefile.Read(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", terminal.ShowName(path), err)
	}
	return t, nil
}

// updates is how often a tree file is written again that other runs change at the same time.
const updates = 1000

// UpdateTree replaces the tree file of the folder of targets by what update makes of it, and returns the new tree once it is
// on disk. The file is written whole, and only if no other run has written it meanwhile. Otherwise update is called again.
// old is nil if there is no file. rights are those of the file.
func (t *Targets) UpdateTree(ctx context.Context, rights func(*os.File), update func(old *treefile.Tree) (*treefile.Tree, error)) (*treefile.Tree, error) {
	stop.Catch()
	path := TreePath(t.dest.Name)
	for n := range updates {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		tree, err := t.updateTree(ctx, path, rights, update)
		if !errors.Is(err, archive.ErrChanged) && !errors.Is(err, fs.ErrExist) && !errors.Is(err, atomicfile.ErrLocked) {
			return tree, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(1+n) * time.Millisecond):
		}
	}
	return nil, fmt.Errorf("%s: other programs change it again and again", terminal.ShowName(path))
}

func (t *Targets) updateTree(ctx context.Context, path string, rights func(*os.File), update func(old *treefile.Tree) (*treefile.Tree, error)) (*treefile.Tree, error) {
	if s3.IsURL(path) {
		return updateObject(ctx, path, update)
	}
	var old *treefile.Tree
	var before []byte
	var st fs.FileInfo
	in, err := OpenRegular(path, os.O_RDWR)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		defer in.Close()
		// Where there are no locks, what was read is compared when it is replaced.
		if err := atomicfile.Lock(in.File); errors.Is(err, atomicfile.ErrLocked) {
			return nil, err
		}
		if now, err := os.Stat(path); err != nil || !os.SameFile(now, in.Stat) {
			return nil, archive.ErrChanged
		}
		st = in.Stat
		if before, err = io.ReadAll(in.File); err != nil {
			return nil, err
		}
		if old, err = readTree(bytes.NewReader(before), path); err != nil {
			return nil, err
		}
	}
	tree, err := update(old)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := tree.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if st != nil && bytes.Equal(b.Bytes(), before) {
		return tree, nil
	}
	f, err := atomicfile.Create(path, &atomicfile.Options{Overwrite: st != nil, MakeDirs: true, Rights: rights,
		MayReplace: func(now fs.FileInfo, _ io.ReaderAt, _ int64) error {
			if !os.SameFile(now, st) || now.Size() != st.Size() || !now.ModTime().Equal(st.ModTime()) {
				return archive.ErrChanged
			}
			return nil
		}})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Write(b.Bytes()); err != nil {
		return nil, err
	}
	return tree, f.Commit()
}

func updateObject(ctx context.Context, path string, update func(old *treefile.Tree) (*treefile.Tree, error)) (*treefile.Tree, error) {
	version, err := s3.Stat(ctx, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var old *treefile.Tree
	var before []byte
	if err == nil {
		f, err := remote.Open(ctx, path, nil)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, archive.ErrChanged
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if before, err = io.ReadAll(io.NewSectionReader(ioat.Bind(ctx, f), 0, f.Size())); err != nil {
			return nil, err
		}
		if old, err = readTree(bytes.NewReader(before), path); err != nil {
			return nil, err
		}
	} else {
		version = nil
	}
	tree, err := update(old)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := tree.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("%s: %w", terminal.ShowName(path), err)
	}
	if version != nil && bytes.Equal(b.Bytes(), before) {
		return tree, nil
	}
	err = s3.Upload(ctx, path, bytes.NewReader(b.Bytes()), int64(b.Len()), &s3.UploadOptions{Replace: version})
	if version != nil && errors.Is(err, fs.ErrNotExist) {
		return nil, archive.ErrChanged
	}
	return tree, OfTarget(err)
}

// MakeFolder makes the folder of targets at a path below -o DIR/, with slashes, if it is missing: as that of a source folder, or
// only for its owner if source is "".
func (t *Targets) MakeFolder(rel, source string) error {
	path := urls.Below(t.dest.Name, rel)
	inner := urls.Below(path, "x")
	root, at, err := t.root(inner, nil)
	if err != nil {
		return err
	}
	if root == nil {
		return os.MkdirAll(path, 0o777)
	}
	if source == "" { // its rights are set later
		return atomicfile.MakeFolder(root, filepath.Dir(at), func(string) func(*os.File) { return access.OwnerOnly })
	}
	st, err := os.Stat(source)
	if err != nil {
		return err
	}
	_, rights := t.rights(inner, &Input{Name: urls.Below(source, "x"), R: bytes.NewReader(nil), Stat: st}, at)
	return atomicfile.MakeFolder(root, filepath.Dir(at), rights)
}

// below opens the folder of a path below -o DIR/, with slashes. Links are not followed.
func (t *Targets) below(rel string) (*os.Root, error) {
	return t.Folder(urls.Below(t.dest.Name, rel), nil)
}

// MakeLink makes a symbolic link at a path below -o DIR/, unless it is there, with its owner, time and attributes. failed names
// those attributes that it cannot have. A link cannot be made on some file systems: the tree file has it nevertheless.
func (t *Targets) MakeLink(e *treefile.Entry, at string) (failed map[string]error, err error) {
	dir, err := t.below(at)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	base := path.Base(at)
	err = dir.Symlink(e.To, base)
	there := errors.Is(err, fs.ErrExist)
	switch {
	case there:
		if to, err := dir.Readlink(base); err != nil || to != e.To {
			return nil, fmt.Errorf("%s: %w", urls.Below(t.dest.Name, at), atomicfile.ErrExists)
		}
	case err != nil && unsupported(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if f, err := dir.Open("."); err == nil {
		failed = xattr.SetLink(f, base, e.Xattrs)
		f.Close()
	}
	_ = atomicfile.SetLinkAttributes(dir, base, int(e.UID), int(e.GID), e.Modified)
	if there {
		return failed, nil
	}
	return failed, atomicfile.SyncRoot(dir)
}

// unsupported reports whether a file system has no links.
func unsupported(err error) bool {
	for _, e := range []error{errors.ErrUnsupported, syscall.EPERM, syscall.ENOSYS, syscall.EXDEV, syscall.EMLINK} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// HardLink gives a file below -o DIR/ another name there, unless it has that. linked is false if the file system cannot do
// that, or if another file has the name. made tells whether it is new.
func (t *Targets) HardLink(from, to string) (linked, made bool, err error) {
	src, err := t.below(from)
	if err != nil {
		return false, false, err
	}
	defer src.Close()
	st, err := src.Lstat(path.Base(from))
	if err != nil {
		return false, false, err
	}
	dst, err := t.below(to)
	if err != nil {
		return false, false, err
	}
	defer dst.Close()
	if now, err := dst.Lstat(path.Base(to)); err == nil {
		return os.SameFile(now, st), false, nil
	}
	if err := atomicfile.Link(src, path.Base(from), dst, path.Base(to)); err != nil {
		if unsupported(err) || errors.Is(err, fs.ErrExist) {
			return false, false, nil
		}
		return false, false, err
	}
	return true, true, atomicfile.SyncRoot(dst)
}

// SetFolder gives a folder of targets the time that it has in the tree, and the attributes that users have set.
func (t *Targets) SetFolder(e *treefile.Entry) {
	dir, err := t.below(path.Join(e.Path, "x"))
	if err != nil {
		return
	}
	defer dir.Close()
	if f, err := dir.Open("."); err == nil {
		xattr.AddUsers(f, e.Xattrs)
		_ = atomicfile.SetModified(f, e.Modified)
		f.Close()
	}
}

// RightsOfAll returns what sets the rights of a file that tells about other files: nobody may read it who may not read all of
// these. folder is where they are.
func (t *Targets) RightsOfAll(rights []*access.Rights, folder string) func(*os.File) {
	var all access.Sources
	for _, r := range rights {
		all.Add(r, folder)
	}
	dst, _ := lastFolder(t.dest.Name)
	l := all.Limits(&t.in.folders, dst)
	return l.Set
}

// RightsLike returns what sets the rights of a copy of a file.
func (t *Targets) RightsLike(file string) (func(*os.File), error) {
	r, err := access.OfPath(file)
	if err != nil {
		return nil, err
	}
	return t.RightsOfAll([]*access.Rights{r}, folderOf(file)), nil
}

// TreeOf is the tree that a folder or a prefix is, or is a part of.
type TreeOf struct {
	Tree   *treefile.Tree
	Folder string // that has the tree file
	Below  string // path of the FILE below it, with slashes, or "."

	file    string // the FILE
	volumes bool   // the tree is in volumes
	// oneOfSeveral is set if the FILE is one volume, beside which others may hold the rest.
	oneOfSeveral bool
	// links are the names of the current states of links and further names in volumes, by path.
	links map[string]string
}

// FindTree finds the tree of a FILE, by the tree file in it or in a folder above it, which must list it. It returns nil if
// there is none.
func FindTree(ctx context.Context, file string) (*TreeOf, error) {
	if s3.IsPrefix(file) {
		t, err := ReadTree(ctx, file)
		if t == nil || err != nil {
			return nil, err
		}
		t.ByStored("")
		return &TreeOf{Tree: t, Folder: file, Below: ".", file: file}, nil
	}
	st, err := os.Stat(file)
	if err != nil || !st.IsDir() {
		return nil, nil
	}
	abs, err := filepath.EvalSymlinks(file)
	if err == nil {
		abs, err = filepath.Abs(abs)
	}
	if err != nil {
		return nil, nil
	}
	below := "."
	for dir := abs; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(TreePath(dir)); err == nil {
			if below == "." {
				dir = filepath.Clean(file)
			}
			t, err := ReadTree(ctx, dir)
			if err != nil {
				return nil, err
			}
			if e := t.Find(below); e == nil || e.Kind != treefile.Folder {
				return nil, nil
			}
			t.ByStored("")
			return &TreeOf{Tree: t, Folder: dir, Below: below, file: file}, nil
		}
		if dir == filepath.Dir(dir) {
			return nil, nil
		}
		below = path.Join(filepath.Base(dir), below)
	}
}

// RelOf returns the path of a file of the FILE below the folder of the tree file.
func (t *TreeOf) RelOf(name string) string {
	if t.volumes {
		if t.file != t.Folder { // the FILE is the volume
			return strings.TrimPrefix(strings.TrimPrefix(name, t.file), "/")
		}
		folder := t.file
		if !remote.IsURL(folder) {
			folder = filepath.Clean(folder)
		}
		for _, member := range volume.Split(strings.TrimPrefix(name, folder)) {
			return member
		}
		return ""
	}
	if s3.IsPrefix(t.file) {
		return strings.TrimPrefix(name, t.file)
	}
	rel, err := filepath.Rel(t.file, name)
	if err != nil {
		return ""
	}
	return path.Join(t.Below, filepath.ToSlash(rel))
}

// Has reports whether a path of the tree is in the FILE.
func (t *TreeOf) Has(p string) bool {
	return t.Below == "." || p == t.Below || strings.HasPrefix(p, t.Below+"/")
}

// Inner returns a path of the tree as one below the FILE.
func (t *TreeOf) Inner(p string) string {
	if t.Below == "." {
		return p
	}
	if p == t.Below {
		return "."
	}
	return strings.TrimPrefix(p, t.Below+"/")
}

// NameOf returns the name of a path of the tree as one of a file of the FILE.
func (t *TreeOf) NameOf(p string) string { return urls.Below(t.file, t.Inner(p)) }

// StoredAt returns the path or the URL of what holds the content of an entry. In volumes, that is known of a further name
// alone.
func (t *TreeOf) StoredAt(e *treefile.Entry) string {
	if name, known := t.links[e.Path]; known {
		return name
	}
	return urls.Below(t.Folder, t.Tree.Linked(e).Stored())
}

// Trees are the trees of several FILEs.
type Trees []*TreeOf

// IsPart reports whether the FILE is a volume that may hold a part of the tree alone.
func (t *TreeOf) IsPart() bool { return t.oneOfSeveral }

// Link is a symbolic link of a tree, or a further name of a file, as listings have it.
type Link struct {
	Name string // as one below the FILE
	Kind string // link or hard link
	*treefile.Entry
	Size   int64 // of the file of a further name
	SHA256 string
}

// Links returns the symbolic links of trees, and further names of files that were kept as they are. In a store, archives
// have further names, too. chooses reports whether the run looks at a path below its FILE.
func (t Trees) Links(chooses func(rel string) bool) (list []Link) {
	for _, of := range t {
		for i := range of.Tree.Entries() {
			e := &of.Tree.Entries()[i]
			if e.Kind != treefile.Link && e.Kind != treefile.HardLink || !of.Has(e.Path) || !chooses(of.Inner(e.Path)) {
				continue
			}
			name, known := of.links[e.Path]
			switch first := of.Tree.Linked(e); {
			case e.Kind == treefile.Link:
				if !known {
					name = of.NameOf(e.Placed())
				}
				list = append(list, Link{Name: name, Kind: "link", Entry: e})
			case first.Kind == treefile.Plain || remote.IsURL(of.Folder) && !of.volumes:
				if !known {
					name = of.NameOf(e.Path)
				}
				list = append(list, Link{Name: name, Kind: "hard link", Entry: e, Size: first.Size, SHA256: first.SHA256})
			}
		}
	}
	return list
}

// Entry returns the entry of the file with a name, or nil.
func (t Trees) Entry(name string) *treefile.Entry {
	for _, of := range t {
		if rel := of.RelOf(name); rel != "" && !strings.HasPrefix(rel, "../") {
			if e := of.Tree.ByStored(rel); e != nil {
				return e
			}
		}
	}
	return nil
}

// WritePlain writes a file that was kept as it is to a target, and commits that if the bytes are those that the tree file
// lists. It returns their SHA-256.
func WritePlain(ctx context.Context, dst *Sink, in *Input, e *treefile.Entry, step func(int64)) (sum string, err error) {
	if in.File != nil && dst.Clone(in.File) {
		sum, err = protect.SHA256(ctx, dst.File(), in.Size, nil)
	} else {
		sum, err = CopySum(ctx, dst, in.R, in.Size, step)
	}
	if err == nil && e.SHA256 != "" && sum != e.SHA256 {
		err = treefile.Damaged("expected SHA-256 %s, as the tree file lists, found %s", e.SHA256, sum)
	}
	if err == nil {
		err = in.Changed()
	}
	if err == nil {
		err = dst.Commit(ctx)
	}
	return sum, err
}

// Above returns what the folders above the files of a folder demand of targets: nobody shall reach those who could not reach
// the files. holds reports whether what becomes of the folder itself demands what it does. A store demands nothing.
func (t *Targets) Above(folder string, holds func(*access.Rights) bool) []*access.Rights {
	if remote.IsURL(folder) {
		return nil
	}
	skip := 0
	if own := t.in.folders.Above(folder, 0); own != nil && holds(own) {
		skip = 1
	}
	dst, _ := lastFolder(filepath.Dir(filepath.Clean(t.dest.Name)))
	if t.dest.Name == "" {
		dst = folder
	}
	return t.in.folders.Limits(folder, skip, dst)
}

// Change opens a file below -o DIR/, or a folder whose path ends in a slash, without following links, and lets set change
// what it has. Its time is set last.
func (t *Targets) Change(name string, set func(*os.File), modified time.Time) {
	folder := strings.HasSuffix(name, string(filepath.Separator))
	at := name
	if folder {
		at = filepath.Join(name, "x")
	}
	dir, err := t.Folder(at, nil)
	if err != nil {
		return
	}
	defer dir.Close()
	var f *os.File
	if folder {
		f, err = dir.Open(".")
	} else {
		f, _, err = nofollow.File(dir, filepath.Base(name), os.O_RDONLY)
	}
	if err != nil {
		return
	}
	defer f.Close()
	set(f)
	_ = atomicfile.SetModified(f, modified)
}

// NewList returns a list of files that are named themselves.
func NewList(files []File) List { return List{Files: files, Folders: true, done: func() {}} }
