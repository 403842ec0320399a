//go:build unix || windows

package nofollow

import "syscall"

// NonBlock lets the opening of a pipe not wait for its other end.
const NonBlock = syscall.O_NONBLOCK
