package fileio

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stop"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/kept"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/urls"
	"github.com/cdfz-format/cdfz/remote"
)

// maxVolumes is the number of volumes that stay open while no member of them is read. Each has a descriptor, and the top
// level of its index.
const maxVolumes = 64

// tailRead is what volume.Open reads of a volume: a request has all of it.
const tailRead = 64 << 10

// openVolume is an open volume of a run.
type openVolume struct {
	*volume.Volume
	file *Input // it is
}

// Close implements io.Closer for the pool.
func (v *openVolume) Close() error { return errors.Join(v.Volume.Close(), v.file.Close()) }

type volumeItem = kept.Item[string, *openVolume]

func newVolumePool() *kept.Pool[string, *openVolume] {
	return kept.New[string, *openVolume](kept.Limits{Idle: int(min(maxVolumes, max(1, kept.MaxOpen()/8)))})
}

// useVolume opens a volume, or finds it open. The caller must release it. The error is volume.ErrNotVolume for other
// files.
func (n *Inputs) useVolume(ctx context.Context, j File) (*volumeItem, error) {
	if i := n.volumes.Use(j.Name); i != nil {
		return i, nil
	}
	n.opening.Lock() // a message appears once
	defer n.opening.Unlock()
	if i := n.volumes.Use(j.Name); i != nil {
		return i, nil
	}
	in, err := n.openFileOfVolume(ctx, j)
	if err != nil {
		return nil, err
	}
	v, err := volume.Open(ctx, in.R, in.Size)
	if errors.Is(err, archive.ErrCorrupt) && in.remote != nil {
		err = terminal.Hinted(err, "cdfz repair -o NEW%s writes a volume with a new index", volume.Suffix)
	} else if errors.Is(err, archive.ErrCorrupt) {
		var rebuilt *volume.Volume
		if rebuilt, err = volume.Rebuild(ctx, in.R, in.Size, err); err == nil {
			v = rebuilt
			n.term.Message("warning: %s: %s; the headers of the members are read instead", in.Name, terminal.PlainText(v.Rebuilt(), j.Name))
		}
	}
	if err != nil {
		in.Close()
		return nil, err
	}
	return n.volumes.Add(&volumeItem{Key: j.Name, Value: &openVolume{v, in}}), nil
}

// openFileOfVolume opens the file that a volume is. It is not bound to a context.
func (n *Inputs) openFileOfVolume(ctx context.Context, j File) (*Input, error) {
	switch {
	case remote.IsURL(j.Name):
		n.term.Hide(j.Name)
		stop.Catch()
		r, err := remote.Open(ctx, j.Name, &remote.Options{Tail: tailRead})
		if err != nil {
			return nil, err
		}
		in := inputOf(j.Name, r)
		in.R = r
		return in, nil
	case j.tree != nil:
		return openBelow(j, os.O_RDONLY)
	}
	return OpenRegular(j.Name, os.O_RDONLY)
}

// openInVolume opens a member by a name such as vol/0001.tar/1987/tas.nc.cdfz. It returns nil if the name does not lead
// into a volume.
func (n *Inputs) openInVolume(ctx context.Context, name string) (in *Input, err error) {
	isURL := remote.IsURL(name)
	for file, member := range volume.Split(name) {
		if !isURL {
			if st, e := os.Stat(file); e != nil || !st.Mode().IsRegular() {
				continue
			}
			member = filepath.ToSlash(member)
		}
		in, err = n.openMember(ctx, File{Name: name, volume: &File{Name: file}, member: member})
		other := isURL && errors.Is(err, errNoVolume) && !errors.Is(err, archive.ErrCorrupt) && !errors.Is(err, archive.ErrVersion)
		if !other && !errors.Is(err, volume.ErrNotVolume) {
			return in, err
		}
		// It may be a folder of the server.
	}
	return nil, nil
}

// errNoVolume is the error of a volume that cannot be opened.
var errNoVolume = errors.New("the volume cannot be opened")

// openMember opens a member of a volume.
func (n *Inputs) openMember(ctx context.Context, j File) (*Input, error) {
	item, err := n.useVolume(ctx, *j.volume)
	if err != nil {
		if !errors.Is(err, volume.ErrNotVolume) {
			err = &volumeError{err}
		}
		return nil, err
	}
	v := item.Value
	in, err := v.member(ctx, j, n.Whole)
	if err != nil {
		n.volumes.Release(item)
		return nil, err
	}
	in.close = func() error {
		n.volumes.Release(item)
		return nil
	}
	return n.note(in), nil
}

// volumeError is an error of a volume, not of a member.
type volumeError struct{ error }

func (e *volumeError) Unwrap() []error { return []error{e.error, errNoVolume} }

// member opens a member. Of distant ones, the end is read at once, or all if that is at most whole bytes.
func (v *openVolume) member(ctx context.Context, j File, whole int64) (*Input, error) {
	e, err := v.Resolve(ctx, j.member)
	if err != nil {
		return nil, err
	}
	if e.Kind == volume.Folder {
		return nil, errFolder
	}
	r, size, err := v.Contents(ctx, e)
	if err != nil {
		return nil, err
	}
	in := &Input{Name: terminal.ShowName(j.Name), R: ioat.Live(ctx, r), Size: size, Stat: memberInfo{e.Info(), e}, volume: v, member: e.Path}
	if f := v.file; f.remote != nil {
		in.ETag, in.Modified, in.Stat = f.ETag, f.Modified, nil
		in.remote = &answered{j.Name, f.remote.shown}
		n := int64(wholeEnds)
		if size <= whole {
			n = size
		}
		if in.R, err = ioat.KeepEnd(ctx, in.R, size, n); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// fileOf returns the open file in which an input lies, or nil.
func (in *Input) fileOf() *os.File {
	if in.volume != nil {
		return in.volume.file.File
	}
	return in.File
}

// pathOf returns the path of that file.
func (in *Input) pathOf() string {
	if in.volume != nil {
		return in.volume.file.Name
	}
	return in.Name
}

// memberInfo describes a member as a file with an owner.
type memberInfo struct {
	fs.FileInfo
	e *volume.Entry
}

// Volumes are the volumes of a folder, in the order in which they were packed. The zero value has none.
type Volumes struct {
	n    *Inputs
	list []*volumeItem
	all  []string // names of all files that are named like volumes, without their folder
}

// OpenVolumes opens the volumes in a folder, or with a prefix of a store. Other files are passed over, and a folder that
// is missing has none. The caller must close the result.
func (n *Inputs) OpenVolumes(ctx context.Context, dir string) (*Volumes, error) {
	var names []string
	if s3.IsURL(dir) {
		if err := s3.NewFolder(strings.TrimSuffix(dir, "/")+"/").Each(ctx, func(page []s3.Object) error {
			names = append(names, namesOf(page)...)
			return nil
		}); err != nil {
			return nil, err
		}
	} else {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if path.Ext(e.Name()) == volume.Suffix {
				names = append(names, e.Name())
			}
		}
	}
	return n.openVolumes(ctx, dir, names)
}

// namesOf returns the names of objects that are named like volumes and are in no folder below the prefix.
func namesOf(page []s3.Object) (names []string) {
	for _, o := range page {
		if !strings.Contains(o.Rel, "/") && path.Ext(o.Rel) == volume.Suffix {
			names = append(names, o.Rel)
		}
	}
	return names
}

// openVolumes opens the volumes among files of a folder that are named so.
func (n *Inputs) openVolumes(ctx context.Context, dir string, names []string) (*Volumes, error) {
	v := &Volumes{n: n, all: names}
	for _, name := range v.all {
		i, err := n.useVolume(ctx, File{Name: urls.Below(dir, name)})
		switch {
		case errors.Is(err, volume.ErrNotVolume):
			continue
		case err != nil:
			v.Close()
			return nil, fmt.Errorf("%s: %w", terminal.ShowName(name), err)
		}
		v.list = append(v.list, i)
	}
	v.sort()
	return v, nil
}

// sort orders the volumes by the time of packing, and then by name.
func (v *Volumes) sort() {
	slices.SortStableFunc(v.list, func(a, b *volumeItem) int {
		return cmp.Or(a.Value.Packed().Compare(b.Value.Packed()), cmp.Compare(a.Key, b.Key))
	})
}

// Names returns the names of all files that are named like volumes.
func (v *Volumes) Names() []string { return v.all }

// Close releases the volumes.
func (v *Volumes) Close() {
	for _, i := range v.list {
		v.n.volumes.Release(i)
	}
	v.list = nil
}

// Lookup finds the current state of a member: that of the last volume which has it. A hard link has the size of the file
// that it leads to. The error is fs.ErrNotExist if there is none.
func (v *Volumes) Lookup(ctx context.Context, name string) (*volume.Entry, error) {
	for _, i := range slices.Backward(v.list) {
		e, err := i.Value.Lookup(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			e, err = i.Value.Regular(ctx, e)
		}
		return e, err
	}
	return nil, fs.ErrNotExist
}

// Paths returns the paths of a member in all volumes that have it. The current state is the first.
func (v *Volumes) Paths(ctx context.Context, name string) (paths []string, err error) {
	list, err := v.states(ctx, name)
	for _, s := range list {
		paths = append(paths, memberName(s.Volume, name))
	}
	return paths, err
}

// memberName returns the path or the URL of a member.
func memberName(volume, member string) string {
	if remote.IsURL(volume) {
		return urls.Below(volume, member)
	}
	return volume + "/" + member // as it is: Join would change a name such as "./x.tar"
}

// later returns the last of the volumes after one that has a member, or "".
func (v *Volumes) later(ctx context.Context, than *volumeItem, name string) (string, error) {
	at := slices.Index(v.list, than)
	for _, i := range slices.Backward(v.list[at+1:]) {
		_, err := i.Value.Lookup(ctx, name)
		switch {
		case err == nil:
			return i.Key, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
	}
	return "", nil
}

// State is the state of a file that a member of a volume is.
type State struct {
	Volume  string    // the path or the URL of the volume, "" for other files
	Packed  time.Time // when the volume was packed, zero if that is lost
	Current string    // the volume that has the current state, "" if this is it or that is unknown
	Known   bool      // whether the volumes beside it were looked at
}

// State returns the state that a file is among those in the volumes beside its own. The run must have found it there, and
// the list of its files must be open. It is safe for concurrent use.
func (j File) State(ctx context.Context) (State, error) {
	m := j.states
	if m == nil {
		return State{}, nil
	}
	s := State{Volume: m.item.Key, Packed: m.item.Value.Packed(), Known: true}
	in := m.in
	if m.named {
		if s.Known = !remote.IsURL(m.item.Key); !s.Known {
			return s, nil
		}
		m.once.Do(func() { m.beside, m.failed = m.f.targets.in.OpenVolumes(ctx, folderOf(m.item.Key)) })
		if in = m.beside; m.failed != nil {
			return s, m.failed
		}
	}
	var err error
	s.Current, err = in.later(ctx, m.item, j.member)
	return s, err
}

// StatesOf returns the states in volumes of the file that an open member is, the current one first. There are none for
// other files, and of a member in a store or on a server, only its own is known.
func (n *Inputs) StatesOf(ctx context.Context, in *Input) (list []State, err error) {
	if in.volume == nil {
		return nil, nil
	}
	own := State{Volume: in.volume.file.Name, Packed: in.volume.Packed()} // its neighbours are not known
	if remote.IsURL(own.Volume) {
		return []State{own}, nil
	}
	v, err := n.OpenVolumes(ctx, folderOf(own.Volume))
	if err != nil {
		return nil, err
	}
	defer v.Close()
	return v.states(ctx, in.member)
}

// InVolume reports whether an input is a member of the volume with a name.
func (in *Input) InVolume(name string) bool { return in.volume != nil && in.volume.file.Name == name }

// states returns the states of a member in all volumes that have it, the current one first.
func (v *Volumes) states(ctx context.Context, name string) (list []State, err error) {
	for _, i := range slices.Backward(v.list) {
		_, err := i.Value.Lookup(ctx, name)
		switch {
		case err == nil:
			s := State{Volume: i.Key, Packed: i.Value.Packed(), Known: true}
			if len(list) > 0 {
				s.Current = list[0].Volume
			}
			list = append(list, s)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return list, nil
}

// membersOf are the members of a volume as files of a command line. They are found as the run goes on.
type membersOf struct {
	f       *Finder
	in      *Volumes // with its neighbours
	item    *volumeItem
	file    File   // the volume
	under   string // the folder of the volume below FILE, or ""
	pred    Pred
	pull    func() (*volume.Entry, error, bool)
	stop    func()
	err     error
	current bool

	named  bool // the FILE is this volume
	once   sync.Once
	beside *Volumes // of a named volume, for the states of its members
	failed error
}

func (m *membersOf) name() string { return terminal.ShowName(m.file.Name) }

func (m *membersOf) failure() error { return m.err }

func (m *membersOf) close() {
	if m.stop != nil {
		m.stop()
	}
	m.in.Close()
	if m.beside != nil {
		m.beside.Close()
	}
}

// addVolumes adds the members of the volumes of a folder, or of a volume that is named. under is the path of the folder below
// FILE.
func (f *Finder) addVolumes(ctx context.Context, files []File, under string, named bool, pred Pred, failed func(name string, err error), out *List) {
	sources, skipped := f.membersIn(ctx, files, under, pred, failed)
	out.skipped += skipped
	for _, s := range sources {
		s.named = named
		out.add(f, s)
	}
}

// membersIn returns the members of the volumes of a folder, and the number of volumes that --as-of leaves out.
func (f *Finder) membersIn(ctx context.Context, files []File, under string, pred Pred, failed func(name string, err error)) (sources []*membersOf, skipped int64) {
	n := f.targets.in
	group := &Volumes{n: n}
	byItem := map[*volumeItem]File{}
	for _, j := range files {
		i, err := n.useVolume(ctx, j)
		if err != nil {
			failed(terminal.ShowName(j.Name), err)
			continue
		}
		if !f.AsOf.IsZero() && i.Value.Packed().After(f.AsOf) {
			skipped++
			f.skip(j.Name, "packed at "+i.Value.Packed().UTC().Format(time.RFC3339))
			n.volumes.Release(i)
			continue
		}
		group.list, byItem[i] = append(group.list, i), j
	}
	group.sort()
	for _, i := range group.list {
		sources = append(sources, &membersOf{f: f, in: group, item: i, file: byItem[i], under: under, pred: pred, current: f.Current})
	}
	return sources, skipped
}

func (m *membersOf) next(ctx context.Context) (File, bool) {
	if m.pull == nil {
		seq := m.item.Value.Members(ctx, "")
		if m.f.Checks {
			seq = m.item.Value.Verify(ctx)
		}
		m.pull, m.stop = iter.Pull2(seq)
	}
	for {
		e, damage, ok := m.pull()
		if !ok && m.err == nil {
			m.err = m.item.Value.Rebuilt() // members may be missing
		}
		if !ok || e == nil {
			m.err = errors.Join(m.err, damage)
			return File{}, false
		}
		j, ok, err := m.fileOf(ctx, e, damage)
		switch {
		case err != nil:
			m.err = err
			return File{}, false
		case ok:
			return j, true
		}
	}
}

// fileOf returns the file of a member of which something is damaged, or nothing. ok is false for folders and files of other shards.
func (m *membersOf) fileOf(ctx context.Context, e *volume.Entry, damage error) (j File, ok bool, err error) {
	if e.Kind == volume.Folder && damage == nil {
		return j, false, nil
	}
	rel := path.Join(filepath.ToSlash(m.under), e.Path)
	j = File{Name: memberName(m.file.Name, e.Path), Rel: filepath.FromSlash(rel), N: m.file.N, Size: e.Size, Modified: e.Modified, volume: &m.file, member: e.Path, states: m}
	if !m.f.sel.takes(j.Rel) {
		return j, false, nil
	}
	if j.err = damage; damage != nil {
		return j, true, nil
	}
	if j.skip = reason(m.f.sel.Rules.JudgeFile(rel)); j.skip != "" {
		return j, true, nil
	}
	if e.Kind == volume.Symlink {
		j.skip = symbolicLink
		return j, true, nil
	}
	if e.Kind == volume.HardLink {
		if e, err = m.item.Value.Regular(ctx, e); err != nil {
			return j, false, err
		}
		j.Size = e.Size
	}
	if e.HasSum {
		j.SHA256 = hex.EncodeToString(e.Sum[:])
	}
	if m.current {
		later, err := m.in.later(ctx, m.item, e.Path)
		if err != nil {
			return j, false, err
		}
		if later != "" {
			j.skip = "a later state is in " + terminal.ShowName(later)
			return j, true, nil
		}
	}
	j.skip, j.err = m.pred(Entry{Name: j.Name, member: &j, inputs: m.f.targets.in, object: ctx})
	return j, true, nil
}

// isVolume reports whether a file is a volume, which a walk takes for a folder. One that cannot be read is, if it is named
// so: its error is reported.
func (f *Finder) isVolume(ctx context.Context, j File) bool {
	name, _, _ := strings.Cut(j.Name, "?")
	if f.NoVolumes || path.Ext(name) != volume.Suffix || j.Name == terminal.StdinName {
		return false
	}
	i, err := f.targets.in.useVolume(ctx, j)
	if err == nil {
		f.targets.in.volumes.Release(i)
		return true
	}
	return errors.Is(err, archive.ErrCorrupt) || errors.Is(err, archive.ErrVersion)
}

// FindTrees finds the trees of FILEs that archive --whole has made. It calls failed for a damaged tree file.
func (f *Finder) FindTrees(ctx context.Context, names []string, failed func(name string, err error)) (list Trees) {
	for _, name := range names {
		of, err := f.FindTree(ctx, name)
		switch {
		case errors.Is(err, fs.ErrPermission): // only those who may read all of the tree may read its file
		case err != nil:
			failed(terminal.ShowName(TreePath(name)), err)
		case of != nil:
			list = append(list, of)
		}
	}
	return list
}

// FindTree finds the tree of a FILE as the function FindTree does, also if the FILE is a volume, or a folder of volumes, of
// which one has the tree file. Then it is that of the last one.
func (f *Finder) FindTree(ctx context.Context, file string) (*TreeOf, error) {
	of, err := FindTree(ctx, file)
	if of != nil || err != nil {
		return of, err
	}
	n := f.targets.in
	in, dir, one := &Volumes{n: n}, file, false
	if j := (File{Name: file}); f.isVolume(ctx, j) {
		i, err := n.useVolume(ctx, j)
		if err != nil {
			return nil, nil // the run reports it
		}
		in.list = append(in.list, i)
		one = true
		if dir = folderOf(file); remote.IsURL(file) {
			dir = file[:strings.LastIndexByte(file, '/')+1]
		}
	} else if in, err = f.volumesOf(ctx, file); in == nil || err != nil {
		return nil, nil
	}
	defer in.Close()
	for _, i := range slices.Backward(in.list) {
		if !f.AsOf.IsZero() && i.Value.Packed().After(f.AsOf) {
			continue
		}
		e, err := i.Value.Lookup(ctx, treefile.Name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		r, size, err := i.Value.Contents(ctx, e)
		if err != nil {
			return nil, err
		}
		t, err := readTree(io.NewSectionReader(ioat.Bind(ctx, r), 0, size), i.Key+"/"+treefile.Name)
		if err != nil {
			return nil, err
		}
		t.ByStored("")
		of := &TreeOf{Tree: t, Folder: dir, Below: ".", file: file, volumes: true, oneOfSeveral: one && hasOthers(file), links: map[string]string{}}
		for _, e := range t.Entries() {
			if e.Kind != treefile.Link && e.Kind != treefile.HardLink {
				continue
			}
			at := e.Placed()
			if e.Kind == treefile.HardLink && t.Find(e.To).Kind == treefile.Archive {
				at += treefile.Suffix
			}
			paths, err := in.Paths(ctx, at)
			if err != nil {
				return nil, err
			}
			if len(paths) > 0 {
				of.links[e.Path] = paths[0]
			}
		}
		return of, nil
	}
	return nil, nil
}

// hasOthers reports whether there may be other volumes beside one. In a store or on a server, nobody looks.
func hasOthers(file string) bool {
	if remote.IsURL(file) {
		return true
	}
	entries, _ := os.ReadDir(folderOf(file))
	return slices.ContainsFunc(entries, func(d fs.DirEntry) bool {
		return path.Ext(d.Name()) == volume.Suffix && d.Name() != filepath.Base(file)
	})
}

// volumesOf opens the volumes in a FILE that is a folder or a prefix. It returns nil for others. A prefix is listed once, if
// its first page is all of it.
func (f *Finder) volumesOf(ctx context.Context, file string) (*Volumes, error) {
	if !s3.IsPrefix(file) {
		if st, err := os.Stat(file); err != nil || !st.IsDir() {
			return nil, nil
		}
		return f.targets.in.OpenVolumes(ctx, file)
	}
	if f.begun == nil {
		f.begun = map[string]*s3.Listing{}
	}
	f.begun[file] = s3.NewListing(file)
	page, all, err := f.begun[file].First(ctx)
	if err != nil {
		delete(f.begun, file)
		return nil, err
	}
	if !all {
		return f.targets.in.OpenVolumes(ctx, file)
	}
	return f.targets.in.openVolumes(ctx, file, namesOf(page))
}

// listing returns the listing of a prefix.
func (f *Finder) listing(url string) *s3.Listing {
	if l := f.begun[url]; l != nil {
		delete(f.begun, url)
		return l
	}
	return s3.NewListing(url)
}

// ReadBack reads a volume of size bytes that w has written to the sink, before it appears. Standard output cannot be read.
func (s *Sink) ReadBack(ctx context.Context, w *volume.Writer, size int64) error {
	f := s.File()
	if f == nil {
		return nil
	}
	if err := w.ReadBack(ctx, f, size); err != nil {
		return fmt.Errorf("reading back: %w", err)
	}
	return nil
}

// CopyVolume writes a volume with the members of another one and a new index, and reads it back. It returns the number of
// members and the length in bytes.
func (n *Inputs) CopyVolume(ctx context.Context, name string, dst *Sink) (members, size int64, err error) {
	i, err := n.useVolume(ctx, File{Name: name})
	if err != nil {
		return 0, 0, err
	}
	defer n.volumes.Release(i)
	v := i.Value
	packed := v.Packed()
	if packed.IsZero() && v.file.Stat != nil { // the time is lost
		packed = v.file.Stat.ModTime()
	}
	n.Uses(name)
	w := volume.NewWriter(CtxWriter{Ctx: ctx, W: dst}, packed)
	defer w.Abort()
	for e, err := range v.Members(ctx, "") {
		if err != nil {
			return 0, 0, err
		}
		var contents io.Reader
		if e.Kind == volume.File {
			r, size, err := v.Contents(ctx, e)
			if err != nil {
				return 0, 0, err
			}
			contents = io.NewSectionReader(ioat.Bind(ctx, r), 0, size)
			e.HasSum = path.Ext(e.Path) != Suffix
		}
		if err := w.Add(e, contents); err != nil {
			return 0, 0, err
		}
	}
	members = w.Members()
	if size, err = w.Finish(); err == nil {
		err = dst.ReadBack(ctx, w, size)
	}
	return members, size, err
}
