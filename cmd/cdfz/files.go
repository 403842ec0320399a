package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// job is one FILE of a verb that makes a file of each.
type job struct {
	name string // what to open
	rel  string // where the target lies below -o DIR/, before its ending changes
}

// isDirDest says whether -o names a folder.
func (a *app) isDirDest() bool {
	if a.dest == "" || a.dest == stdoutName {
		return false
	}
	if os.IsPathSeparator(a.dest[len(a.dest)-1]) {
		return true
	}
	st, err := os.Stat(a.dest)
	return err == nil && st.IsDir()
}

// stdoutName stands for standard output after -o.
const stdoutName = "-"

// checkDest finds what is wrong with -o before anything is done.
func (a *app) checkDest(args []string) error {
	switch {
	case a.dest == "" && len(args) == 1 && args[0] == stdinName:
		a.dest = stdoutName
	case a.dest == "" || a.isDirDest():
		return a.checkDirDest(args)
	}
	if len(args) > 1 {
		return hinted(fmt.Errorf("-o %s: one target for %d files", a.dest, len(args)), "-o DIR%c puts the targets into a folder", filepath.Separator)
	}
	if st, err := os.Stat(args[0]); err == nil && st.IsDir() && args[0] != stdinName {
		return hinted(fmt.Errorf("-o %s: one target for the folder %s", a.dest, args[0]), "-o DIR%c puts the targets into a folder", filepath.Separator)
	}
	if a.dest != stdoutName {
		return nil
	}
	if a.json {
		return errors.New("--json: the report cannot go to standard output together with the data")
	}
	if isTerminal(a.out) {
		return hinted(errors.New("will not write binary data to a terminal"), "-o FILE, or a pipe behind the command")
	}
	return nil
}

func (a *app) checkDirDest(args []string) error {
	for _, name := range args {
		if name == stdinName {
			return errors.New("standard input has no name: -o FILE gives the target's, -o - writes to standard output")
		}
	}
	if a.dest == "" {
		return nil
	}
	st, err := os.Stat(a.dest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("-o %s: no such folder", a.dest)
	case err != nil:
		return fmt.Errorf("-o %s: %w", a.dest, atomicfile.Cause(err))
	case !st.IsDir():
		return fmt.Errorf("-o %s: not a folder", a.dest)
	}
	return nil
}

// targetPath is where the result of a job goes; rename changes the ending of a
// path.
func (a *app) targetPath(j job, rename func(string) (string, error)) (string, error) {
	switch {
	case a.dest == "":
		return rename(localName(j.name))
	case a.isDirDest():
		rel, err := rename(j.rel)
		return filepath.Join(a.dest, rel), err
	}
	return a.dest, nil
}

// sink is where the result of a job is written: a target, or standard output.
type sink struct {
	io.Writer
	a *app
	t *atomicfile.File // nil: standard output
}

func (a *app) sink(path string, src *input) (*sink, error) {
	if path == stdoutName && a.dest == stdoutName {
		return &sink{a.out, a, nil}, nil
	}
	t, err := a.create(path, src)
	if err != nil {
		return nil, err
	}
	return &sink{t, a, t}, nil
}

func (s *sink) commit() error {
	if s.t == nil {
		return nil
	}
	return s.a.commit(s.t)
}

func (s *sink) abort() {
	if s.t != nil {
		s.t.Close()
	}
}

// eachFile calls one for every FILE in turn, of a folder for the files below it
// that wanted wants, until the run is stopped. It says whether there was a folder,
// and how many files in folders it passed over.
func (a *app) eachFile(ctx context.Context, args []string, wanted func(name string) (bool, error), one func(job) error, failed func(name string, err error)) (folders bool, passed int64) {
	for _, arg := range args {
		jobs := []job{{arg, baseName(arg)}}
		if a.stopped(ctx) {
			break
		}
		if st, err := os.Stat(arg); err == nil && st.IsDir() && arg != stdinName {
			folders = true
			var others int64
			jobs, others = walk(arg, wanted, failed)
			passed += others
		}
		for _, j := range jobs {
			if a.stopped(ctx) {
				break
			}
			if err := one(j); err != nil {
				failed(showName(j.name), err)
			}
		}
	}
	return folders, passed
}

// archiveName says whether a file below a folder is to be read as an archive. Its
// bytes do not tell: they may be damaged.
func archiveName(name string) (bool, error) {
	_, err := stripSuffix(name)
	return err == nil, nil
}

// walk lists the files below a folder that pred wants, and counts the others.
// Symbolic links below the folder are not followed. Errors go to fail.
func walk(dir string, pred func(name string) (bool, error), fail func(name string, err error)) (jobs []job, passed int64) {
	// With a separator at its end, a link to a folder is followed.
	root := dir
	if !os.IsPathSeparator(root[len(root)-1]) {
		root += string(filepath.Separator)
	}
	_ = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			fail(name, err)
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if d.IsDir() {
			return nil
		}
		if !d.Type().IsRegular() || atomicfile.IsTemporary(d.Name()) {
			passed++
			return nil
		}
		ok, err := pred(name)
		switch {
		case err != nil:
			fail(name, err)
		case !ok:
			passed++
		default:
			rel, err := filepath.Rel(root, name)
			if err != nil {
				fail(name, err)
				return nil
			}
			jobs = append(jobs, job{name, rel})
		}
		return nil
	})
	return jobs, passed
}
