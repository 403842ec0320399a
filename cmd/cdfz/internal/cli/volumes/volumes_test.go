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
