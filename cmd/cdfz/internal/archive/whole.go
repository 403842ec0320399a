package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/internal/access"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/xattr"
	"github.com/cdfz-format/cdfz/remote"
)

// whole is --whole: everything below the FILE is kept. Classic files become archives, and all other files stay as they
// are. The tree file has what the file system of the targets may not hold.
//
// The tree file is written twice. Before the first file is archived, it gets all that is known of the tree then: what
// --delete-source deletes is described there. In the end it gets sizes and SHA-256 of the files that were done.
type whole struct {
	on      bool
	src     *fileio.Whole
	entries []treefile.Entry  // of this run, by path
	links   []fileio.File     // further names of files
	first   map[string]string // the first of the names of a file, by the others
	named   map[string]bool   // those first names
	rights  func(*os.File)    // of the tree file
	tree    *treefile.Tree    // that is on disk

	mu   sync.Mutex
	done map[string]treefile.Entry // files that are done, by path
}

// check checks the flags.
func (t *whole) check(v *archiver, args []string) error {
	if !t.on {
		return nil
	}
	local := func() bool {
		if len(args) != 1 || remote.IsURL(args[0]) || args[0] == terminal.StdinName {
			return false
		}
		st, err := os.Stat(args[0])
		return err == nil && st.IsDir()
	}
	switch {
	case v.run.Select.From != "":
		return terminal.Hinted(errors.New("--whole: contradicts --files-from"), "--include and --exclude choose files")
	case !local():
		return errors.New("--whole: expected one FILE, a folder")
	case v.run.Dest.Name == "" || !v.run.Dest.IsDir():
		return terminal.Hinted(errors.New("--whole: expected -o DIR/ too, the folder of archives"), "without it, everything else is already where the archives are")
	case v.unpacks:
		return errors.New("--whole: contradicts --decompress, whose archives do not restore the compressed files")
	case len(v.specs.Lossy()) > 0:
		return errors.New("--whole: contradicts --lossy, whose archives do not restore the source")
	case v.run.Select.Balance:
		return errors.New("--whole: contradicts --balance")
	case !s3.IsURL(v.run.Dest.Name) && v.run.Targets.IsBelow(v.run.Dest.Name, args[0]):
		return fmt.Errorf("--whole: -o %s is in %s, and would become a part of it", terminal.ShowName(v.run.Dest.Name), terminal.ShowName(args[0]))
	}
	return nil
}

// find lists the files of the tree, and decides where each is kept.
func (t *whole) find(ctx context.Context, v *archiver, arg string) (list fileio.List, err error) {
	if t.src, err = v.run.FindWhole(ctx, arg, v.failed); err != nil {
		return list, err
	}
	var old *treefile.Tree
	if v.packs.on() {
		old, err = v.packs.readTree(ctx)
	} else {
		old, err = fileio.ReadTree(ctx, v.run.Dest.Name)
	}
	if err != nil {
		t.src.Close()
		return list, err
	}
	t.done = map[string]treefile.Entry{}
	t.describe(v)
	first, names := firstNames(t.src.Items)
	places := placesOf(t.src.Items, first, old, s3.IsURL(v.run.Dest.Name) && !v.packs.on())
	rights := t.sourceRights()
	if t.first = first; v.packs.on() {
		v.run.In.UsesRights(rights, filepath.Clean(arg)+string(filepath.Separator)+".")
	}
	t.rights = v.run.Targets.RightsOfAll(rights, filepath.Clean(arg)+string(filepath.Separator)+".")
	var files []fileio.File
	for i := range t.src.Items {
		it := &t.src.Items[i]
		to, again := first[it.Rel]
		if again {
			it.Own = names[to]
		}
		if !it.Own || it.IsSpecial() {
			continue
		}
		e := entryOf(it)
		e.Emptied = v.proof.deletes && e.Kind == treefile.Folder
		if again {
			e = treefile.Entry{Path: it.Rel, Kind: treefile.HardLink, To: to}
		}
		p := places[it.Rel]
		if e.Kind == treefile.Archive && p.plain {
			e.Kind = treefile.Plain
		}
		if e.Stored() != "" && e.Stored() != p.at || e.Kind == treefile.Link {
			e.At = p.at
		}
		t.entries = append(t.entries, e)
		f := t.src.File(it)
		switch e.Kind {
		case treefile.Archive, treefile.Plain:
			f.At, f.Plain = p.at, e.Kind == treefile.Plain
			files = append(files, f)
		case treefile.HardLink:
			f.At = p.at
			t.links = append(t.links, f)
		}
	}
	return t.src.List(files), nil
}

// describe reports what no target can hold, at once.
func (t *whole) describe(v *archiver) {
	kinds := map[string][]string{}
	attributes := map[string][]string{}
	for i := range t.src.Items {
		it := &t.src.Items[i]
		if it.Own && it.IsSpecial() {
			kinds[it.Kind] = append(kinds[it.Kind], it.Rel)
		}
		for _, name := range it.Left {
			attributes[name] = append(attributes[name], it.Rel)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		list := kinds[kind]
		for _, rel := range list {
			v.run.LogFailure(t.src.ShowsAs(rel), refusedKind(kind))
			if v.run.Term.JSON {
				v.run.Term.Emit(fileio.Skipped{File: terminal.ReportName(t.src.Name(rel)), Reason: kind})
			}
		}
		v.sum.Failed += int64(len(list))
		err := refusedKind(kind)
		if n := len(list) - 1; n > 0 {
			err = terminal.Lasting(fmt.Errorf("%w; and %s", err, display.Count(int64(n), "other "+kind)))
		}
		v.run.Term.FailFile(t.src.ShowsAs(list[0]), err)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		list := attributes[name]
		v.run.Term.Message("warning: %s: the extended attribute %s cannot be kept; of %s in all", t.src.ShowsAs(list[0]), name, display.Count(int64(len(list)), "file"))
	}
}

func refusedKind(kind string) error {
	return terminal.Lasting(fmt.Errorf("is a %s, which no archive can hold: it is left out", kind))
}

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

// firstNames returns, for each further name of a file with several, the first one by path. names are those first names,
// and whether they are in the shard of this run.
func firstNames(items []fileio.Item) (first map[string]string, names map[string]bool) {
	first, names = map[string]string{}, map[string]bool{}
	known := map[[2]uint64]string{}
	for i := range items {
		it := &items[i]
		id, links, ok := atomicfile.Identity(it.Info)
		if !ok || links < 2 || !it.Info.Mode().IsRegular() {
			continue
		}
		if rel, again := known[id]; again {
			first[it.Rel] = rel
			continue
		}
		known[id] = it.Rel
		names[it.Rel] = it.Own
	}
	return first, names
}

// place is where a file is kept below the folder of targets.
type place struct {
	at    string
	plain bool // though it is a classic file: no archive can have its name
}

// nameMax is the longest name that all file systems of today take, in bytes.
const nameMax = 255

// keyMax is the longest path below a prefix that a store takes as part of a key, in bytes: keys have 1024.
const keyMax = 800

// placesOf decides where each file is kept. Archives have their names, unless a folder has that. A plain file whose name
// that of an archive or of the tree file is gets another one, and so does a file whose path no store takes as a key, if store
// is set. A file of an earlier run keeps its place.
func placesOf(items []fileio.Item, first map[string]string, old *treefile.Tree, store bool) map[string]place {
	kinds := make(map[string]*fileio.Item, len(items))
	for i := range items {
		kinds[items[i].Rel] = &items[i]
	}
	regular := func(it *fileio.Item) bool { return it != nil && it.Info.Mode().IsRegular() }
	// The same for every shard, so by names alone: whether x.nc is a classic file, only its shard knows, which is that
	// of x.nc.cdfz, too.
	taken := func(at, rel string) bool {
		if at == treefile.Name {
			return true
		}
		if it := kinds[at]; it != nil && it.Rel != rel {
			return true
		}
		if e := old.ByStored(at); e != nil && e.Path != rel {
			return true
		}
		base, isArchive := strings.CutSuffix(at, treefile.Suffix)
		return isArchive && base != rel && regular(kinds[base])
	}
	other := func(it *fileio.Item, ending string) string {
		for n := 0; ; n++ {
			sum := sha256.Sum256([]byte(strconv.Itoa(n) + "/" + it.Rel))
			dir, base := path.Split(it.Rel)
			if store {
				dir, base = "", strings.ToValidUTF8(base, "_")
			}
			at := dir + base[:min(len(base), nameMax-40)] + ".kept-" + hex.EncodeToString(sum[:4]) + ending
			if !taken(at, it.Rel) {
				return at
			}
		}
	}
	places := map[string]place{}
	for i := range items {
		it := &items[i]
		if it.Info.Mode()&fs.ModeSymlink != 0 {
			base, named := strings.CutSuffix(it.Rel, treefile.Suffix)
			if it.Rel == treefile.Name || named && regular(kinds[base]) {
				places[it.Rel] = place{at: other(it, "")}
			}
			continue
		}
		if !regular(it) {
			continue
		}
		to, again := first[it.Rel]
		e := old.Find(it.Rel)
		target := it.Rel + treefile.Suffix
		base, named := strings.CutSuffix(it.Rel, treefile.Suffix)
		p := place{at: it.Rel, plain: it.Kind != ""}
		switch {
		case again: // a hard link in the folder of targets is a convenience
			p = places[to]
			if p.at = it.Rel; !p.plain {
				p.at = target
			}
			if len(path.Base(p.at)) > nameMax || taken(p.at, it.Rel) {
				p.at = ""
			}
		case !p.plain && len(path.Base(target)) > nameMax:
			p.plain = true
		case !p.plain && (kinds[target] != nil && kinds[target].Info.IsDir()):
			p.at = other(it, treefile.Suffix)
		case !p.plain:
			p.at = target
		case it.Rel == treefile.Name, named && regular(kinds[base]) && kinds[base].Kind == "":
			p.at = other(it, "")
		}
		if store && (!utf8.ValidString(p.at) || len(p.at) > keyMax) {
			ending := ""
			if !p.plain {
				ending = treefile.Suffix
			}
			p.at = other(it, ending)
		}
		if stored := old.ByStored(p.at); !again && stored != nil && stored.Path != it.Rel {
			ending := ""
			if !p.plain {
				ending = treefile.Suffix
			}
			p.at = other(it, ending)
		}
		if !again && e != nil && e.At != "" && (e.Kind == treefile.Plain) == p.plain {
			p.at = e.At
		}
		places[it.Rel] = p
	}
	return places
}

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

// prepare writes what is known of the tree to the tree file, and makes the folders and links of the targets.
func (t *whole) prepare(ctx context.Context, v *archiver) error {
	var refused []string
	var err error
	if v.packs.on() {
		var old *treefile.Tree
		if old, err = v.packs.out.Earlier.Tree(ctx, time.Time{}); err == nil {
			t.tree, refused, err = old.Merge(slices.Clone(t.entries))
		}
		if err == nil && v.proof.deletes && !v.dry {
			err = v.packs.writeTree(ctx, t.tree)
		}
	} else {
		t.tree, err = v.run.Targets.UpdateTree(ctx, t.rights, func(old *treefile.Tree) (merged *treefile.Tree, err error) {
			merged, refused, err = old.Merge(slices.Clone(t.entries))
			return merged, err
		})
	}
	if err != nil {
		return err
	}
	for _, rel := range refused {
		is := "a folder"
		if e := t.tree.Find(rel); e != nil && e.Kind != treefile.Folder {
			is = "no folder"
		}
		v.run.FailLogged(t.src.ShowsAs(rel), terminal.Lasting(fmt.Errorf("the folder of archives has %s at this path, from an earlier run", is)))
		v.sum.Failed++
	}
	out := slices.Compact(slices.Sorted(slices.Values(refused)))
	left := func(f fileio.File) bool {
		_, found := slices.BinarySearch(out, filepath.ToSlash(f.Rel))
		return found
	}
	v.files.Files = slices.DeleteFunc(v.files.Files, left)
	t.links = slices.DeleteFunc(t.links, left)
	if v.proof.deletes && v.proof.weak == nil {
		v.proof.weak = t.durable(ctx, v)
	}
	if v.packs.on() {
		v.packs.prepare(v, t)
		return nil
	}
	if s3.IsURL(v.run.Dest.Name) {
		return nil
	}
	for i := range t.entries {
		e := &t.entries[i]
		if now := t.tree.Find(e.Path); now == nil || now.Kind != e.Kind || ctx.Err() != nil {
			continue
		}
		var err error
		switch e.Kind {
		case treefile.Folder:
			err = v.run.Targets.MakeFolder(e.Path, t.src.Name(e.Path))
		case treefile.Link:
			_, err = v.run.Targets.MakeLink(e, e.Placed()) // the tree file has all attributes
		}
		if err != nil {
			v.failed(t.src.ShowsAs(e.Path), err)
		}
	}
	return nil
}

// durable returns an error unless the tree file is where it stays.
func (t *whole) durable(ctx context.Context, v *archiver) error {
	if v.packs.on() {
		_, _, err := v.packs.proves(ctx, v, treefile.Name)
		return err
	}
	f, err := os.Open(fileio.TreePath(v.run.Dest.Name))
	if err != nil {
		return err
	}
	defer f.Close()
	return protect.Durable(v.run.In.Mounts, "the tree file", f, nil)
}

// record notes a file that is done.
func (t *whole) record(w *work) {
	if !t.on || w.rep.SHA256 == "" || w.in == nil || w.in.Stat == nil {
		return
	}
	t.note(t.entryOfDone(w))
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

// groupOf returns the first name of a file with several names, or "" for others.
func (t *whole) groupOf(j fileio.File) string {
	rel := filepath.ToSlash(j.Rel)
	if to, ok := t.first[rel]; ok {
		return to
	}
	if t.named == nil {
		t.named = map[string]bool{}
		for _, to := range t.first {
			t.named[to] = true
		}
	}
	if t.named[rel] {
		return rel
	}
	return ""
}

// plainLink reports whether a further name is that of a file that is kept as it is.
func (t *whole) plainLink(j fileio.File) bool {
	e := t.tree.Find(t.first[filepath.ToSlash(j.Rel)])
	return e != nil && e.Kind == treefile.Plain
}

// entryNow returns the entry of a file as it was when it was opened.
func (t *whole) entryNow(w *work) treefile.Entry {
	it := &fileio.Item{Rel: filepath.ToSlash(w.Rel), Info: w.in.Stat}
	it.Xattrs, _ = xattr.Of(w.in.File)
	return entryOf(it)
}

// covers returns an error unless the tree file on disk describes a source as it is.
func (t *whole) covers(w *work) error {
	if !t.on {
		return nil
	}
	now := t.entryNow(w)
	had := t.tree.Linked(t.tree.Find(now.Path))
	if had == nil {
		return errors.New("the tree file does not list it")
	}
	old := *had
	old.Path, old.Kind, old.At, old.SHA256 = now.Path, now.Kind, "", ""
	if !old.Modified.Equal(now.Modified) || old.Size != now.Size {
		return errors.New("it has changed since it was listed")
	}
	old.Modified = now.Modified
	if !sameEntry(&old, &now) {
		return errors.New("its rights or attributes have changed since it was listed")
	}
	return nil
}

func sameEntry(a, b *treefile.Entry) bool {
	return a.Mode == b.Mode && a.UID == b.UID && a.GID == b.GID && (len(a.Xattrs) == 0 && len(b.Xattrs) == 0 || reflect.DeepEqual(a.Xattrs, b.Xattrs))
}

// finish makes the further names of files, completes the tree file, sets the times of folders, and with --delete-source deletes
// links and folders.
func (t *whole) finish(ctx context.Context, v *archiver) {
	if ctx.Err() == nil && len(t.links) > 0 {
		list := t.src.List(t.links)
		v.run.Parallel(ctx, list, v.linkWork())
	}
	update := func(old *treefile.Tree) (*treefile.Tree, error) {
		merged, _, err := old.Merge(slices.Collect(maps.Values(t.done)))
		if err != nil {
			return nil, err
		}
		return v.proof.fillSums(ctx, v, merged)
	}
	var err error
	if v.packs.on() {
		if v.packs.broken != nil || ctx.Err() != nil {
			return // the next run writes the tree file
		}
		var merged *treefile.Tree
		if merged, err = update(t.tree); err == nil {
			err = v.packs.writeTree(ctx, merged)
		}
	} else {
		_, err = v.run.Targets.UpdateTree(context.WithoutCancel(ctx), t.rights, update)
	}
	if err != nil {
		v.failed(terminal.ShowName(fileio.TreePath(v.run.Dest.Name)), err)
		return
	}
	if v.proof.deletes && ctx.Err() == nil {
		t.deleteRest(ctx, v)
	}
	if s3.IsURL(v.run.Dest.Name) || v.packs.on() {
		return
	}
	for _, e := range slices.Backward(t.entries) {
		if e.Kind == treefile.Folder {
			v.run.Targets.SetFolder(t.tree.Find(e.Path))
		}
	}
}
