package archive

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os/user"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/internal/access"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/xattr"
)

// sourceRights returns the different rights of all files and folders.
func (t *whole) sourceRights() []*access.Rights {
	type key struct {
		uid, gid uint32
		mode     fs.FileMode
		acl      string
	}
	seen := map[key]*access.Rights{}
	for i := range t.src.Items {
		it := &t.src.Items[i]
		if !it.Own || it.Info.Mode()&fs.ModeSymlink != 0 || it.IsSpecial() {
			continue
		}
		uid, gid := ownerOf(it.Info)
		acl := it.Xattrs[accessACL]
		k := key{uid, gid, it.Info.Mode().Perm(), string(acl)}
		if seen[k] == nil {
			seen[k] = access.Recorded(uid, gid, k.mode, acl, nil)
		}
	}
	return slices.Collect(maps.Values(seen))
}

const accessACL = "system.posix_acl_access"

// entryOf returns the entry of an item, but for its SHA-256.
func entryOf(it *fileio.Item) treefile.Entry {
	const bits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	e := treefile.Entry{Path: it.Rel, Mode: it.Info.Mode() & bits, Modified: it.Info.ModTime().UTC(), Xattrs: it.Xattrs}
	e.UID, e.GID = ownerOf(it.Info)
	e.User, e.Group = names.of(e.UID, e.GID)
	switch m := it.Info.Mode(); {
	case m.IsDir():
		e.Kind = treefile.Folder
	case m&fs.ModeSymlink != 0:
		e.Kind, e.To = treefile.Link, it.To
	case it.Kind == "":
		e.Kind, e.Size = treefile.Archive, it.Info.Size()
	default:
		e.Kind, e.Size = treefile.Plain, it.Info.Size()
	}
	return e
}

func ownerOf(st fs.FileInfo) (uid, gid uint32) {
	u, g, _ := atomicfile.Owner(st)
	return uint32(u), uint32(g)
}

// owners are the names of users and groups.
type owners struct {
	mu            sync.Mutex
	users, groups map[uint32]string
}

var names = owners{users: map[uint32]string{}, groups: map[uint32]string{}}

// of returns the names of a user and a group, "" for none.
func (o *owners) of(uid, gid uint32) (string, string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	name, ok := o.users[uid]
	if !ok {
		if u, err := user.LookupId(strconv.Itoa(int(uid))); err == nil {
			name = u.Username
		}
		o.users[uid] = name
	}
	group, ok := o.groups[gid]
	if !ok {
		if g, err := user.LookupGroupId(strconv.Itoa(int(gid))); err == nil {
			group = g.Name
		}
		o.groups[gid] = group
	}
	return name, group
}

// record notes a file that is done.
func (t *whole) record(w *work) {
	if !t.on || w.rep.SHA256 == "" || w.in == nil || w.in.Stat == nil {
		return
	}
	t.noteKept(w)
	t.note(t.entryOfDone(w))
}

// noteKept notes where this run has kept the older state of a file.
func (t *whole) noteKept(w *work) {
	if w.rep.Replaced == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept[filepath.ToSlash(w.Rel)] = path.Join(path.Dir(w.At), filepath.Base(w.rep.Replaced))
}

// entryOfDone returns the entry of a file that is done, or will be.
func (t *whole) entryOfDone(w *work) *treefile.Entry {
	e := t.entryNow(w)
	e.SHA256, e.Kind = w.rep.SHA256, treefile.Archive
	if w.Plain {
		e.Kind = treefile.Plain
	}
	if e.Stored() != w.At {
		e.At = w.At
	}
	return &e
}

// note notes the entry of a file that is done. A further name of a file tells what its first name has.
func (t *whole) note(e *treefile.Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	to, again := t.first[e.Path]
	if !again {
		t.done[e.Path] = *e
		return
	}
	if had := t.tree.Find(to); had != nil && had.SHA256 == "" && had.Size == e.Size {
		if _, ok := t.done[to]; !ok {
			of := *had
			of.SHA256 = e.SHA256
			t.done[to] = of
		}
	}
}

// entryNow returns the entry of a file as it was when it was opened.
func (t *whole) entryNow(w *work) treefile.Entry {
	it := &fileio.Item{Rel: filepath.ToSlash(w.Rel), Info: w.in.Stat}
	it.Xattrs, _ = xattr.Of(w.in.File)
	return entryOf(it)
}

// covers returns an error unless the tree file on disk describes a source as it is, and where it is kept.
func (t *whole) covers(ctx context.Context, v *archiver, w *work) error {
	if !t.on {
		return nil
	}
	now := t.entryNow(w)
	_, again := t.first[now.Path]
	t.listing.Lock()
	defer t.listing.Unlock()
	if err := t.list(ctx, v, w); err != nil {
		return err
	}
	had := t.listed.Linked(t.listed.Find(now.Path))
	switch {
	case had == nil:
		return errors.New("the tree file does not list it")
	case !had.Modified.Equal(now.Modified) || had.Size != now.Size:
		return errors.New("it has changed since it was listed")
	case !sameEntry(had, &now):
		return errors.New("its rights or attributes have changed since it was listed")
	case (had.Kind == treefile.Plain) != w.Plain || !again && had.Stored() != w.rep.below:
		return errors.New("the tree file lists it at another place")
	}
	return nil
}

func sameEntry(a, b *treefile.Entry) bool {
	return a.Mode == b.Mode && a.UID == b.UID && a.GID == b.GID && (len(a.Xattrs) == 0 && len(b.Xattrs) == 0 || reflect.DeepEqual(a.Xattrs, b.Xattrs))
}
