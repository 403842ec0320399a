package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cdfz-format/cdfz/archive/joined"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/runlog"
)

// datasetReport is the JSON of joined files. The archives among them have reports of their own, before it.
type datasetReport struct {
	File     string  `json:"file"`
	OK       bool    `json:"ok"`
	Files    int     `json:"files"`
	Archives int     `json:"archives"`
	Damaged  int     `json:"damaged"` // archives
	Sampled  int     `json:"sampled"` // classic files of which the description has no SHA-256
	Seconds  float64 `json:"seconds"`
}

// dataset checks that joined files are those that were joined and still fit together, and every byte of
// the archives among them.
func (v *verifier) dataset(ctx context.Context, j *cli.Job) (verdict, error) {
	if v.against.given() || v.scrub.chooses() {
		return broken, errors.New("--against, --state and --sample are for archives, found a description of joined files")
	}
	start := time.Now()
	in, d, _, err := v.run.In.OpenDataset(ctx, j.File, j.Limits.OpenOptions())
	if err != nil {
		return broken, err
	}
	defer in.Close()
	desc := d.Description()
	rep := datasetReport{File: terminal.ReportName(j.Name), Files: len(desc.Members)}
	archives, err := archivesOf(ctx, j.Name, d)
	if err != nil {
		return broken, allBut(j, err)
	}
	o := &joined.Options{Open: *j.Limits.OpenOptions(), Workers: j.Limits.Workers}
	if rep.Sampled, _, err = desc.Verify(ctx, joined.Folder(j.Name), o, j.Term.Step(j.Name, int64(rep.Files), 0, 1)); err != nil {
		return broken, allBut(j, err)
	}
	for _, name := range archives {
		member := *j
		member.File, member.Entry = fileio.File{Name: name}, new(runlog.Entry)
		found, err := v.one(ctx, &member)
		if err != nil {
			return broken, fmt.Errorf("%s: %w", terminal.ShowName(name), err)
		}
		if rep.Archives++; found != intact {
			rep.Damaged++
		}
	}
	if err := in.Changed(); err != nil {
		return broken, err
	}
	rep.OK, rep.Seconds = rep.Damaged == 0, display.Round(time.Since(start).Seconds(), 6)
	j.Entry.ArchiveSize = in.Size
	if !rep.OK {
		j.Entry.Outcome, j.Entry.Exit = runlog.Damaged, terminal.ExitDamaged
		j.Entry.Error = fmt.Sprintf("%s damaged", display.Count(int64(rep.Damaged), "archive"))
	}
	name := terminal.ShowName(j.Name)
	switch {
	case j.Term.JSON:
		j.Term.Emit(&rep)
	case !rep.OK:
		j.Term.Print("%s: %d damaged", name, rep.Damaged)
	case rep.Sampled > 0:
		j.Term.Report("%s: ok; no SHA-256 of %s, compared by header, coordinates and a sample", name, display.Count(int64(rep.Sampled), "classic file"))
	default:
		j.Term.Report("%s: ok", name)
	}
	if !rep.OK {
		return broken, nil
	}
	return intact, nil
}

// archivesOf returns the names of the archives among the members, each once. It opens all members, so that
// those that were replaced are named.
func archivesOf(ctx context.Context, dataset string, d *joined.Dataset) (names []string, err error) {
	seen := map[string]bool{}
	var errs []error
	for i := range d.Description().Members {
		err := d.Part(ctx, i, func(p *joined.Part) error {
			if _, ok := p.File.Info(); !ok {
				return nil
			}
			name, err := joined.Resolve(dataset, p.Location)
			if err == nil && !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
			return err
		})
		if err != nil {
			if errs = append(errs, err); ctx.Err() != nil {
				break
			}
		}
	}
	return names, errors.Join(errs...)
}

// allBut reports all but the last of the errors that are joined in one, and returns that.
func allBut(j *cli.Job, err error) error {
	list, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	all := list.Unwrap()
	for _, e := range all[:len(all)-1] {
		j.Term.FailFile(j.Name, e)
	}
	return all[len(all)-1]
}
