package archive

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/s3"
)

// The sample of --dry-run is archived in memory. It has about sampleFiles files. No file is begun after
// sampleTime, and none takes longer, so that all takes seconds. The archives of files of up to
// sampleBytes are kept for reading them back.
const (
	sampleFiles = 8
	sampleBytes = 64 << 20
	sampleTime  = 10 * time.Second
)

// planReport is the JSON of one file with --dry-run.
type planReport struct {
	File   string `json:"file"`
	Target string `json:"planned_target"`
	Size   int64  `json:"size"`
	// Kept is the reason why --delete-source would keep the source, "" for none or without the option.
	Kept string `json:"source_kept,omitempty"`
}

// planSum is the JSON of the last line with --dry-run. The estimates are 0 if nothing was sampled.
type planSum struct {
	Planned   int64   `json:"planned_files"`
	Unchanged int64   `json:"unchanged"`
	Failed    int64   `json:"failed"`
	Skipped   int64   `json:"skipped"`
	Size      int64   `json:"size"`
	Sampled   int64   `json:"sampled"` // bytes
	Stored    int64   `json:"estimated_archive_size"`
	Seconds   float64 `json:"estimated_seconds"`
	*fates            // with --delete-source
}

// dryRun reports what a run would archive, and estimates how long it takes from a sample. It writes
// nothing but unnamed temporary files of --decompress.
func (v *archiver) dryRun(ctx context.Context) {
	var planned []fileio.File
	total := int64(0)
	fresh := *v
	fresh.sum = archiveSum{}
	var fate *fates
	if v.proof.deletes {
		fate = new(fates)
	}
	v.StartProgress("dry run", v.files.Sizes()...)
	v.Parallel(ctx, v.files, cli.Work{Failed: v.failed, Fixed: 8 << 20, One: func(a *cli.Run, j fileio.File) (func(), error) {
		w := fresh
		w.Run, w.opts.Workers = a, a.Workers
		rep, source, err := w.plan(ctx, j)
		return func() {
			v.sum.add(&w.sum)
			if fate != nil && source != nil {
				fate.add(source.Kept, source.Size)
			}
			if rep == nil {
				return
			}
			j.Size = rep.Size
			planned = append(planned, j)
			total += rep.Size
			if v.JSON {
				v.Emit(rep)
			} else {
				v.Report("%s -> %s, %s", rep.File, rep.Target, display.Size(rep.Size))
			}
		}, err
	}})
	sum := planSum{Planned: int64(len(planned)), Unchanged: v.sum.Unchanged, Failed: v.sum.Failed, Skipped: v.files.Skipped(), Size: total, fates: fate}
	s := v.sample(ctx, planned, total)
	if sum.Sampled = s.size; s.size > 0 {
		sum.Stored = int64(s.stored)
		sum.Seconds = display.Round(float64(total)/float64(s.size)*s.seconds, 3)
	}
	for _, n := range v.needs(planned) {
		n.report(v, s.stored/float64(max(total, 1)))
	}
	if fate != nil && !v.JSON {
		v.Report("dry run: %s", fate.text())
	}
	if v.JSON {
		v.Emit(struct {
			Summary planSum `json:"summary"`
		}{sum})
		return
	}
	line := fmt.Sprintf("dry run: %s, %s", display.Count(sum.Planned, "file"), display.Size(total))
	if s.size > 0 {
		line += fmt.Sprintf("; estimated from %s of them: %s of archives, %s at %s", display.Size(s.size), display.Size(sum.Stored),
			display.Clock(time.Duration(sum.Seconds*float64(time.Second))), display.Speed(s.size, s.seconds))
	}
	if sum.Unchanged > 0 {
		line += fmt.Sprintf("; %d archived before", sum.Unchanged)
	}
	v.Report("%s%s", line, v.files.SummaryTail(ctx, sum.Failed))
}

// plan returns what would be done with a file. rep is nil if it is archived already. source is what
// --delete-source would do with it. The error is that of a run, as far as it can be known before.
func (v *archiver) plan(ctx context.Context, j fileio.File) (rep, source *planReport, err error) {
	in, err := v.openImage(ctx, j)
	if err != nil {
		return nil, nil, err
	}
	defer in.Close()
	size := in.Size
	if in.Stat != nil {
		size = in.Stat.Size() // of a compressed source
	}
	path, done, err := v.planOpen(ctx, j, in)
	if err != nil {
		return nil, nil, err
	}
	source = &planReport{terminal.ReportName(j.Name), path, size, ""}
	if v.proof.deletes {
		below := filepath.ToSlash(v.imageName(ctx, j, j.Rel) + fileio.Suffix)
		if v.Dest != "" && !v.IsDirDest() {
			below = filepath.Base(path)
		}
		source.Kept = v.keeps(ctx, j, in, path, below)
	}
	if !done {
		rep = &planReport{source.File, path, in.Size, source.Kept}
	}
	return rep, source, nil
}

// planOpen returns the target of an open file, and whether that is done.
func (v *archiver) planOpen(ctx context.Context, j fileio.File, in *fileio.Input) (path string, done bool, err error) {
	if err := fileio.RefuseArchive(in); err != nil {
		return "", false, err
	}
	rep := &archiveReport{File: terminal.ReportName(j.Name), Size: in.Size}
	rep.image = v.imageName(ctx, j, fileio.BaseName(j.Name))
	if rep.Target, err = v.target(ctx, j); err != nil {
		return "", false, err
	}
	if v.Force {
		if err := v.mayStart(ctx, in, rep.Target); err != nil {
			return "", false, err
		}
	} else {
		done, err := v.isDone(ctx, in, rep)
		if v.changes.older(err) != nil {
			return rep.Target, false, nil
		}
		if done || err != nil {
			return rep.Target, done, err
		}
		if !s3.IsURL(rep.Target) {
			if _, err := os.Lstat(rep.Target); err == nil {
				return "", false, fmt.Errorf("%s: %w", rep.Target, atomicfile.ErrExists)
			}
		}
	}
	if _, err := cdf3.Read(in.R, in.Size); err != nil {
		return "", false, err
	}
	return rep.Target, false, v.CanMake(j, rep.Target)
}

// sampled is what the sample took.
type sampled struct {
	size    int64   // bytes of files
	stored  float64 // bytes of all archives, estimated
	seconds float64
}

// pick is a file of the sample. It stands for the files before it, up to the previous one.
type pick struct {
	job  fileio.File
	size int64 // bytes that it stands for
}

// picks chooses files of the sample at equal distances in bytes.
func picks(planned []fileio.File, total int64) []pick {
	var list []pick
	end, next, last := int64(0), total/(2*sampleFiles), int64(0)
	for _, j := range planned {
		if end += j.Size; end > next && j.Size > 0 {
			list = append(list, pick{j, end - last})
			last, next = end, max(end, next+total/sampleFiles)
		}
	}
	if len(list) > 0 {
		list[len(list)-1].size += total - last
	}
	return list
}

// sample archives some files in memory, side by side as a run does, and reads them back.
func (v *archiver) sample(ctx context.Context, planned []fileio.File, total int64) sampled {
	list := picks(planned, total)
	var files fileio.List
	for i, p := range list {
		p.job.N = i
		files.Files = append(files.Files, p.job)
	}
	var s sampled
	known := int64(0) // bytes that stand for what was sampled
	start := time.Now()
	v.StartProgress("sample", files.Sizes()...)
	v.Parallel(ctx, files, cli.Work{Failed: func(string, error) {}, Fixed: 48 << 20, PerByte: 6, One: func(a *cli.Run, j fileio.File) (func(), error) {
		if time.Since(start) > sampleTime {
			return nil, nil
		}
		w := *v
		w.Run, w.opts.Workers = a, a.Workers
		size, stored, err := w.sampleOne(ctx, j)
		return func() {
			if err == nil && size > 0 {
				s.size += size
				s.stored += float64(list[j.N].size) * float64(stored) / float64(size)
				known += list[j.N].size
			}
		}, nil // the run will tell
	}})
	s.seconds = max(time.Since(start).Seconds(), 1e-6)
	if known > 0 {
		s.stored *= float64(total) / float64(known)
	}
	return s
}

// sampleOne archives a file in memory and reads it back. It ends within sampleTime and returns the bytes
// that were archived until then. A file that is larger than sampleBytes is not kept and not read back.
func (v *archiver) sampleOne(ctx context.Context, j fileio.File) (size, stored int64, err error) {
	in, err := v.openImage(ctx, j)
	if err != nil {
		return 0, 0, err
	}
	defer in.Close()
	_, opts, err := v.optionsFor(in)
	if err != nil {
		return 0, 0, err
	}
	var done atomic.Int64
	opts.Progress = done.Store
	b := &sampleWriter{keeps: in.Size <= sampleBytes}
	short, cancel := context.WithTimeout(ctx, sampleTime)
	defer cancel()
	_, err = archive.Write(short, b, in.R, in.Size, &opts)
	if err != nil && short.Err() != nil && ctx.Err() == nil {
		return done.Load(), b.size, nil
	}
	if err != nil || !b.keeps {
		return in.Size, b.size, err
	}
	made := bytes.NewReader(b.kept.Bytes())
	if !v.noCheck {
		f, err := archive.New(ctx, made, made.Size(), &archive.OpenOptions{Workers: v.opts.Workers, Cache: -1})
		if err != nil {
			return 0, 0, err
		}
		if err := f.Image().Copy(ctx, nil, &archive.CopyOptions{Workers: v.opts.Workers, Memory: v.BlockMemory()}); err != nil {
			return 0, 0, err
		}
	}
	if v.proof.name != "" {
		if _, err := verify.Walk(ctx, made, made.Size(), &verify.WalkOptions{Workers: v.opts.Workers, Memory: v.BlockMemory()}); err != nil {
			return 0, 0, err
		}
	}
	return in.Size, b.size, nil
}

// sampleWriter counts the bytes of an archive.
type sampleWriter struct {
	keeps bool
	kept  bytes.Buffer
	size  int64
}

// Write implements io.Writer.
func (w *sampleWriter) Write(p []byte) (int, error) {
	w.size += int64(len(p))
	if w.keeps {
		w.kept.Write(p)
	}
	return len(p), nil
}
