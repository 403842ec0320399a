package fileio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/internal/access"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/nofollow"
	"github.com/cdfz-format/cdfz/internal/urls"
	"github.com/cdfz-format/cdfz/internal/xattr"
	"github.com/cdfz-format/cdfz/remote"
)

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

// RightsLikeTree returns what sets the rights of a copy of the tree file of a tree: nobody may read it who may not read that file, or
// the volumes in which the tree is. It is nil if that is in a store.
func (t *Targets) RightsLikeTree(of *TreeOf) (func(*os.File), error) {
	if remote.IsURL(of.Folder) {
		return nil, nil
	}
	if of.volumes {
		rights, err := of.rights()
		return t.RightsOfAll(rights, folderOf(of.in[0])), err
	}
	file := TreePath(of.Folder)
	r, err := access.OfPath(file)
	if err != nil {
		return nil, err
	}
	return t.RightsOfAll([]*access.Rights{r}, folderOf(file)), nil
}

// rights returns the rights of the volumes in which a tree is.
func (t *TreeOf) rights() (list []*access.Rights, err error) {
	for _, name := range t.in {
		if remote.IsURL(name) {
			continue
		}
		r, err := access.OfPath(name)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// SetFolderRights gives a folder below -o DIR/ the rights that a tree in volumes lists, for those who may read these. Its owner may do
// all: a later run adds files to it.
func (t *Targets) SetFolderRights(of *TreeOf, e *treefile.Entry) {
	others, err := of.rights()
	if err != nil {
		return // only its owner may use it
	}
	for i, r := range others {
		others[i] = r.Listable()
	}
	name := filepath.Join(t.dest.Name, filepath.FromSlash(e.Path)) + string(filepath.Separator)
	acl, preset := e.Xattrs["system.posix_acl_access"], e.Xattrs["system.posix_acl_default"]
	l := &access.Limits{Copy: access.Recorded(e.UID, e.GID, e.Mode|access.PrivateFolder, acl, preset), Others: others}
	t.Change(name, func(f *os.File) { l.SetRecorded(f) }, e.Modified)
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
