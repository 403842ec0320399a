package retry

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDo checks how often attempts are made, and how long the pauses are.
func TestDo(t *testing.T) {
	again, failed := Next{Again: true}, errors.New("failed")
	for _, c := range []struct {
		name     string
		attempts int
		next     []Next // the last one is repeated
		made     int
		most     []time.Duration
	}{
		{"once", 3, []Next{{}}, 1, nil},
		{"limit", 3, []Next{again}, 3, []time.Duration{8, 16}},
		{"single", 1, []Next{again}, 1, nil},
		{"no limit", 0, []Next{again, again, again, again, again, {}}, 6, []time.Duration{8, 16, 32, 40, 40}},
		{"further", 2, []Next{again, {Again: true, Further: true}, {Again: true, Further: true}, again}, 4, []time.Duration{8, 8, 8}},
		{"after", 2, []Next{{Again: true, After: 100}}, 2, []time.Duration{100}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var pauses []time.Duration
			p := Policy{Attempts: c.attempts, First: 8, Longest: 40, Sleep: func(_ context.Context, d time.Duration) error {
				pauses = append(pauses, d)
				return nil
			}}
			made := 0
			require.Equal(t, failed, p.Do(t.Context(), func() (Next, error) {
				made++
				return c.next[min(made, len(c.next))-1], failed
			}))
			require.Equal(t, c.made, made)
			require.Len(t, pauses, len(c.most))
			for i, d := range pauses {
				require.LessOrEqual(t, d, c.most[i])
				require.GreaterOrEqual(t, d, c.most[i]/2)
			}
		})
	}
}

// TestDone checks that a context ends the attempts and a pause.
func TestDone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := Policy{First: time.Hour, Longest: time.Hour}
	time.AfterFunc(time.Millisecond, cancel)
	require.ErrorIs(t, p.Do(ctx, func() (Next, error) { return Next{Again: true}, nil }), context.Canceled)
	failed, made := errors.New("failed"), 0
	require.Equal(t, failed, p.Do(ctx, func() (Next, error) {
		made++
		return Next{Again: true}, failed
	}))
	require.Equal(t, 1, made)
}
