// Package inputs finds and opens the files to measure.
package inputs

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
)

// Find lists the named files and those of a corpus, if any. It skips files of the
// corpus that were made for tests, since they are not real data.
func Find(names []string, corpus string) ([]string, error) {
	var inputs []string
	for _, name := range names {
		err := filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				inputs = append(inputs, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if corpus == "" {
		return inputs, nil
	}
	b, err := os.ReadFile(filepath.Join(corpus, "manifest.json"))
	if err != nil {
		return nil, err
	}
	var manifest struct {
		Valid []struct {
			File   string
			Origin struct{ Repo string }
		}
	}
	if err := json.Unmarshal(b, &manifest); err != nil {
		return nil, err
	}
	for _, f := range manifest.Valid {
		if f.Origin.Repo != "" {
			inputs = append(inputs, filepath.Join(corpus, filepath.FromSlash(f.File)))
		}
	}
	return inputs, nil
}

// Open writes a file to image, decompressed if it is gzipped, and opens it. It returns
// nil if the file is not a classic netCDF file.
func Open(name, image string) (*archive.File, error) {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		b, err = os.ReadFile(name + ".gz")
	}
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		if b, err = io.ReadAll(z); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(image, b, 0o666); err != nil {
		return nil, err
	}
	f, err := archive.Open(context.Background(), image, nil)
	if errors.Is(err, cdf3.ErrNotCDF) || errors.As(err, new(*cdf3.FormatError)) {
		return nil, nil
	}
	return f, err
}
