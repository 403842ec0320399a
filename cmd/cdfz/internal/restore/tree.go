package restore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/internal/access"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/xattr"
)

// tree is the tree that a FILE is, or a part of it: archive --whole has made it. Its files, folders and links come back with
// their modes, times, owners and attributes. Its methods for single files are safe for concurrent use. They do nothing for
// a nil tree.
type tree struct {
	*fileio.TreeOf
	run    *cli.Run
	others []*access.Rights // what the folders above the tree demand
	fresh  bool             // the folder of targets is that of this tree alone

	mu     sync.Mutex
	met    map[string]bool // paths of entries whose content was found
	failed map[string]int  // what could not be restored of how many files
	extra  map[string]*treefile.Entry
}

// findTree finds the tree file of a FILE.
func (v *restorer) findTree(ctx context.Context, arg string) error {
	if v.salvages || v.run.Dest.IsStdout() {
		return nil
	}
	of, err := v.run.Finder.FindTree(ctx, arg)
	if of == nil || err != nil {
		return err
	}
	t := &tree{TreeOf: of, run: v.run, met: map[string]bool{}, failed: map[string]int{}, extra: map[string]*treefile.Entry{}}
	if !s3.IsURL(v.run.Dest.Name) {
		root := of.Tree.Find(".")
		if of.Below != "." {
			root = nil
		}
		t.others = v.run.Targets.Above(of.Folder, func(r *access.Rights) bool { return root != nil && rightsOf(root).Within(r) })
		t.fresh = v.run.Dest.Name != "" && t.owns(v.run.Dest.Name)
	}
	v.tree = t
	return nil
}

// owns reports whether a folder is missing, or all that is in it is in the tree.
func (t *tree) owns(dir string) bool {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	for _, d := range list {
		if t.Tree.Find(path.Join(t.Below, d.Name())) == nil {
			return false
		}
	}
	return err == nil
}

// selects selects the files that hold what the tree has, and archives that it does not know.
func (t *tree) selects(e fileio.Entry) (string, error) {
	rel := t.RelOf(e.Name)
	switch {
	case rel == treefile.Name:
		return "tree file", nil
	case t.Tree.ByStored(rel) != nil:
		return "", nil
	}
	if base, named := strings.CutSuffix(rel, treefile.Suffix); named && t.Tree.Find(base) != nil {
		return "not that of " + base + " in the tree file", nil
	}
	if t.Tree.Find(rel) != nil {
		return "a further name", nil
	}
	return fileio.Archives(e)
}

// entry returns the entry of the file of a job, or nil.
func (t *tree) entry(j *cli.Job) *treefile.Entry {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	e := t.extra[j.At]
	t.mu.Unlock()
	if e != nil {
		return e
	}
	return t.Tree.ByStored(t.RelOf(j.Name))
}

func (t *tree) isPlain(j *cli.Job) bool {
	e := t.entry(j)
	return e != nil && e.Kind == treefile.Plain
}

// place returns the entry of a file, or nil, and sets where it is restored.
func (t *tree) place(j *cli.Job) *treefile.Entry {
	e := t.entry(j)
	if e == nil {
		return nil
	}
	if j.At == "" {
		j.At = t.Inner(e.Path)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.met[e.Path] = true
	return e
}

// barred reports whether a file was not tried because its target cannot be written.
func (t *tree) barred(e *treefile.Entry) bool {
	return t.run.Barred(fileio.File{Name: t.StoredAt(e), Rel: t.Inner(e.Stored())})
}

// describe lets a target have what the tree file knows of it.
func (t *tree) describe(e *treefile.Entry, info *archive.Info, j *cli.Job, target *fileio.Target) {
	switch {
	case e == nil:
	case e.SHA256 != "" && info.SHA256 != e.SHA256:
		j.Term.Message("warning: %s: it holds another state than the tree file lists, and is restored without the modes and times there", terminal.ShowName(j.Name))
	default:
		target.Rights, target.Modified = func(f *os.File) { t.set(f, e) }, e.Modified
	}
}

// rightsOf returns the rights that an entry has on this system.
func rightsOf(e *treefile.Entry) *access.Rights {
	uid, gid := numbers.of(e)
	return access.Recorded(uid, gid, e.Mode, e.Xattrs["system.posix_acl_access"], e.Xattrs["system.posix_acl_default"])
}

// owners are the numbers of users and groups by name.
type owners struct {
	mu            sync.Mutex
	users, groups map[string]uint32
}

var numbers = owners{users: map[string]uint32{}, groups: map[string]uint32{}}

// of returns the user and the group of an entry on this system: by name, and by number if there is none.
func (o *owners) of(e *treefile.Entry) (uid, gid uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return number(o.users, e.User, e.UID, func() (string, error) {
			u, err := user.Lookup(e.User)
			if err != nil {
				return "", err
			}
			return u.Uid, nil
		}), number(o.groups, e.Group, e.GID, func() (string, error) {
			g, err := user.LookupGroup(e.Group)
			if err != nil {
				return "", err
			}
			return g.Gid, nil
		})
}

func number(known map[string]uint32, name string, otherwise uint32, look func() (string, error)) uint32 {
	if name == "" {
		return otherwise
	}
	key := name + "\x00" + strconv.Itoa(int(otherwise))
	n, ok := known[key]
	if !ok {
		n = otherwise
		if text, err := look(); err == nil {
			if id, err := strconv.ParseUint(text, 10, 32); err == nil {
				n = uint32(id)
			}
		}
		known[key] = n
	}
	return n
}

// set gives a file or a folder its rights and attributes.
func (t *tree) set(f *os.File, e *treefile.Entry) {
	l := &access.Limits{Copy: rightsOf(e), Others: t.others}
	failed := xattr.Set(f, e.Xattrs) // before the mode, which may forbid it
	rights := l.SetRecorded(f)
	t.lost(rights, failed)
}

// lost counts what a file, a folder or a link could not get.
func (t *tree) lost(rights bool, failed map[string]error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !rights {
		t.failed["owner, group or mode"]++
	}
	for name := range failed {
		t.failed["extended attribute "+name]++
	}
}

// again sets what a file of an earlier run has to have: that may have been killed before.
func (t *tree) again(e *treefile.Entry, target *fileio.Target) {
	if e == nil || target.Rights == nil || s3.IsURL(target.Path) {
		return
	}
	t.run.Targets.Change(target.Path, func(f *os.File) { t.set(f, e) }, e.Modified)
}

// plain restores a file that was kept as it is.
func (v *restorer) plain(ctx context.Context, j *cli.Job, sum *restoreSum) error {
	e := v.tree.place(j)
	if v.run.Dest.Name == "" {
		j.Entry.Later = true // it is where it is restored
		return nil
	}
	in, err := v.run.In.OpenFile(ctx, j.File)
	if err != nil {
		return err
	}
	defer in.Close()
	t := j.Target("", in)
	if t.Path, err = v.run.Targets.PathOf(j.File, nil); err != nil {
		return err
	}
	j.Entry.Target, j.Entry.Size, j.Entry.ArchiveSize, j.Entry.SHA256, j.Entry.Ratio = t.Path, in.Size, in.Size, e.SHA256, 1
	if in.Size != e.Size {
		return treefile.Damaged("expected %d bytes, as the tree file lists, found %d", e.Size, in.Size)
	}
	t.Size, t.Sparse, t.Proved = in.Size, v.sparse, true
	t.Rights, t.Modified = func(f *os.File) { v.tree.set(f, e) }, e.Modified
	if t.Decision, err = v.decide(ctx, t.Path, &archive.Info{ImageSize: e.Size, SHA256: e.SHA256}); err != nil {
		return err
	}
	if t.Decision.Action == protect.Done {
		v.tree.again(e, t)
		v.passOver(j, t.Path, sum)
		return nil
	}
	start := time.Now()
	dst, err := t.Sink(ctx)
	if err != nil {
		return err
	}
	defer dst.Abort()
	got, err := fileio.WritePlain(ctx, dst, in, e, j.Term.Step(in.Name, in.Size, 0, 1))
	if err != nil {
		return err
	}
	rep := restoreReport{File: terminal.ReportName(j.Name), Target: t.Path, Kind: string(treefile.Plain), Size: in.Size, ArchiveSize: in.Size, SHA256: got,
		Seconds: display.Round(time.Since(start).Seconds(), 6)}
	v.restored(j, &rep, sum)
	return nil
}

// restTree makes the links and the folders, and sets what folders have, last their times.
func (v *restorer) restTree(ctx context.Context, work cli.Work, failed func(string, error)) {
	t := v.tree
	list := v.run.Select.From == ""
	inPlace := v.run.Dest.Name == ""
	var folders []*treefile.Entry
	var again []fileio.File
	var links []*treefile.Entry
	linked := map[string]string{} // files that are restored only for a hard link, by the path of the first name
	fail := func(e *treefile.Entry, err error) {
		v.run.LogFailure(e.Path, err)
		failed(terminal.ShowName(e.Path), err)
	}
	for i := range t.Tree.Entries() {
		e := &t.Tree.Entries()[i]
		if !t.Has(e.Path) || !list || inPlace && e.Stored() == "" {
			continue
		}
		switch e.Kind {
		case treefile.Archive, treefile.Plain:
			if v.run.Select.Owns(t.Inner(e.Stored())) && !t.met[e.Path] && !t.IsPart() && !t.barred(e) {
				fail(e, fmt.Errorf("the tree file lists it, but %s is missing", terminal.ShowName(t.StoredAt(e))))
			}
		case treefile.Folder:
			folders = append(folders, e)
		case treefile.Link:
			if v.run.Select.Chooses(t.Inner(e.Path)) {
				links = append(links, e)
			}
		case treefile.HardLink:
			first, rel, s := t.Tree.Find(e.To), t.Inner(e.Path)+treefile.Suffix, v.run.Select
			switch {
			case s.Rules.JudgeFile(rel) != nil:
				continue
			case t.met[first.Path] || linked[first.Path] != "":
				links = append(links, e)
				continue
			case t.IsPart(), t.barred(first):
				continue
			case s.Shard.N > 0 && t.Has(first.Path) && s.Rules.JudgeFile(t.Inner(first.Stored())) == nil:
				continue // the shard of the first name makes it
			case !s.Shard.Takes(rel):
				continue
			}
			linked[first.Path] = e.Path
			at := t.Inner(e.Path)
			t.extra[at] = first
			again = append(again, fileio.File{Name: t.StoredAt(e), Rel: at, At: at, Size: first.Size})
		}
	}
	if s3.IsURL(v.run.Dest.Name) {
		if n := len(links); n > 0 {
			v.run.Term.Message("warning: a store holds no links, folders, modes and times: %s left out", display.Count(int64(n), "link"))
		}
		return
	}
	if len(again) > 0 {
		v.run.Parallel(ctx, fileio.NewList(again), work)
	}
	for _, e := range folders {
		if e.Path != t.Below && len(v.run.Select.Rules) == 0 && ctx.Err() == nil { // else those of the files are enough
			if err := v.run.Targets.MakeFolder(t.Inner(e.Path), ""); err != nil {
				fail(e, err)
			}
		}
	}
	for _, e := range links {
		if ctx.Err() != nil {
			return
		}
		var err error
		if e.Kind == treefile.Link {
			at := *e
			uid, gid := numbers.of(e)
			at.UID, at.GID = uid, gid
			var failed map[string]error
			failed, err = v.run.Targets.MakeLink(&at, t.Inner(e.Path))
			t.lost(true, failed)
		} else {
			from := e.To
			if linked[from] != "" {
				from = linked[from]
			}
			var ok bool
			if ok, _, err = v.run.Targets.HardLink(t.Inner(from), t.Inner(e.Path)); err == nil && !ok {
				err = fmt.Errorf("cannot make a hard link to %s: another file has the name, or the file system has none", terminal.ShowName(from))
			}
		}
		if err != nil && (e.Kind == treefile.Link || !errors.Is(err, fs.ErrNotExist)) { // the file of a hard link has failed
			fail(e, err)
		}
	}
	for _, e := range slices.Backward(folders) {
		if e.Path == t.Below && !t.fresh {
			continue
		}
		v.run.Targets.Change(filepath.Join(v.run.Dest.Name, filepath.FromSlash(t.Inner(e.Path)))+string(filepath.Separator), func(f *os.File) { t.set(f, e) }, e.Modified)
	}
	for _, what := range slices.Sorted(maps.Keys(t.failed)) {
		v.run.Term.Message("warning: %s of %s could not be restored", what, display.Count(int64(t.failed[what]), "file"))
	}
}
