package fileio

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/cdfz-format/cdfz/internal/access"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/remote"
)

// Who may read the targets: nobody who could not read their sources. See package access.

// folderOf returns the path of the folder of a file.
func folderOf(path string) string {
	dir, _ := filepath.Split(path) // not Dir, which takes "link/../x" for "x"
	if dir == "" {
		return "."
	}
	return dir
}

// Uses notes that what the run writes depends on a local file that it does not open as an input, such as a
// member of joined files. Other names, and files that are missing, are ignored.
func (n *Inputs) Uses(name string) {
	if remote.IsURL(name) {
		return
	}
	if r, err := access.OfPath(name); err == nil {
		n.all.Add(r, folderOf(name))
	}
}

// UsesRights notes that the run reads files with these rights in a folder.
func (n *Inputs) UsesRights(rights []*access.Rights, folder string) {
	for _, r := range rights {
		n.all.Add(r, folder)
	}
}

// Limits returns what a target in a folder that exists must not exceed. src is the one source of the target, or
// nil if that is made from all inputs of the run.
func (t *Targets) Limits(path string, src *Input) *access.Limits {
	dst := folderOf(path)
	if fromAll(src) {
		return t.in.all.Limits(&t.in.folders, dst)
	}
	if src.volume != nil && src.Stat != nil {
		l := &access.Limits{Copy: access.FromInfo(src.Stat), Others: t.in.folders.Limits(folderOf(src.pathOf()), 0, dst)}
		if r, err := access.Of(src.fileOf()); err == nil {
			l.Others = append(l.Others, r)
		}
		return l
	}
	if src.Stat == nil || src.File == nil {
		return nil
	}
	own, err := access.Of(src.File)
	if err != nil {
		own = access.FromInfo(src.Stat)
	}
	l := &access.Limits{Copy: own, Others: t.in.folders.Limits(folderOf(src.Name), 0, dst)}
	if src.parts != nil {
		var members access.Sources
		for name := range src.parts {
			if remote.IsURL(name) {
				continue
			}
			if r, err := access.OfPath(name); err == nil {
				members.Add(r, folderOf(name))
			}
		}
		m := members.Limits(&t.in.folders, dst)
		if m.Copy != nil {
			l.Others = append(l.Others, m.Copy)
		}
		l.Others = append(l.Others, m.Others...)
	}
	return l
}

// StoreRights returns what sets the rights of the files and folders of a target that is a folder, or nil if
// nothing limits them.
func (t *Targets) StoreRights(path string, src *Input) func(*os.File) {
	l := t.Limits(filepath.Clean(path), src)
	if l.None() {
		return nil
	}
	l.Fresh = true
	return l.SetStore
}

// fromAll reports whether a target is made from all inputs of the run.
func fromAll(src *Input) bool { return src == nil || src.R == nil }

// rights returns what sets the rights of a target and of its new folders. rel is the path of the target below
// the folder of -o DIR/, or "".
func (t *Targets) rights(path string, src *Input, rel string) (file func(*os.File), folder func(rel string) func(*os.File)) {
	if s3.IsURL(path) || !fromAll(src) && src.Stat == nil {
		return nil, nil
	}
	file = func(f *os.File) { t.Limits(path, src).Set(f) }
	if rel == "" || fromAll(src) || src.volume != nil || !t.dest.IsDir() {
		return file, nil
	}
	// The folders of targets are those of their sources. That of -o DIR/ is like the folder that is the
	// FILE, or in which that is. The user named those above it.
	within, err := filepath.Rel(filepath.Clean(t.dest.Name), filepath.Dir(path))
	if err != nil || !filepath.IsLocal(within) {
		return file, nil
	}
	deepest := depth(filepath.Dir(rel))
	return file, func(made string) func(*os.File) {
		up := deepest - depth(made)
		if up > depth(within) {
			return nil
		}
		parent := filepath.Dir(path)
		for range up + 1 {
			parent = filepath.Dir(parent)
		}
		return func(f *os.File) { t.setFolder(f, folderOf(src.Name), up, parent, up == depth(within)) }
	}
}

// setFolder gives a new folder of targets in the folder parent the rights of the n-th folder above that of a
// source. dest tells that it is that of -o: others do not get rights to change it that new folders do not
// have, as in /tmp.
func (t *Targets) setFolder(f *os.File, source string, n int, parent string, dest bool) {
	l := &access.Limits{Copy: t.in.folders.Above(source, n), Others: t.in.folders.Limits(source, n+1, parent), Fresh: dest}
	l.SetFolder(f)
}

// depth returns the number of names in a relative path.
func depth(rel string) int {
	if rel = filepath.Clean(rel); rel == "." {
		return 0
	}
	return strings.Count(rel, string(filepath.Separator)) + 1
}
