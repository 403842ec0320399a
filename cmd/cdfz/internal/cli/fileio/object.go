package fileio

import (
	"context"
	"os"
	"path/filepath"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/remote/s3"
)

// WriteObject makes a target. For a path it calls write with it. For the URL of an object it
// calls write with the path of a temporary file, which it uploads when it is complete and
// compared with its source, unless the options have NoCheck.
func (a *IO) WriteObject(ctx context.Context, target string, src *Input, o *archive.FileOptions, write func(path string) error) error {
	if !s3.IsURL(target) {
		return write(target)
	}
	dir, err := os.MkdirTemp("", "cdfz-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "file")
	if err := write(path); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	return a.Upload(ctx, target, src, !o.NoCheck, f, st.Size())
}
