//go:build !386 && !arm

package mountns

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/fusefs"
)

// Serve serves the folders that Enter mounts, in the same order. It returns when the last process in
// the namespace has ended. It closes standard error when the command has ended or the first
// process is dead. options makes the options for a folder.
func Serve(socket int, folders []string, options func(folder string) *fusefs.Options) error {
	unix.CloseOnExec(socket)
	defer unix.Close(socket)
	unix.Umask(0) // see fusefs.Serve
	var ends []<-chan struct{}
	for _, at := range folders {
		device, err := receiveFile(socket)
		if err != nil || device == nil {
			return err // the other side has printed the reason
		}
		done, err := fusefs.Serve(device, at, options(at))
		if err != nil {
			return err
		}
		ends = append(ends, done)
	}
	if err := unix.Sendmsg(socket, []byte{0}, nil, nil, unix.MSG_NOSIGNAL); err != nil {
		return nil // the command was killed
	}
	go func() {
		_, _, _ = receive(socket, nil)
		silence()
	}()
	for _, done := range ends {
		<-done
	}
	return nil
}

// silence lets go of standard error.
func silence() {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		unix.Close(2)
		return
	}
	_ = unix.Dup3(int(null.Fd()), 2, 0)
	null.Close()
}

// receiveFile receives an open file. It returns nil at the end.
func receiveFile(socket int) (*os.File, error) {
	control := make([]byte, unix.CmsgSpace(4)) // one number
	n, controlLen, err := receive(socket, control)
	if err == unix.ECONNRESET || err == nil && n == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, failed("recvmsg", err)
	}
	messages, err := unix.ParseSocketControlMessage(control[:controlLen])
	if err != nil || len(messages) != 1 {
		return nil, failed("recvmsg", unix.EBADMSG)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, failed("recvmsg", unix.EBADMSG)
	}
	return os.NewFile(uintptr(fds[0]), "/dev/fuse"), nil
}
