// Package xattr reads and sets the extended attributes of open files and folders. Only Linux has them here: elsewhere
// no file has any, and none can be set. Its functions are safe for concurrent use.
package xattr

import "strings"

// kept reports whether attributes with a name are what users and systems set, and not what a file system shows of its
// own state.
func kept(name string) bool {
	for _, space := range []string{"user.", "security.", "trusted.", "system.posix_acl_"} {
		if strings.HasPrefix(name, space) {
			return true
		}
	}
	return false
}
