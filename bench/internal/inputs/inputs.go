// Package inputs finds and opens the files to measure.
package inputs

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/bench/internal/fields"
	"github.com/cdfz-format/cdfz/bench/internal/run"
	"github.com/cdfz-format/cdfz/cdf3"
)

// Each calls do with each classic file in the named files and folders (default: Debian's
// ferret-datasets), and with those of the corpus that CDFZ_CORPUS names. The file's own name is
// that of a temporary copy, since gzipped files are decompressed. name is the original's, without
// folder and .gz.
func Each(names []string, do func(name string, f *archive.File) error) error {
	if len(names) == 0 {
		names = []string{fields.FerretDir}
	}
	files, err := find(names, os.Getenv("CDFZ_CORPUS"))
	if err != nil {
		return err
	}
	for _, path := range files {
		if err := one(path, run.Temp("image.nc"), do); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// one calls do with a file unless it is not a classic netCDF file.
func one(path, image string, do func(name string, f *archive.File) error) error {
	f, err := open(path, image)
	if err != nil || f == nil {
		return err
	}
	defer f.Close()
	return do(filepath.Base(strings.TrimSuffix(path, ".gz")), f)
}

// find lists the named files and those of a corpus, if any. It skips files of the corpus that
// were made for tests, since they are not real data.
func find(names []string, corpus string) ([]string, error) {
	var files []string
	for _, name := range names {
		err := filepath.WalkDir(name, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if corpus == "" {
		return files, nil
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
			files = append(files, filepath.Join(corpus, filepath.FromSlash(f.File)))
		}
	}
	return files, nil
}

// open writes a file to image, decompressed if it is gzipped, and opens it. It returns nil if the
// file is not a classic netCDF file.
func open(name, image string) (*archive.File, error) {
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

// Large returns the file with this name or, if it is empty, a file of at least size bytes as
// bench/tile makes.
func Large(name string, size int64, maps bool) (string, error) {
	if name != "" {
		return name, nil
	}
	return run.Made("big.nc", func(path string) error {
		f, err := fields.Ferret(fields.FerretDir, size, maps)
		if err != nil {
			return err
		}
		return run.WriteFile(path, func(w io.Writer) error {
			_, err := f.WriteTo(w)
			return err
		})
	})
}

// Archive makes an archive of a classic file, with blocks of about a size.
func Archive(ctx context.Context, classic string, block int) (string, error) {
	return run.Made(fmt.Sprintf("block-%d.cdfz", block), func(path string) error {
		f, err := archive.Open(ctx, classic, nil)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = archive.WriteFile(ctx, path, f.Image(), f.Size(), &archive.WriteOptions{Block: int64(block)}, nil)
		return err
	})
}
