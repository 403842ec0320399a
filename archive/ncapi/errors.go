package ncapi

import (
	"errors"
	"io"
	"os"

	"github.com/batchatco/go-native-netcdf/netcdf"
	"github.com/batchatco/go-native-netcdf/netcdf/cdf"

	"github.com/cdfz-format/cdfz/cdf3"
)

// openError marks the error of a file that cannot be opened with the matching error of
// netcdf.Open, which depends on the first bytes of the file.
func openError(name string, err error) error {
	if !errors.Is(err, cdf3.ErrNotCDF) {
		return damage(err)
	}
	var b [4]byte
	if f, err := os.Open(name); err == nil {
		io.ReadFull(f, b[:])
		f.Close()
	}
	like := netcdf.ErrUnknown
	switch {
	case string(b[:3]) == "CDF":
		like = cdf.ErrUnknownVersion
	case b[0] == 'C':
		like = cdf.ErrNotCDF
	}
	return &likeError{err, like}
}
