package fileio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/urls"
	"github.com/cdfz-format/cdfz/remote"
)

// Volumes are the volumes of a folder, in the order in which they were packed. The zero value has none.
type Volumes struct {
	n    *Inputs
	list []*volumeItem
	all  []string // names of all files that are named like volumes, without their folder

	lost map[*volumeItem]time.Time // times of packing that are lost, as sort takes them
}

// OpenVolumes opens the volumes in a folder, or with a prefix of a store. Other files are passed over, and a folder that
// is missing has none. A volume that cannot be opened is an error, or is left out, with a call of failed, if that is not nil. The
// caller must close the result.
func (n *Inputs) OpenVolumes(ctx context.Context, dir string, failed func(name string, err error)) (*Volumes, error) {
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
	return n.openVolumes(ctx, dir, names, failed)
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
func (n *Inputs) openVolumes(ctx context.Context, dir string, names []string, failed func(name string, err error)) (*Volumes, error) {
	v := &Volumes{n: n, all: names}
	for _, name := range v.all {
		i, err := n.useVolume(ctx, File{Name: urls.Below(dir, name)})
		switch {
		case errors.Is(err, volume.ErrNotVolume), errors.Is(err, fs.ErrNotExist): // also a link that leads nowhere
			continue
		case err != nil && failed != nil && ctx.Err() == nil:
			failed(terminal.ShowName(urls.Below(dir, name)), err)
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

// sort orders the volumes by the time of packing, and then by name. Where the time of one is lost with its end, it is taken for that
// of the volume before it in its series, which one run after the other writes; else for that of the next one, or else for that of its
// file, which a copy may have changed.
func (v *Volumes) sort() {
	byName := func(a, b *volumeItem) int {
		return cmp.Or(cmp.Compare(len(a.Key), len(b.Key)), cmp.Compare(a.Key, b.Key)) // volume 10000.tar follows 9999.tar
	}
	slices.SortFunc(v.list, byName)
	v.lost = map[*volumeItem]time.Time{}
	for n, i := range v.list {
		if !i.Value.Packed().IsZero() {
			continue
		}
		known := func(o *volumeItem) bool { return !o.Value.Packed().IsZero() && seriesOf(o.Key) == seriesOf(i.Key) }
		at := i.Value.filed()
		if k := slices.IndexFunc(v.list[n:], known); k >= 0 {
			at = v.list[n+k].Value.Packed()
		}
		for _, o := range slices.Backward(v.list[:n]) {
			if known(o) {
				at = o.Value.Packed()
				break
			}
		}
		v.lost[i] = at
	}
	slices.SortStableFunc(v.list, func(a, b *volumeItem) int { return cmp.Or(v.packed(a).Compare(v.packed(b)), byName(a, b)) })
}

// packed returns when a volume was packed, as sort takes it.
func (v *Volumes) packed(i *volumeItem) time.Time {
	if at, ok := v.lost[i]; ok {
		return at
	}
	return i.Value.Packed()
}

// Packed returns when the last of the volumes was packed, the zero time for none.
func (v *Volumes) Packed() time.Time {
	if len(v.list) == 0 {
		return time.Time{}
	}
	return v.packed(v.list[len(v.list)-1])
}

// Names returns the names of all files that are named like volumes.
func (v *Volumes) Names() []string { return v.all }

// Opened returns the paths or the URLs of the volumes.
func (v *Volumes) Opened() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, i := range v.list {
			if !yield(i.Key) {
				return
			}
		}
	}
}

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
		paths = append(paths, MemberName(s.Volume, name))
	}
	return paths, err
}

// MemberName returns the path or the URL of a member.
func MemberName(volume, member string) string {
	if remote.IsURL(volume) {
		return urls.Below(volume, member)
	}
	return volume + "/" + member // as it is: Join would change a name such as "./x.tar"
}

// Find returns the path or the URL of the current state of a member, and what it is. The error is fs.ErrNotExist if no volume
// has it.
func (v *Volumes) Find(ctx context.Context, name string) (at string, e *volume.Entry, err error) {
	for _, i := range slices.Backward(v.list) {
		e, err := i.Value.Lookup(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return MemberName(i.Key, name), e, err
	}
	return "", nil, fs.ErrNotExist
}

// Has reports whether the current state of a member has the kind, size, time, mode and owner of e.
func (v *Volumes) Has(ctx context.Context, e *volume.Entry) (bool, error) {
	old, err := v.Lookup(ctx, e.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return old.Kind == e.Kind && old.Mode == e.Mode && old.UID == e.UID && old.GID == e.GID && old.Size == e.Size && old.Target == e.Target && old.Modified.Equal(e.Modified), nil
}

// Prove returns an error unless the current state of a member is in a local volume that [Inputs.ProveVolume] accepts.
func (v *Volumes) Prove(ctx context.Context, name string) error {
	for _, i := range slices.Backward(v.list) {
		_, err := i.Value.Lookup(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		return v.n.prove(ctx, i.Value)
	}
	return fs.ErrNotExist
}

// Append adds a volume that was packed after all others.
func (v *Volumes) Append(ctx context.Context, name string) error {
	i, err := v.n.useVolume(ctx, File{Name: name})
	if err != nil {
		return err
	}
	v.list = append(v.list, i)
	return nil
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
