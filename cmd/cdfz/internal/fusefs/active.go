//go:build linux && !386 && !arm

package fusefs

import (
	"sync/atomic"
	"time"
)

// active notes when the mount was used last.
type active struct {
	open atomic.Int64 // files
	last atomic.Int64 // ns of the last request
}

func (a *active) touch()  { a.last.Store(time.Now().UnixNano()) }
func (a *active) opened() { a.open.Add(1) }

func (a *active) closed() {
	a.touch()
	a.open.Add(-1)
}

// idle returns the time since the last use, 0 while files are open.
func (a *active) idle() time.Duration {
	if a.open.Load() > 0 {
		return 0
	}
	return time.Duration(time.Now().UnixNano() - a.last.Load())
}
