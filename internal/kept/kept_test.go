package kept

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// thing counts how often it is closed.
type thing struct {
	closed int
	err    error
}

func (o *thing) Close() error {
	o.closed++
	return o.err
}

type items = Item[int, *thing]

func add(p *Pool[int, *thing], key int) *items { return p.Add(&items{Key: key, Value: &thing{}}) }

func all(int) bool { return true }

// TestPool checks which items stay open: those in use, the ones that were used last, and more of those that are held.
func TestPool(t *testing.T) {
	p := New[int, *thing](Limits{Idle: 2, Held: 3})
	var made []*items
	for key := range 8 {
		i := add(p, key)
		if key < 4 {
			p.Hold(i)
		}
		made = append(made, i)
	}
	require.Same(t, made[7], p.Add(&items{Key: 7, Value: &thing{}}))
	p.Retain(made[7])
	for range 3 {
		require.Zero(t, made[7].Value.closed)
		p.Release(made[7])
	}
	open := func() (keys []int) {
		for _, i := range made {
			require.LessOrEqual(t, i.Value.closed, 1)
			if i.Value.closed == 0 {
				keys = append(keys, i.Key)
			}
		}
		return keys
	}
	for _, i := range made[:7] {
		p.Release(i)
	}
	require.Equal(t, []int{1, 2, 3, 5, 6}, open())
	require.Nil(t, p.Use(0))
	p.Unhold(made[0])
	p.Unhold(made[2])
	require.Equal(t, []int{1, 2, 3, 6}, open(), "it was unheld last")
	require.Same(t, made[1], p.Use(1))
	n, used := p.Len()
	require.Equal(t, []int{4, 1}, []int{n, used})

	p.Forget(p.Use(3))
	require.Nil(t, p.Use(3))
	require.Zero(t, made[3].Value.closed)
	p.Release(made[3])
	require.Equal(t, 1, made[3].Value.closed)
	made[6].Value.err = errors.New("full")
	require.ErrorContains(t, p.Close(all), "full")
	require.Equal(t, []int{1}, open())
	p.Release(made[1])
	require.Empty(t, open())
	n, used = p.Len()
	require.Zero(t, n+used)
}

// TestTime checks that items which nobody holds are closed after a while.
func TestTime(t *testing.T) {
	p := New[int, *thing](Limits{Idle: 10, Held: 10, Time: time.Millisecond})
	held := add(p, 0)
	p.Hold(held)
	p.Release(held)
	for key := 1; key < 5; key++ {
		p.Release(add(p, key))
	}
	left := func(n int) {
		t.Helper()
		require.Eventually(t, func() bool { open, _ := p.Len(); return open == n }, time.Minute, time.Millisecond)
	}
	left(1)
	require.Same(t, held, p.Use(0))
	p.Release(held)
	p.Unhold(held)
	left(0)
}

// TestTogether uses items from many goroutines.
func TestTogether(t *testing.T) {
	p := New[int, *thing](Limits{Idle: 2, Held: 1})
	var g sync.WaitGroup
	for n := range 8 {
		g.Go(func() {
			for k := range 500 {
				i := add(p, (n+k)%5)
				if k%3 == 0 {
					p.Hold(i)
				}
				p.Release(i)
				if k%3 == 0 {
					p.Unhold(i)
				}
			}
		})
	}
	g.Wait()
	n, used := p.Len()
	require.LessOrEqual(t, n, 2)
	require.Zero(t, used)
	require.NoError(t, p.Close(all))
}
