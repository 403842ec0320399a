//go:build !386 && !arm

package mountns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// refused returns the reason why namespaces or mounts are not allowed. settings is the folder
// of the kernel's settings. Other errors are returned unchanged.
func refused(settings string, err error) error {
	var no syscall.Errno
	if !errors.As(err, &no) {
		return err
	}
	switch no {
	case syscall.EPERM, syscall.EACCES, syscall.EINVAL, syscall.ENOSYS, syscall.ENOSPC, syscall.EUSERS:
	default:
		return err
	}
	value := func(name string) string {
		b, err := os.ReadFile(filepath.Join(settings, filepath.FromSlash(strings.ReplaceAll(name, ".", "/"))))
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(b))
	}
	for _, s := range []struct{ name, off, who string }{
		{"user.max_user_namespaces", "0", "user namespaces are turned off"},
		{"kernel.unprivileged_userns_clone", "0", "user namespaces are turned off for users other than root"},      // Debian
		{"kernel.apparmor_restrict_unprivileged_userns", "1", "AppArmor does not allow mounts in user namespaces"}, // Ubuntu
	} {
		if value(s.name) == s.off {
			return &RefusedError{fmt.Sprintf("%s (the system's setting %s is %s)", s.who, s.name, s.off), no}
		}
	}
	if no == syscall.ENOSPC || no == syscall.EUSERS {
		return &RefusedError{fmt.Sprintf("there are too many user namespaces (the system's setting user.max_user_namespaces is %s)", value("user.max_user_namespaces")), no}
	}
	return &RefusedError{"", no}
}
