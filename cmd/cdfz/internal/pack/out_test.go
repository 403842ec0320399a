package pack

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/volume"
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
	o := &output{v: &packer{}, sink: u, w: volume.NewWriter(u, time.Unix(0, 0)), begun: 1}
	require.ErrorIs(t, o.finish(t.Context()), u.err)
	o.abort()
	require.False(t, u.committed)
	require.True(t, u.aborted)
}
