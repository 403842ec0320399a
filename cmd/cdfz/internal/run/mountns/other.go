//go:build !linux || 386 || arm

package mountns

import (
	"errors"
	"os"
	"os/exec"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/fusefs"
)

// Self makes a command line of this program.
type Self func(role Role, socket int, oneOwner bool) []string

// Running has the processes that Start made.
type Running struct{ Command, Server *exec.Cmd }

// CommandEnded does nothing.
func (*Running) CommandEnded() {}

// ErrServer reports that the server has ended.
var ErrServer = errors.New("the server of the folders has ended")

// Start works on Linux with 64 bits only. Elsewhere it returns errors.ErrUnsupported.
func Start(Self) (*Running, error) { return nil, errors.ErrUnsupported }

// Enter returns errors.ErrUnsupported.
func Enter(int, []string) error { return errors.ErrUnsupported }

// Exec returns errors.ErrUnsupported.
func Exec(string, []string) error { return errors.ErrUnsupported }

// Serve returns errors.ErrUnsupported.
func Serve(int, []string, func(string) *fusefs.Options) error { return errors.ErrUnsupported }

// Code returns the exit code of a command.
func Code(state *os.ProcessState) int { return state.ExitCode() }

// FromKeyboard returns false.
func FromKeyboard() bool { return false }
