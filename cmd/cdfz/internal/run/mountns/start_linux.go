//go:build !386 && !arm

package mountns

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Self makes the command line that calls Enter and Exec, or Serve, with these arguments. Its
// environment and streams are those of this process, except that the server has only standard error.
type Self func(role Role, socket int, oneOwner bool) []string

// Running has the processes that Start made. The caller waits for both, and calls CommandEnded after
// the first.
type Running struct {
	Command *exec.Cmd
	Server  *exec.Cmd
	socket  int // end of the command
}

// CommandEnded tells the server that nobody waits for messages any more. It may still serve processes
// that the command has left behind, but no longer uses standard error. Otherwise a program that reads
// that to its end would wait for them.
func (r *Running) CommandEnded() { unix.Close(r.socket) }

// Start makes the processes. The present goroutine must live as long as the command: the end of its
// thread kills the command. The error is a *RefusedError if the system forbids namespaces.
func Start(self Self) (*Running, error) {
	runtime.LockOSThread()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socketpair", err)
	}
	defer unix.Close(pair[1])
	alone := !mayMount()
	r := &Running{socket: pair[0]}

	r.Command = program(self(RoleCommand, pair[0], alone))
	r.Command.Stdin, r.Command.Stdout = os.Stdin, os.Stdout
	attr := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if alone {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN} // else a user other than root loses it when the program starts
	}
	r.Command.SysProcAttr = attr
	if err := startWith(r.Command, pair[0]); err != nil {
		r.CommandEnded()
		return nil, refused("/proc/sys", err)
	}

	r.Server = program(self(RoleServer, pair[1], alone))
	r.Server.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // keys of the terminal do not end it
	if err := startWith(r.Server, pair[1]); err != nil {
		_ = r.Command.Process.Kill()
		_ = r.Command.Wait()
		r.CommandEnded()
		return nil, err
	}
	return r, nil
}

func program(args []string) *exec.Cmd {
	return &exec.Cmd{Path: "/proc/self/exe", Args: args, Stderr: os.Stderr}
}

// startWith starts a program that inherits a file under the same number. Numbers from 3 on may
// belong to files that the caller of this program has opened for the command.
func startWith(c *exec.Cmd, fd int) error {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
		return err
	}
	defer unix.CloseOnExec(fd)
	return c.Start()
}

// mayMount reports whether this process has the capability CAP_SYS_ADMIN.
func mayMount() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	err := unix.Capget(&header, &data[0])
	return err == nil && data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// Code returns the exit code of a command as shells do: 128 and its number for a signal.
func Code(state *os.ProcessState) int {
	if s := state.Sys().(syscall.WaitStatus); s.Signaled() {
		return 128 + int(s.Signal())
	}
	return state.ExitCode()
}

// FromKeyboard reports whether this process is in the foreground of a terminal. Then SIGINT and
// SIGQUIT most likely come from its keyboard, and the command has received them, too.
func FromKeyboard() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// failed names a step in an error of the system.
func failed(step string, err error) error { return fmt.Errorf("%s: %w", step, err) }
