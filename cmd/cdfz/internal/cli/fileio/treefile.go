package fileio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stop"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/s3"
	"github.com/cdfz-format/cdfz/internal/urls"
	"github.com/cdfz-format/cdfz/remote"
)

// TreePath returns the path or the URL of the tree file of a folder.
func TreePath(folder string) string { return urls.Below(folder, treefile.Name) }

// ReadTree reads the tree file of a folder or a prefix. It returns nil if there is none.
func ReadTree(ctx context.Context, folder string) (*treefile.Tree, error) {
	path := TreePath(folder)
	var r io.Reader
	if remote.IsURL(folder) {
		f, err := remote.Open(ctx, path, nil)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = io.NewSectionReader(ioat.Bind(ctx, f), 0, f.Size())
	} else {
		in, err := OpenRegular(path, os.O_RDONLY)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, atomicfile.Cause(err))
		}
		defer in.Close()
		r = in.File
	}
	return readTree(r, path)
}

func readTree(r io.Reader, path string) (*treefile.Tree, error) {
	t, err := treefile.Read(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", terminal.ShowName(path), err)
	}
	return t, nil
}

// updates is how often a tree file is written again that other runs change at the same time.
const updates = 1000

// UpdateTree replaces the tree file of the folder of targets by what update makes of it, and returns the new tree once it is
// on disk. The file is written whole, and only if no other run has written it meanwhile. Otherwise update is called again.
// old is nil if there is no file. rights are those of the file.
func (t *Targets) UpdateTree(ctx context.Context, rights func(*os.File), update func(old *treefile.Tree) (*treefile.Tree, error)) (*treefile.Tree, error) {
	stop.Catch()
	path := TreePath(t.dest.Name)
	for n := range updates {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		tree, err := t.updateTree(ctx, path, rights, update)
		if !errors.Is(err, archive.ErrChanged) && !errors.Is(err, fs.ErrExist) && !errors.Is(err, atomicfile.ErrLocked) {
			return tree, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(1+n) * time.Millisecond):
		}
	}
	return nil, fmt.Errorf("%s: other programs change it again and again", terminal.ShowName(path))
}

func (t *Targets) updateTree(ctx context.Context, path string, rights func(*os.File), update func(old *treefile.Tree) (*treefile.Tree, error)) (*treefile.Tree, error) {
	if s3.IsURL(path) {
		return updateObject(ctx, path, update)
	}
	var old *treefile.Tree
	var before []byte
	var st fs.FileInfo
	in, err := OpenRegular(path, os.O_RDWR)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		defer in.Close()
		// Where there are no locks, what was read is compared when it is replaced.
		if err := atomicfile.Lock(in.File); errors.Is(err, atomicfile.ErrLocked) {
			return nil, err
		}
		if now, err := os.Stat(path); err != nil || !os.SameFile(now, in.Stat) {
			return nil, archive.ErrChanged
		}
		st = in.Stat
		if before, err = io.ReadAll(in.File); err != nil {
			return nil, err
		}
		if old, err = readTree(bytes.NewReader(before), path); err != nil {
			return nil, err
		}
	}
	tree, err := update(old)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := tree.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if st != nil && bytes.Equal(b.Bytes(), before) {
		return tree, nil
	}
	f, err := atomicfile.Create(path, &atomicfile.Options{Overwrite: st != nil, MakeDirs: true, Rights: rights,
		MayReplace: func(now fs.FileInfo, _ io.ReaderAt, _ int64) error {
			if !os.SameFile(now, st) || now.Size() != st.Size() || !now.ModTime().Equal(st.ModTime()) {
				return archive.ErrChanged
			}
			return nil
		}})
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Write(b.Bytes()); err != nil {
		return nil, err
	}
	return tree, f.Commit()
}

func updateObject(ctx context.Context, path string, update func(old *treefile.Tree) (*treefile.Tree, error)) (*treefile.Tree, error) {
	version, err := s3.Stat(ctx, path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var old *treefile.Tree
	var before []byte
	if err == nil {
		f, err := remote.Open(ctx, path, nil)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, archive.ErrChanged
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if before, err = io.ReadAll(io.NewSectionReader(ioat.Bind(ctx, f), 0, f.Size())); err != nil {
			return nil, err
		}
		if old, err = readTree(bytes.NewReader(before), path); err != nil {
			return nil, err
		}
	} else {
		version = nil
	}
	tree, err := update(old)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := tree.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("%s: %w", terminal.ShowName(path), err)
	}
	if version != nil && bytes.Equal(b.Bytes(), before) {
		return tree, nil
	}
	err = s3.Upload(ctx, path, bytes.NewReader(b.Bytes()), int64(b.Len()), &s3.UploadOptions{Replace: version})
	if version != nil && errors.Is(err, fs.ErrNotExist) {
		return nil, archive.ErrChanged
	}
	return tree, OfTarget(err)
}
