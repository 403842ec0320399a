package archive

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
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
	Plain     int64   `json:"other_files,omitempty"` // that --whole would keep as they are
	PlainSize int64   `json:"other_size,omitempty"`
	Sampled   int64   `json:"sampled"` // bytes
	Stored    int64   `json:"estimated_archive_size"`
	Seconds   float64 `json:"estimated_seconds"`
	*fates            // with --delete-source
}

// dryRun reports what a run would archive, and estimates how long it takes from a sample. It writes
// nothing but unnamed temporary files of --decompress.
func (v *archiver) dryRun(ctx context.Context) {
	var planned, kept []fileio.File
	total := int64(0)
	var plain archiveSum
	var fate *fates
	if v.proof.deletes {
		fate = new(fates)
	}
	v.run.Term.StartProgress("dry run", v.files.Sizes()...)
	v.run.Parallel(ctx, v.files, cli.Work{Failed: v.failed, Fixed: 8 << 20, One: func(ctx context.Context, j *cli.Job) (func(), error) {
		w := &work{Job: j, rep: &archiveReport{File: terminal.ReportName(j.Name)}}
		rep, source, err := v.plan(ctx, w)
		return func() {
			v.sum.add(&w.sum)
			if fate != nil && source != nil {
				fate.add(source.Kept, source.Size)
			}
			if rep == nil {
				return
			}
			f := j.File
			f.Size = rep.Size
			if w.Plain {
				kept = append(kept, f)
				plain.Plain++
				plain.PlainSize += rep.Size
			} else {
				planned = append(planned, f)
				total += rep.Size
			}
			if v.run.Term.JSON {
				v.run.Term.Emit(rep)
			} else {
				v.run.Term.Report("%s -> %s, %s", rep.File, rep.Target, display.Size(rep.Size))
			}
		}, err
	}})
	sum := planSum{Planned: int64(len(planned)), Unchanged: v.sum.Unchanged, Failed: v.sum.Failed, Skipped: v.files.Skipped(), Size: total, Plain: plain.Plain, PlainSize: plain.PlainSize, fates: fate}
	s := v.sample(ctx, planned, total)
	if sum.Sampled = s.size; s.size > 0 {
		sum.Stored = int64(s.stored)
		sum.Seconds = display.Round(float64(total)/float64(s.size)*s.seconds, 3)
	}
	for _, n := range v.needs(slices.Concat(planned, kept)) {
		n.report(v, s.stored/float64(max(total, 1)))
	}
	if fate != nil && !v.run.Term.JSON {
		v.run.Term.Report("dry run: %s", fate.text())
	}
	if v.run.Term.JSON {
		v.run.Term.Emit(struct {
			Summary planSum `json:"summary"`
		}{sum})
		return
	}
	line := fmt.Sprintf("dry run: %s, %s", display.Count(sum.Planned, "file"), display.Size(total))
	if s.size > 0 {
		line += fmt.Sprintf("; estimated from %s of them: %s of archives, %s at %s", display.Size(s.size), display.Size(sum.Stored),
			display.Clock(time.Duration(sum.Seconds*float64(time.Second))), display.Speed(s.size, s.seconds))
	}
	if sum.Plain > 0 {
		line += fmt.Sprintf("; %s as they are, %s", display.Count(sum.Plain, "other file"), display.Size(sum.PlainSize))
	}
	if sum.Unchanged > 0 {
		line += fmt.Sprintf("; %d archived before", sum.Unchanged)
	}
	v.run.Term.Report("%s%s", line, v.tail(ctx, sum.Failed))
}

// plan returns what would be done with a file. rep is nil if it is archived already. source is what
// --delete-source would do with it. The error is that of a run, as far as it can be known before.
func (v *archiver) plan(ctx context.Context, w *work) (rep, source *planReport, err error) {
	if w.in, err = v.run.In.OpenFile(ctx, w.File); err != nil {
		return nil, nil, err
	}
	defer w.in.Close()
	var d decision
	if w.Plain {
		if err = v.plain(ctx, w); err == nil && w.rep.SHA256 != "" {
			d.Action = protect.Done
		}
	} else if err = v.aim(ctx, w); err == nil {
		if d, err = v.decide(ctx, w); err == nil && d.Action == protect.Done {
			err = v.finish(ctx, w, d.found)
		}
	}
	if err == nil && !w.Plain && d.Action != protect.Done && d.older == nil {
		err = v.canMake(w, d)
	}
	if err != nil {
		return nil, nil, err
	}
	source = &planReport{w.rep.File, w.rep.Target, w.in.Size, ""}
	if w.in.Stat != nil {
		source.Size = w.in.Stat.Size() // of a compressed source
	}
	if v.proof.deletes {
		source.Kept = v.keeps(ctx, w)
	}
	if d.Action != protect.Done {
		rep = &planReport{source.File, source.Target, w.in.Size, source.Kept}
	}
	return rep, source, nil
}

// canMake returns the error that making the target would have, as far as it can be known before.
func (v *archiver) canMake(w *work, d decision) error {
	path := w.rep.Target
	if v.packs.on() {
		if _, err := cdf3.Read(w.in.R, w.in.Size); err != nil {
			return err
		}
		return volume.CheckPath(w.rep.below)
	}
	if d.Action == protect.Write && !s3.IsURL(path) {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s: %w", path, atomicfile.ErrExists)
		}
	}
	if _, err := cdf3.Read(w.in.R, w.in.Size); err != nil {
		return err
	}
	return v.run.Targets.CanMake(w.File, path, w.Term)
}

// sampled is what the sample took.
type sampled struct {
	size    int64   // bytes of files
	stored  float64 // bytes of all archives, estimated
	seconds float64
}

// pick is a file of the sample. It stands for the files before it, up to the previous one.
type pick struct {
	file fileio.File
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
		p.file.N = i
		files.Files = append(files.Files, p.file)
	}
	var s sampled
	known := int64(0) // bytes that stand for what was sampled
	start := time.Now()
	v.run.Term.StartProgress("sample", files.Sizes()...)
	v.run.Parallel(ctx, files, cli.Work{Failed: func(string, error) {}, Fixed: 48 << 20, PerByte: 6, One: func(ctx context.Context, j *cli.Job) (func(), error) {
		if time.Since(start) > sampleTime {
			return nil, nil
		}
		size, stored, err := v.sampleOne(ctx, j)
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
func (v *archiver) sampleOne(ctx context.Context, j *cli.Job) (size, stored int64, err error) {
	in, err := v.openImage(ctx, j.File)
	if err != nil {
		return 0, 0, err
	}
	defer in.Close()
	_, opts, err := v.optionsFor(j, in)
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
		f, err := archive.New(ctx, made, made.Size(), &archive.OpenOptions{Workers: j.Limits.Workers, Cache: -1})
		if err != nil {
			return 0, 0, err
		}
		if err := f.Image().Copy(ctx, nil, &archive.CopyOptions{Workers: j.Limits.Workers, Memory: j.Limits.BlockMemory()}); err != nil {
			return 0, 0, err
		}
	}
	if v.proof.name != "" {
		if _, err := verify.Walk(ctx, made, made.Size(), &verify.Options{Workers: j.Limits.Workers, Memory: j.Limits.BlockMemory()}); err != nil {
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
