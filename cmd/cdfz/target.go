package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

var errTwice = errors.New("another FILE of this command has the same target")

// create starts the target of a FILE. src may be nil.
func (a *app) create(path string, src *input) (*atomicfile.File, error) {
	catchStop()
	o := &atomicfile.Options{Overwrite: a.force, MakeDirs: a.isDirDest()}
	if src != nil {
		o.Source = src.stat
	}
	if a.targets[filepath.Clean(path)] {
		return nil, fmt.Errorf("%s: %w", path, errTwice)
	}
	t, err := atomicfile.Create(path, o)
	if err != nil {
		return nil, targetHint(err, path)
	}
	a.targets[filepath.Clean(path)] = true
	return t, nil
}

// commit makes a target appear.
func (a *app) commit(t *atomicfile.File) error {
	if err := t.Commit(); err != nil {
		return targetHint(err, t.Path())
	}
	if left := t.Leftover(); left != "" {
		a.message("warning: %s: the temporary name %s cannot be removed", t.Path(), left)
	}
	return nil
}

// targetHint adds advice to an error of a target.
func targetHint(err error, path string) error {
	switch {
	case errors.Is(err, atomicfile.ErrExists):
		return hinted(err, "-f overwrites it")
	case errors.Is(err, atomicfile.ErrFolder):
		return hinted(err, "-o %s%c puts the target in it", path, filepath.Separator)
	case errors.Is(err, atomicfile.ErrNotRegular):
		return hinted(err, "-o - writes to standard output")
	}
	return err
}
