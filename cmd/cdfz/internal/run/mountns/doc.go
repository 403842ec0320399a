// Package mountns runs a command in a mount namespace where folders show the originals of archives.
// It needs neither root nor fusermount3. It works on Linux with 64 bits (mount_namespaces(7),
// user_namespaces(7)).
//
// Three processes take part:
//
//   - The program that calls [Start]. It waits for the command.
//   - The command. It begins as this program in new namespaces, where it calls [Enter], which mounts
//     the folders, and then [Exec], which replaces the program by the command.
//   - The server: this program outside of the namespaces, where the folders have their own contents.
//     It calls [Serve], which answers the requests of the kernel until the last process in
//     the mount namespace ends. So processes that the command leaves behind can go on.
//
// The namespaces and their mounts end with their last process, even if processes are killed. The
// command is killed if the first process dies. If the server dies, everything in the folders fails
// with ENOTCONN.
//
// A process with the capability CAP_SYS_ADMIN, such as root, needs no user namespace. Others get one
// with the same user and group and nothing else.
package mountns

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Errors of Folders.
var (
	ErrFolder = errors.New("expected a folder")
	ErrRoot   = errors.New("the root folder cannot be shown")
)

// Folders returns the absolute paths of folders without links. A folder inside another one of the list
// is omitted, since that one shows it, too. Errors are *fs.PathError with the name of the folder.
func Folders(names []string) ([]string, error) {
	var all []string
	for _, name := range names {
		path, err := filepath.Abs(name)
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err != nil {
			return nil, pathError(name, err)
		}
		switch st, err := os.Stat(path); {
		case err != nil:
			return nil, pathError(name, err)
		case !st.IsDir():
			return nil, pathError(name, ErrFolder)
		case path == filepath.Dir(path):
			return nil, pathError(name, ErrRoot)
		}
		all = append(all, path)
	}
	slices.Sort(all)
	var out []string
	for _, path := range all {
		if !slices.ContainsFunc(out, func(up string) bool {
			return path == up || strings.HasPrefix(path, up+string(filepath.Separator))
		}) {
			out = append(out, path)
		}
	}
	return out, nil
}

// pathError names a file in an error, which replaces the name that the error has.
func pathError(name string, err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &os.PathError{Op: "run", Path: name, Err: err}
}

// Roles of the processes that Start makes.
type Role string

// Values of Role.
const (
	RoleCommand Role = "command"
	RoleServer  Role = "server"
)

// RefusedError reports that the system does not allow namespaces or mounts.
type RefusedError struct {
	Why string // the setting of the system; "" if it is not known
	Err error  // of the system, a syscall.Errno
}

func (e *RefusedError) Error() string {
	if e.Why == "" {
		return "the system or the container does not allow user namespaces with mounts: " + e.Err.Error()
	}
	return e.Why
}

func (e *RefusedError) Unwrap() error { return e.Err }
