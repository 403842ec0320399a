//go:build !linux && !darwin && !freebsd

package storage

import (
	"errors"
	"os"
)

// Of looks at an open file or folder. The system does not tell much.
func (m *Mounts) Of(f *os.File) (*Place, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return &Place{info: info, unknown: "the system does not tell on which disk it is"}, nil
}

func mountPoint(*os.File, *Place) (bool, error) {
	return false, errors.New("the system does not tell what is mounted")
}
