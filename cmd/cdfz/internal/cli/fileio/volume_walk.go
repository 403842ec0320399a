package fileio

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/s3"
)

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
		group.list, byItem[i] = append(group.list, i), j
	}
	group.sort()
	if !f.AsOf.IsZero() {
		group.list = slices.DeleteFunc(group.list, func(i *volumeItem) bool {
			at := group.packed(i)
			if !at.After(f.AsOf) {
				return false
			}
			skipped++
			f.skip(byItem[i].Name, "packed at "+at.UTC().Format(time.RFC3339))
			n.volumes.Release(i)
			return true
		})
	}
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
	j = File{Name: MemberName(m.file.Name, e.Path), Rel: filepath.FromSlash(rel), N: m.file.N, Size: e.Size, Modified: e.Modified, volume: &m.file, member: e.Path, states: m}
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

// IsVolume reports whether a file is a volume, which a walk takes for a folder. One that cannot be read is, if it is named
// so, for any reason: its error is reported, since members may be missing.
func (f *Finder) IsVolume(ctx context.Context, j File) bool {
	name, _, _ := strings.Cut(j.Name, "?")
	if f.NoVolumes || path.Ext(name) != volume.Suffix || j.Name == terminal.StdinName {
		return false
	}
	i, err := f.targets.in.useVolume(ctx, j)
	if err == nil {
		f.targets.in.volumes.Release(i)
		return true
	}
	return ctx.Err() == nil && !errors.Is(err, volume.ErrNotVolume) && !errors.Is(err, fs.ErrNotExist)
}

// listing returns the listing of a prefix.
func (f *Finder) listing(url string) *s3.Listing {
	if l := f.begun[url]; l != nil {
		delete(f.begun, url)
		return l
	}
	return s3.NewListing(url)
}
