//go:build !386 && !arm

package mountns

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRefused checks the reasons that systems have.
func TestRefused(t *testing.T) {
	const general = "the system or the container does not allow user namespaces with mounts: operation not permitted"
	for _, c := range []struct {
		files map[string]string
		err   error
		want  string
	}{
		{nil, syscall.EPERM, general},
		{map[string]string{"user/max_user_namespaces": "96365\n", "kernel/unprivileged_userns_clone": "1\n", "kernel/apparmor_restrict_unprivileged_userns": "0\n"}, syscall.EPERM, general},
		{map[string]string{"user/max_user_namespaces": "0\n"}, syscall.ENOSPC, "user namespaces are turned off (the system's setting user.max_user_namespaces is 0)"},
		{map[string]string{"user/max_user_namespaces": "5\n"}, syscall.ENOSPC, "there are too many user namespaces (the system's setting user.max_user_namespaces is 5)"},
		{map[string]string{"kernel/unprivileged_userns_clone": "0\n"}, &os.PathError{Op: "fork/exec", Path: "/proc/self/exe", Err: syscall.EPERM},
			"user namespaces are turned off for users other than root (the system's setting kernel.unprivileged_userns_clone is 0)"},
		{map[string]string{"kernel/apparmor_restrict_unprivileged_userns": "1\n"}, failed("mount", syscall.EACCES),
			"AppArmor does not allow mounts in user namespaces (the system's setting kernel.apparmor_restrict_unprivileged_userns is 1)"},
		{map[string]string{"user/max_user_namespaces": "0\n"}, syscall.ENOMEM, ""},
		{nil, errors.New("other"), ""},
	} {
		dir := t.TempDir()
		for name, text := range c.files {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
		}
		got := refused(dir, c.err)
		var r *RefusedError
		if c.want == "" {
			require.Equal(t, c.err, got)
			continue
		}
		require.True(t, errors.As(got, &r))
		require.EqualError(t, got, c.want)
	}
}
