//go:build darwin || freebsd || netbsd

package statefile

import (
	"syscall"
	"time"
)

// changedAt returns when a file was last changed in any way.
func changedAt(st *syscall.Stat_t) time.Time { return time.Unix(st.Ctimespec.Unix()).UTC() }
