package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// suffix is what archives are called behind the name of the image.
const suffix = ".cdfz"

// archiver is the verb archive.
type archiver struct {
	*app
	opts    archive.WriteOptions
	specs   filterSpecs
	noCheck bool
	sum     archiveSum
	start   time.Time
}

// archiveReport is the JSON of one archived file.
type archiveReport struct {
	File         string  `json:"file"`
	Target       string  `json:"target"`
	Size         int64   `json:"size"`
	ArchiveSize  int64   `json:"archive_size"`
	Ratio        float64 `json:"ratio"`
	Layout       string  `json:"layout"`
	Blocks       int64   `json:"blocks"`
	SHA256       string  `json:"sha256"`
	Checked      bool    `json:"checked"`
	WriteSeconds float64 `json:"write_seconds"`
	CheckSeconds float64 `json:"check_seconds"`
}

// archiveSum is the JSON of the last line.
type archiveSum struct {
	Files       int64   `json:"files"`
	Failed      int64   `json:"failed"`
	Passed      int64   `json:"passed_over"`
	Size        int64   `json:"size"`
	ArchiveSize int64   `json:"archive_size"`
	Ratio       float64 `json:"ratio"`
	Seconds     float64 `json:"seconds"`
}

func (a *app) archiveCmd() *cobra.Command {
	v := &archiver{app: a, opts: archive.WriteOptions{Preset: archive.PresetDefault, Zarr: archive.ZarrAuto}}
	var specs []string
	cmd := &cobra.Command{
		Use:   "archive [flags] FILE…",
		Short: "Make archives: x.nc becomes x.nc.cdfz beside it",
		Long: `Makes an archive of each classic netCDF file. Below a folder, files that begin as
classic netCDF are archived and all others passed over; links are not followed.
FILE - is standard input.

Each archive is read back and compared with its source before it appears. Sources
are never changed.

-F gives variables a chain of filters instead of the preset's, as nccopy does:
  -F 'air,2|32015,19'   shuffle, then zstd at level 19, for the variable air
  -F 'u&v,307,9'        bzip2 for two variables
  -F '*,1,6'            deflate for all that no other -F names
  -F none               no filters
A backslash before "," or "&" in a name takes away its meaning.`,
		Args: minFiles(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := v.specs.parse(specs); err != nil {
				return err
			}
			if err := a.checkDest(args); err != nil {
				return err
			}
			v.opts.Workers = a.workers
			v.run(cmd.Context(), args)
			return nil
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&specs, "filter", "F", nil, "`VARS,FILTERS`: a chain for single variables; repeatable")
	f.BoolVar(&v.specs.ignoreMissing, "ignore-missing", false, "-F may name variables that a file does not have")
	f.Var(&choiceFlag[archive.Preset]{&v.opts.Preset, archive.Presets}, "preset", "filters of all variables without -F")
	f.Var(&sizeFlag{n: &v.opts.Block, min: archive.MinBlock, max: archive.MaxBlock}, "block", "target size of a block, as in 64K or 1M (default 256K)")
	f.Var(&sizeFlag{n: &v.opts.Memory, min: 1, max: math.MaxInt64}, "memory", "memory for blocks of record variables (default 128M)")
	f.Var(&choiceFlag[archive.ZarrMode]{&v.opts.Zarr, []archive.ZarrMode{archive.ZarrAuto, archive.ZarrAlways, archive.ZarrNever}}, "zarr", "whether the archive is a Zarr store too")
	f.BoolVar(&v.noCheck, "no-check", false, "do not read the archive back")
	a.forceFlag(cmd)
	a.jsonFlag(cmd)
	a.destFlag(cmd, "`OUT`: the archive's name, a folder, or - for standard output (not read back)")
	return cmd
}

func (v *archiver) run(ctx context.Context, args []string) {
	v.start = time.Now()
	folders, passed := v.eachFile(ctx, args, classicFile, func(j job) error { return v.one(ctx, j) }, v.failed)
	s := &v.sum
	s.Passed = passed
	s.Ratio = ratio(s.Size, s.ArchiveSize)
	s.Seconds = round(time.Since(v.start).Seconds(), 3)
	switch {
	case v.dest == stdoutName:
	case v.json:
		v.emit(struct {
			Summary archiveSum `json:"summary"`
		}{*s})
	case s.Files+s.Failed > 1 || folders:
		line := fmt.Sprintf("%s: %s -> %s, ratio %.2f, %s", count(s.Files, "file"), size(s.Size), size(s.ArchiveSize), s.Ratio, speed(s.Size, s.Seconds))
		if s.Failed > 0 {
			line += fmt.Sprintf("; %d failed", s.Failed)
		}
		if folders {
			line += fmt.Sprintf("; %d passed over", s.Passed)
		}
		v.report("%s", line)
	}
}

func (v *archiver) failed(name string, err error) {
	v.sum.Failed++
	v.failFile(name, err)
}

// classicFile says whether a file below a folder is to be archived.
func classicFile(name string) (bool, error) {
	f, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	return isClassic(f), nil
}

// one archives one file.
func (v *archiver) one(ctx context.Context, j job) error {
	in, err := v.open(ctx, j.name)
	if err != nil {
		return err
	}
	defer in.close()
	err = v.oneOpen(ctx, j, in)
	if err != nil && ctx.Err() == nil {
		// Whatever went wrong, this is why.
		if changed := in.changed(); changed != nil {
			return changed
		}
	}
	return err
}

func (v *archiver) oneOpen(ctx context.Context, j job, in *input) error {
	path, err := v.targetPath(j, func(s string) (string, error) { return s + suffix, nil })
	if err != nil {
		return err
	}
	if err := refuseArchive(in); err != nil {
		return err
	}
	opts := v.opts
	opts.Name = baseName(j.name)
	if j.name == stdinName {
		opts.Name = ""
	}
	if opts.Filters, err = v.specs.forFile(in); err != nil {
		return err
	}
	dst, err := v.sink(path, in)
	if err != nil {
		return err
	}
	defer dst.abort()
	rep, err := v.write(ctx, dst, in, opts)
	if err != nil {
		return err
	}
	rep.File, rep.Target = reportName(j.name), path
	if dst.t != nil && !v.noCheck {
		start := time.Now()
		if err := v.check(ctx, dst.t, rep.ArchiveSize, in); err != nil {
			return err
		}
		rep.Checked, rep.CheckSeconds = true, round(time.Since(start).Seconds(), 6)
	}
	noEffect, err := withoutEffect(dst.t, rep.ArchiveSize, opts.Filters)
	if err != nil {
		return err
	}
	if err := in.changed(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := dst.commit(); err != nil {
		return err
	}
	for _, text := range noEffect {
		v.message("%s: %s", in.name, text)
	}
	if len(noEffect) > 0 {
		v.message("hint: --zarr always gives more variables blocks of their own")
	}
	v.done(rep)
	return nil
}

func (v *archiver) done(rep *archiveReport) {
	v.sum.Files++
	v.sum.Size += rep.Size
	v.sum.ArchiveSize += rep.ArchiveSize
	switch {
	case v.dest == stdoutName:
	case v.json:
		v.emit(rep)
	default:
		v.report("%s: %s -> %s, ratio %.2f, %s", rep.File, size(rep.Size), size(rep.ArchiveSize), rep.Ratio,
			speed(rep.Size, rep.WriteSeconds+rep.CheckSeconds))
	}
}

// refuseArchive is an error if the input is an archive already.
func refuseArchive(in *input) error {
	ours, err := archive.IsArchive(in.r, in.size)
	if err != nil {
		return err
	}
	if ours {
		return hinted(errors.New("is a cdfz archive already"), "cdfz restore makes the netCDF file of it")
	}
	return nil
}

func (v *archiver) write(ctx context.Context, dst io.Writer, in *input, opts archive.WriteOptions) (*archiveReport, error) {
	p := v.progress("archive", in.name, in.size)
	defer p.end()
	opts.Progress = p.report()
	start := time.Now()
	w := bufio.NewWriterSize(dst, 1<<18)
	res, err := archive.Write(ctx, w, in.r, in.size, &opts)
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return nil, err
	}
	return &archiveReport{
		Size: in.size, ArchiveSize: res.Size, Ratio: ratio(in.size, res.Size),
		Layout: string(res.Layout), Blocks: res.Blocks, SHA256: res.SHA256,
		WriteSeconds: round(time.Since(start).Seconds(), 6),
	}, nil
}

// compareBelow is the size of images that are compared with the source byte for
// byte: archive.Write reads those once, so that their SHA-256 says nothing about
// whether that went well. Larger ones are read once more to be hashed.
const compareBelow = 8 << 20

// check reads the archive back and compares the image with the source, or its
// SHA-256. If that differs it finds out where.
func (v *archiver) check(ctx context.Context, t *atomicfile.File, n int64, in *input) error {
	p := v.progress("check", in.name, in.size)
	defer p.end()
	r, err := archive.New(ctxReaderAt{ctx, t}, n, nil)
	if err != nil {
		return notReadBack(ctx, err)
	}
	copyTo := func(w io.Writer) error {
		return r.Image().Copy(ctx, w, &archive.CopyOptions{Workers: v.workers, Memory: v.opts.Memory, Progress: p.report()})
	}
	c := &comparer{r: in.r}
	if in.size < compareBelow {
		err = copyTo(c)
	} else if err = copyTo(nil); errors.Is(err, archive.ErrCorrupt) {
		if again := copyTo(c); ctx.Err() != nil {
			err = again
		}
	}
	switch {
	case c.differs && ctx.Err() == nil:
		return fmt.Errorf("the archive differs from the source, first at byte %d (%s)", c.off, placeOf(r.Header(), c.off))
	case errors.Is(err, archive.ErrCorrupt) && c.off == in.size:
		// The bytes in the archive are the source's, those that were hashed were not.
		return fmt.Errorf("%w, or it reads differently each time", archive.ErrChanged)
	}
	return notReadBack(ctx, err)
}

// notReadBack takes an error out of our class of damage: no archive is there
// that could be repaired.
func notReadBack(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || !errors.Is(err, archive.ErrCorrupt) {
		return err
	}
	return errors.New("the archive does not read back as it was written: " + plainText(err, ""))
}

var errDiffers = errors.New("differs")

// comparer compares what is written to it with a source.
type comparer struct {
	r       io.ReaderAt
	off     int64 // of what comes next, or of the first byte that differs
	differs bool
	buf     []byte
}

func (c *comparer) Write(p []byte) (int, error) {
	if cap(c.buf) < len(p) {
		c.buf = make([]byte, len(p))
	}
	b := c.buf[:len(p)]
	n, err := c.r.ReadAt(b, c.off)
	if n < len(p) && err != nil && err != io.EOF {
		return 0, err
	}
	for i := range p {
		if i >= n || p[i] != b[i] {
			c.off += int64(i)
			c.differs = true
			return i, errDiffers
		}
	}
	c.off += int64(len(p))
	return len(p), nil
}
