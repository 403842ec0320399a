//go:build !linux || 386 || arm

package fusefs

import (
	"errors"
	"os"
)

// Server is a mounted folder.
type Server struct{}

// Mount works on Linux with 64 bits only. Elsewhere it returns errors.ErrUnsupported.
func Mount(string, string, *Options) (*Server, error) { return nil, errors.ErrUnsupported }

// Wait returns when the folder is no longer mounted.
func (*Server) Wait() {}

// Done is closed when the folder is no longer mounted.
func (*Server) Done() <-chan struct{} { return nil }

// Close unmounts the folder.
func (*Server) Close() (busy bool, err error) { return false, nil }

// MountDevice works on Linux with 64 bits only. Elsewhere it returns errors.ErrUnsupported.
func MountDevice(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// Serve works on Linux with 64 bits only. Elsewhere it returns errors.ErrUnsupported.
func Serve(*os.File, string, *Options) (<-chan struct{}, error) { return nil, errors.ErrUnsupported }

// MoreReadAhead does nothing.
func MoreReadAhead(string) {}
