package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// UserFile is a file of users that is read again when it has changed. It is safe for concurrent use.
type UserFile struct {
	name string
	warn func(error)

	mu    sync.Mutex
	st    fs.FileInfo // of the file that was read or refused last; nil if there is none
	users *Users
}

// OpenUserFile reads a file as ReadUsers does. warn is called once with the error of each new state of the
// file that cannot be read.
func OpenUserFile(name string, warn func(error)) (*UserFile, error) {
	u := &UserFile{name: name, warn: warn}
	var err error
	if u.users, u.st, err = readUserFile(name); err != nil {
		return nil, err
	}
	return u, nil
}

// readUserFile reads a file of users. st describes the file that was opened, or is nil.
func readUserFile(name string) (users *Users, st fs.FileInfo, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if st, err = f.Stat(); err == nil {
		users, err = ReadUsers(f)
	}
	return users, st, err
}

// Users returns the users of the file as it is now. If it has become malformed or unreadable, they are those of its last
// good state. If it was removed, there are none until there is a good one again.
func (u *UserFile) Users() *Users {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.look()
	return u.users
}

// look reads the file again if it has changed.
func (u *UserFile) look() {
	st, err := os.Stat(u.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if u.st != nil {
			u.warn(errors.New("the file of users was removed: nobody may log in"))
		}
		u.st, u.users = nil, nil
		return
	case err != nil || u.st != nil && unchanged(u.st, st):
		return
	}
	users, opened, err := readUserFile(u.name)
	if opened == nil {
		opened = st
	}
	u.st = opened
	switch {
	case err == nil:
		u.users = users
	case u.users == nil:
		u.warn(fmt.Errorf("the new file of users is not used: %w", err))
	default:
		u.warn(fmt.Errorf("the new file of users is not used, and the users stay as they are: %w", err))
	}
}

// unchanged reports whether a file of users is as it was.
func unchanged(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode()
}
