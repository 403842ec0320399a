//go:build unix

package archive

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// volumeOf identifies the file system of an open file.
func volumeOf(f *os.File) (string, error) {
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	s, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return "", errors.New("the system does not tell on which file system it is")
	}
	return fmt.Sprint(s.Dev), nil
}
