package volumes

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
)

// unreadable is a target that cannot be read back.
type unreadable struct {
	err                error
	committed, aborted bool
}

func (u *unreadable) Write(p []byte) (int, error)                           { return len(p), nil }
func (u *unreadable) ReadBack(context.Context, *volume.Writer, int64) error { return u.err }
func (u *unreadable) Commit(context.Context) error                          { u.committed = true; return nil }
func (u *unreadable) Abort()                                                { u.aborted = true }

// TestNotReadBack checks that a volume does not appear unless it was read back.
func TestNotReadBack(t *testing.T) {
	u := &unreadable{err: errors.New("another byte")}
	o := &Writer{Earlier: new(fileio.Volumes), sink: u, w: volume.NewWriter(u, time.Unix(0, 0)), begun: 1, end: func() {}}
	require.ErrorIs(t, o.Finish(t.Context()), u.err)
	o.Close()
	require.False(t, u.committed)
	require.True(t, u.aborted)
}

// TestSizes checks that the folders above a member count for the length that a volume has with it.
func TestSizes(t *testing.T) {
	u := new(unreadable)
	o := &Writer{w: volume.NewWriter(u, time.Unix(0, 0)), begun: 1}
	member := &volume.Entry{Kind: volume.File, Size: 1000}
	for path := "d"; len(path) < 100; path += "/d" {
		o.Enter(&volume.Entry{Path: path, Kind: volume.Folder})
		member.Path = path + "/f"
	}
	alone, with := o.w.Size(member), o.sizeWith(o.w, member)
	require.Equal(t, with, o.sizeWith(volume.NewWriter(u, time.Unix(0, 0)), member))
	for _, a := range o.above {
		require.NoError(t, o.w.Add(a.Entry, nil))
		a.in = 1
	}
	require.NoError(t, o.w.Add(member, zeros{}))
	n, err := o.w.Finish()
	require.NoError(t, err)
	require.Greater(t, n, alone)
	require.LessOrEqual(t, n, with)
}

// zeros are contents.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
