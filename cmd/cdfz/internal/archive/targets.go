package archive

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/unpack"
	"github.com/cdfz-format/cdfz/remote"
)

// imageName returns the name or path of the netCDF file in a source.
func (v *archiver) imageName(ctx context.Context, j fileio.File, path string) string {
	if v.unpacks && unpack.Is(ctx, v.run.In, j) {
		return unpack.Name(path)
	}
	return path
}

// target returns the target of a job.
func (v *archiver) target(ctx context.Context, j fileio.File) (string, error) {
	return v.run.Targets.PathOf(j, func(s string) (string, error) { return v.imageName(ctx, j, s) + fileio.Suffix, nil })
}

// checkTargets checks the targets of all files before anything is written. Two files may have one
// target only if they hold the same image. No target may be a source or the file of receipts.
func (v *archiver) checkTargets(ctx context.Context) error {
	if v.run.Dest.IsStdout() {
		return v.checkReceipts(nil, nil)
	}
	targets := make(map[string][]int, len(v.files.Files)) // jobs by place
	for i := range v.files.Files {
		j := &v.files.Files[i]
		path, err := v.target(ctx, *j)
		if err != nil {
			continue // the job reports it
		}
		j.Place = v.run.Targets.Place(path)
		targets[j.Place] = append(targets[j.Place], i)
	}
	sources := make(map[string]int, len(v.files.Files))
	for i, j := range v.files.Files {
		if j.Name == terminal.StdinName || remote.IsURL(j.Name) {
			continue
		}
		sources[v.run.Targets.Place(j.Name)] = i
		if to := linked(j.Name); to != j.Name {
			sources[v.run.Targets.Place(to)] = i
		}
	}
	if err := v.checkReceipts(targets, sources); err != nil {
		return err
	}
	for i, j := range v.files.Files {
		list := targets[j.Place]
		if len(list) == 0 || list[0] != i {
			continue
		}
		if s, ok := sources[j.Place]; ok && s != i {
			// An archive with the name of an archive is no source; its job reports that.
			if v.run.In.IsClassic(ctx, v.files.Files[s]) {
				return terminal.Hinted(fmt.Errorf("%s: its target is the source %s", terminal.ShowName(j.Name), terminal.ShowName(v.files.Files[s].Name)), targetsHint)
			}
		}
		if err := v.sameImage(ctx, list); err != nil {
			return err
		}
	}
	return nil
}

const targetsHint = "nothing was written; another -o for one of them keeps both"

// sameImage returns an error unless all jobs of a list have the same image.
func (v *archiver) sameImage(ctx context.Context, list []int) error {
	var first *imageSum
	var name string
	for _, i := range list {
		if len(list) == 1 {
			break
		}
		j := v.files.Files[i]
		m, err := v.imageOf(ctx, j)
		if ctx.Err() != nil {
			return nil // which the run reports
		}
		switch {
		case err != nil: // it will not be archived
		case first == nil:
			first, name = m, j.Name
		case *m != *first:
			path, _ := v.target(ctx, j)
			return terminal.Hinted(fmt.Errorf("%s and %s are different files with the same target %s", terminal.ShowName(name), terminal.ShowName(j.Name), path), targetsHint)
		}
	}
	return nil
}

// imageSum identifies a netCDF file.
type imageSum struct {
	size   int64
	sha256 string
}

// openImage opens the netCDF file in a source.
func (v *archiver) openImage(ctx context.Context, j fileio.File) (*fileio.Input, error) {
	in, err := v.run.In.OpenFile(ctx, j)
	if err != nil || !v.unpacks {
		return in, err
	}
	if _, err := unpack.Open(ctx, in); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// imageOf returns the image in a source.
func (v *archiver) imageOf(ctx context.Context, j fileio.File) (*imageSum, error) {
	in, err := v.openImage(ctx, j)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	sum, err := in.SHA256(ctx, nil)
	return &imageSum{in.Size, sum}, err
}

// checkReceipts returns an error if the file of receipts is a target or a source.
func (v *archiver) checkReceipts(targets map[string][]int, sources map[string]int) error {
	if v.proof.name == "" {
		return nil
	}
	place := v.run.Targets.Place(linked(v.proof.name))
	if list := targets[place]; len(list) > 0 {
		return fmt.Errorf("--receipts %s: is the target of %s", v.proof.name, terminal.ShowName(v.files.Files[list[0]].Name))
	}
	if _, ok := sources[place]; ok {
		return fmt.Errorf("--receipts %s: is a FILE of this command", v.proof.name)
	}
	return nil
}

// linked follows symbolic links to a file, which may be missing.
func linked(name string) string {
	for range 40 {
		to, err := os.Readlink(name)
		if err != nil {
			break
		}
		if !filepath.IsAbs(to) {
			dir, _ := filepath.Split(name)
			to = dir + to
		}
		name = to
	}
	return name
}

// checkEarlier returns an error if a receipt of an earlier run is for the same target, but for
// another file than the one that is now to be archived there.
func (v *archiver) checkEarlier(ctx context.Context) error {
	if v.proof.file == nil || v.run.Rules.Force && v.run.Rules.ReplaceOther {
		return nil // each file is judged when it is replaced
	}
	for _, j := range v.files.Files {
		path, err := v.target(ctx, j)
		if err != nil || remote.IsURL(j.Name) || j.Name == terminal.StdinName {
			continue
		}
		list, err := v.proof.of(ctx, v.run, path)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			continue
		}
		rec := list[len(list)-1]
		if source, err := filepath.Abs(j.Name); err != nil || source == rec.Source {
			continue
		}
		same := j.Size == rec.Size || v.imageName(ctx, j, j.Name) != j.Name
		if same {
			m, err := v.imageOf(ctx, j)
			if ctx.Err() != nil {
				return nil
			}
			same = err != nil || m.size == rec.Size && m.sha256 == rec.SHA256
		}
		if !same {
			err := fmt.Errorf("%s: a receipt in %s has the target %s for another file, %s", terminal.ShowName(j.Name), v.proof.name, path, terminal.ShowName(rec.Source))
			return terminal.Hinted(err, targetsHint)
		}
	}
	return nil
}
