package future

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFuture(t *testing.T) {
	failed := errors.New("failed")
	ended, cancel := context.WithCancel(t.Context())
	cancel()

	v := New[int]()
	require.False(t, v.Ready())
	_, err := v.Wait(ended)
	require.ErrorIs(t, err, context.Canceled)
	waiter := Go(func() (int, error) { return v.Get() })
	v.Set(7, failed)
	require.True(t, v.Ready())
	for _, ctx := range []context.Context{t.Context(), ended} { // what is made is returned
		n, err := v.Wait(ctx)
		require.Equal(t, 7, n)
		require.Equal(t, failed, err)
	}
	n, err := waiter.Get()
	require.Equal(t, 7, n)
	require.Equal(t, failed, err)
}

// TestPanic checks that waiters go on if the maker panics.
func TestPanic(t *testing.T) {
	v := New[int]()
	require.Panics(t, func() { v.Make(func() (int, error) { panic("no") }) })
	_, err := v.Wait(t.Context())
	require.ErrorIs(t, err, ErrPanicked)
}
