package fileio

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/cdfz-format/cdfz/remote"
)

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
		m.once.Do(func() { m.beside, m.failed = m.f.targets.in.OpenVolumes(ctx, folderOf(m.item.Key), nil) })
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
	v, err := n.OpenVolumes(ctx, folderOf(own.Volume), nil)
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
