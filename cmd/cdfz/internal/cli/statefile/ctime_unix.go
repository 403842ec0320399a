//go:build linux || openbsd

package statefile

import (
	"syscall"
	"time"
)

// changedAt returns when a file was last changed in any way.
func changedAt(st *syscall.Stat_t) time.Time { return time.Unix(st.Ctim.Unix()).UTC() }
