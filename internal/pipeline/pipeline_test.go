package pipeline

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRun checks that items are passed on in order, that the first error in their order is returned, and that all
// are freed, with and without workers.
func TestRun(t *testing.T) {
	const n = 200
	failed := errors.New("failed")
	for _, workers := range []int{0, 1, 4} {
		for _, c := range []struct {
			name             string
			make, work, pass int // the item at which the step fails
			passed           int
			err              error
		}{
			{"all", n, n, n, n, nil},
			{"make", 50, n, n, 50, failed},
			{"work", n, 50, n, 50, failed},
			{"pass", n, n, 50, 50, failed},
			{"work first", 60, 50, n, 50, failed},
		} {
			t.Run(c.name, func(t *testing.T) {
				passed, freed, taken := 0, 0, 0
				err := Run(t.Context(), workers, 2*workers, Steps[int]{
					Make: func(_ context.Context, submit func(int) error) error {
						for i := range n {
							if i == c.make {
								return failed
							}
							err := submit(i)
							if err == nil || workers == 0 {
								taken++
							}
							if err != nil {
								return err
							}
						}
						return nil
					},
					Work: func(context.Context) func(int) error {
						return func(i int) error {
							time.Sleep(time.Duration(i%3) * 10 * time.Microsecond)
							if i == c.work {
								return failed
							}
							return nil
						}
					},
					Pass: func(i int) error {
						if i == c.pass {
							return failed
						}
						require.Equal(t, passed, i)
						passed++
						return nil
					},
					Free: func(i int) {
						require.Equal(t, freed, i)
						freed++
					},
				})
				require.Equal(t, c.err, err)
				require.Equal(t, c.passed, passed)
				require.Equal(t, taken, freed)
			})
		}
	}
}

// TestCancelled checks that the error is that of the caller's context.
func TestCancelled(t *testing.T) {
	for _, workers := range []int{0, 2} {
		ctx, cancel := context.WithCancelCause(t.Context())
		err := Run(ctx, workers, 2*workers, Steps[int]{
			Make: func(_ context.Context, submit func(int) error) error {
				for i := 0; ; i++ {
					if err := submit(i); err != nil {
						return err
					}
				}
			},
			Work: func(context.Context) func(int) error { return func(int) error { return nil } },
			Pass: func(i int) error {
				if i == 10 {
					cancel(errors.New("why"))
				}
				return nil
			},
		})
		require.Equal(t, context.Canceled, err)
	}
}
