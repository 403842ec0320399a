package entropy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStop checks that a stop is seen after some more work, and from then on.
func TestStop(t *testing.T) {
	var none *Stop
	require.False(t, none.After(1<<30))
	require.False(t, new(Stop).After(1<<30))
	done := make(chan struct{})
	s := &Stop{Done: done}
	require.False(t, s.After(1))
	close(done)
	calls := 0
	for !s.After(1000) {
		calls++
	}
	require.LessOrEqual(t, calls, stopEvery/1000)
	require.True(t, s.After(1))
	s.Reset(nil)
	require.False(t, s.After(1<<30))
}
