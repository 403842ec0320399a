//go:build !386 && !arm

package mountns

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/fusefs"
)

// ErrServer reports that the server has ended. It has printed the reason.
var ErrServer = errors.New("the server of the folders has ended")

// Enter mounts folders, which are results of Folders, and waits for the server. Signals end the
// process from now on. Errors are *RefusedError, *fs.PathError, or ErrServer.
func Enter(socket int, folders []string) error {
	unix.CloseOnExec(socket)
	defer unix.Close(socket)
	// The program may have caught or ignored them. Handlers end when another program begins.
	signal.Reset()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// New mounts of the system, such as those of autofs, appear in this namespace, and the folders
	// appear nowhere else.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return refused("/proc/sys", failed("mount", err))
	}
	for _, at := range folders {
		device, err := fusefs.MountDevice(at)
		if err != nil {
			var p *fs.PathError
			if errors.As(err, &p) && p.Path == at {
				err = refused("/proc/sys", err)
			}
			return err
		}
		err = unix.Sendmsg(socket, []byte{0}, unix.UnixRights(int(device.Fd())), nil, unix.MSG_NOSIGNAL)
		device.Close()
		if err != nil {
			return ErrServer
		}
	}
	if n, _, err := receive(socket, nil); err != nil || n == 0 {
		return ErrServer
	}
	for _, at := range folders {
		fusefs.MoreReadAhead(at)
	}
	return nil
}

// Exec replaces this process by a command in the working folder wd, as it appears now. Errors are
// exec.ErrNotFound and those of the system.
func Exec(wd string, args []string) error {
	if err := os.Chdir(wd); err != nil {
		return err
	}
	path, err := exec.LookPath(args[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return err
	}
	runtime.LockOSThread()
	if err := dropInheritable(); err != nil {
		return failed("capset", err)
	}
	// Each thread has this setting of its own, and this one stays.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0, 0, 0); err != nil {
		return failed("prctl", err)
	}
	err = syscall.Exec(path, args, os.Environ())
	if err == syscall.ENOEXEC { // as in execvp(3)
		err = syscall.Exec("/bin/sh", append([]string{"sh", path}, args[1:]...), os.Environ())
	}
	return &os.PathError{Op: "exec", Path: path, Err: err}
}

// dropInheritable makes this thread lose the capabilities of the user namespace at the next exec, unless its
// user is root.
func dropInheritable() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	data[0].Inheritable, data[1].Inheritable = 0, 0 // and thereby the ambient ones
	return unix.Capset(&header, &data[0])
}

// receive receives a message of one byte and its control data. n is 0 at the end.
func receive(socket int, control []byte) (n, controlLen int, err error) {
	for {
		n, controlLen, _, _, err = unix.Recvmsg(socket, make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC)
		if err != unix.EINTR {
			return n, controlLen, err
		}
	}
}
