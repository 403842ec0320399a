//go:build !unix && !windows

package nofollow

// NonBlock is for systems that have pipes among files.
const NonBlock = 0
