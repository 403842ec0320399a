// Package pack makes archives to measure.
package pack

import (
	"context"
	"os"

	"github.com/cdfz-format/cdfz/archive"
)

// File archives a classic file with blocks of the given size, or of the default size
// for 0.
func File(ctx context.Context, name, classic string, block int64) error {
	src, err := os.Open(classic)
	if err != nil {
		return err
	}
	defer src.Close()
	st, err := src.Stat()
	if err != nil {
		return err
	}
	dst, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = archive.Write(ctx, dst, src, st.Size(), &archive.WriteOptions{Block: block})
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	return err
}
