package restore

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/s3"
)

// planReport is the JSON of one file with --dry-run.
type planReport struct {
	File   string `json:"file"`
	Target string `json:"planned_target"`
	Kind   string `json:"kind,omitempty"` // plain for a file that was kept as it is
	Size   int64  `json:"size"`
}

// planSum is the JSON of the last line with --dry-run.
type planSum struct {
	Planned   int64 `json:"planned_files"`
	Plain     int64 `json:"other_files,omitempty"` // that were kept as they are
	PlainSize int64 `json:"other_size,omitempty"`
	Unchanged int64 `json:"unchanged"`
	Failed    int64 `json:"failed"`
	Skipped   int64 `json:"skipped"`
	Size      int64 `json:"size"`
}

// need is what the targets of a run take on a file system.
type need struct {
	*fileio.Room
	size, files int64
}

// dryRun reports what a run would restore, and fails if there is too little room for it. It writes nothing.
func (v *restorer) dryRun(ctx context.Context, args []string, files *fileio.List, failed func(name string, err error)) {
	var rooms fileio.Rooms
	var needs []*need
	var sum planSum
	v.run.Parallel(ctx, *files, cli.Work{Failed: failed, Fixed: 8 << 20, Light: true, One: func(ctx context.Context, j *cli.Job) (func(), error) {
		rep, err := v.plan(ctx, j)
		return func() {
			switch {
			case err != nil:
				return
			case rep == nil:
				sum.Unchanged++
				return
			case rep.Kind != "":
				sum.Plain++
				sum.PlainSize += rep.Size
			default:
				sum.Planned++
				sum.Size += rep.Size
			}
			if room := rooms.Of(v.run.Targets, j.File); room != nil {
				i := slices.IndexFunc(needs, func(n *need) bool { return n.Room == room })
				if i < 0 {
					i = len(needs)
					needs = append(needs, &need{Room: room})
				}
				needs[i].size += rep.Size
				needs[i].files++
			}
			if v.run.Term.JSON {
				v.run.Term.Emit(rep)
			} else {
				v.run.Term.Report("%s -> %s, %s", terminal.ShowName(rep.File), rep.Target, display.Size(rep.Size))
			}
		}, err
	}})
	for _, n := range needs {
		if !v.run.Term.JSON {
			v.run.Term.Report("dry run: %s: %s free for %s of files; files that are replaced are not counted", n.Place, display.Size(n.Bytes), display.Size(n.size))
		}
		switch {
		case n.size > n.Bytes:
			v.run.Term.FailFile(n.Place, fmt.Errorf("expected room for %s of files, found %s free", display.Size(n.size), display.Size(n.Bytes)))
		case n.Files >= 0 && n.files > n.Files:
			v.run.Term.FailFile(n.Place, fmt.Errorf("expected room for %s, found %d free", display.Count(n.files, "file"), n.Files))
		}
	}
	sum.Failed, sum.Skipped = v.sum.Failed, files.Skipped()
	if sum.Planned+sum.Plain+sum.Unchanged == 0 && v.nothing(ctx) {
		v.run.NoArchives(args)
		return
	}
	if v.run.Term.JSON {
		v.run.Term.Emit(struct {
			Summary planSum `json:"summary"`
		}{sum})
		return
	}
	line := fmt.Sprintf("dry run: %s, %s", display.Count(sum.Planned, "file"), display.Size(sum.Size))
	if sum.Plain > 0 {
		line += fmt.Sprintf("; %s as they were, %s", display.Count(sum.Plain, "other file"), display.Size(sum.PlainSize))
	}
	if sum.Unchanged > 0 {
		line += fmt.Sprintf("; %d restored before", sum.Unchanged)
	}
	v.run.Term.Report("%s%s", line, files.SummaryTail(ctx, sum.Failed))
}

// plan returns what would be done with a file, nil if it is restored already. The error is that of a run, as far as it can
// be known before.
func (v *restorer) plan(ctx context.Context, j *cli.Job) (*planReport, error) {
	rep := &planReport{File: terminal.ReportName(j.Name)}
	rename := fileio.StripSuffix
	info := archive.Info{}
	e := v.tree.place(j)
	switch {
	case fileio.IsDataset(j.Name):
		in, _, f, err := v.run.In.OpenDataset(ctx, j.File, j.Limits.OpenOptions())
		if err != nil {
			return nil, err
		}
		defer in.Close()
		rename, info.ImageSize = fileio.StripDatasetSuffix, f.Image().Size()
	case v.tree.isPlain(j):
		if v.run.Dest.Name == "" {
			return nil, nil // it is where it is restored
		}
		rename, info.ImageSize, info.SHA256, rep.Kind = nil, e.Size, e.SHA256, "plain"
	default:
		in, f, err := v.run.In.OpenArchive(ctx, j.File, j.Limits.OpenOptions())
		if err != nil {
			return nil, err
		}
		defer in.Close()
		info, _ = f.Info()
	}
	var err error
	if rep.Target, err = v.run.Targets.PathOf(j.File, rename); err != nil {
		return nil, err
	}
	rep.Size = info.ImageSize
	d, err := v.decide(ctx, rep.Target, &info)
	if err != nil || d.Action == protect.Done {
		return nil, err
	}
	if d.Action == protect.Write && !s3.IsURL(rep.Target) {
		if _, err := os.Lstat(rep.Target); err == nil {
			return nil, fmt.Errorf("%s: %w", rep.Target, atomicfile.ErrExists)
		}
	}
	return rep, v.run.Targets.CanMake(j.File, rep.Target, j.Term)
}
