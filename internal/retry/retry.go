// Package retry does again what may succeed later: requests, commands, locks.
package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

// Policy says how often something is attempted, and how long the pauses are.
type Policy struct {
	// Attempts is how many attempts in a row may fail before Do gives up. 0 means no limit.
	Attempts int
	// First is the longest pause before the second attempt. It doubles with each attempt, up to
	// Longest. A pause is at least half as long: it is random, so that clients that failed together do
	// not come back together.
	First, Longest time.Duration
	// Sleep waits until d has passed or ctx is done, which is an error. Nil means a timer.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Next is what follows an attempt. The zero value means that there is no other one.
type Next struct {
	Again   bool          // another attempt may succeed
	Further bool          // it got further than the one before: the attempts are counted anew from it
	After   time.Duration // the least pause, which may exceed Policy.Longest
}

// Do calls attempt until it wants no other attempt, the policy allows none, or ctx is done. It returns
// the error of the last attempt. If ctx has ended a pause after an attempt without an error, it returns that of ctx.
func (p Policy) Do(ctx context.Context, attempt func() (Next, error)) error {
	sleep := p.Sleep
	if sleep == nil {
		sleep = timer
	}
	pause, failed := p.First, 0
	for {
		next, err := attempt()
		if next.Further {
			pause, failed = p.First, 0
		}
		failed++
		if !next.Again || failed == p.Attempts || err != nil && ctx.Err() != nil {
			return err
		}
		wait := pause
		if half := pause / 2; half > 0 {
			wait = half + rand.N(half)
		}
		if ended := sleep(ctx, max(wait, next.After)); ended != nil {
			if err == nil {
				err = ended
			}
			return err
		}
		pause = min(2*pause, p.Longest)
	}
}

func timer(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
