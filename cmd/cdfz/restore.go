package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cdfz-format/cdfz/archive"
)

// restorer is the verb restore.
type restorer struct {
	*app
	memory int64
	sum    restoreSum
}

// restoreReport is the JSON of one restored file.
type restoreReport struct {
	File        string  `json:"file"`
	Target      string  `json:"target"`
	Size        int64   `json:"size"`
	ArchiveSize int64   `json:"archive_size"`
	SHA256      string  `json:"sha256"`
	Seconds     float64 `json:"seconds"`
}

// restoreSum is the JSON of the last line.
type restoreSum struct {
	Files       int64   `json:"files"`
	Failed      int64   `json:"failed"`
	Passed      int64   `json:"passed_over"`
	Size        int64   `json:"size"`
	ArchiveSize int64   `json:"archive_size"`
	Seconds     float64 `json:"seconds"`
}

func (a *app) restoreCmd() *cobra.Command {
	v := &restorer{app: a}
	cmd := &cobra.Command{
		Use:   "restore [flags] FILE…",
		Short: "Make the netCDF files again: x.nc.cdfz becomes x.nc beside it",
		Long: `Restores the netCDF file of each archive, bit for bit. Its SHA-256 is compared
before the file appears; with -o - the exit code tells, after the data.
Below a folder, files whose names end in .cdfz are restored and all others passed
over; -o DIR keeps the tree. FILE - is standard input.`,
		Args: minFiles(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkDest(args); err != nil {
				return err
			}
			v.run(cmd.Context(), args)
			return nil
		},
	}
	cmd.Flags().Var(&sizeFlag{n: &v.memory, min: 1, max: 1 << 62}, "memory", "memory for blocks of record variables (default 128M)")
	a.forceFlag(cmd)
	a.jsonFlag(cmd)
	a.destFlag(cmd, "`OUT`: the file's name, a folder, or - for standard output")
	return cmd
}

func (v *restorer) run(ctx context.Context, args []string) {
	start := time.Now()
	failed := func(name string, err error) {
		v.sum.Failed++
		v.failFile(name, err)
	}
	folders, passed := v.eachFile(ctx, args, archiveName, func(j job) error { return v.one(ctx, j) }, failed)
	s := &v.sum
	s.Passed = passed
	s.Seconds = round(time.Since(start).Seconds(), 3)
	switch {
	case v.dest == stdoutName:
	case v.json:
		v.emit(struct {
			Summary restoreSum `json:"summary"`
		}{*s})
	case len(args) > 1 || folders:
		line := fmt.Sprintf("%s: %s -> %s, %s", count(s.Files, "file"), size(s.ArchiveSize), size(s.Size), speed(s.Size, s.Seconds))
		if s.Failed > 0 {
			line += fmt.Sprintf("; %d failed", s.Failed)
		}
		if folders {
			line += fmt.Sprintf("; %d passed over", s.Passed)
		}
		v.report("%s", line)
	}
}

// stripSuffix is the name of the image that an archive is called after.
func stripSuffix(name string) (string, error) {
	base := filepath.Base(name)
	if s := strings.TrimSuffix(base, suffix); s != base && s != "" {
		return strings.TrimSuffix(name, suffix), nil
	}
	return "", hinted(errors.New("the name does not end in "+suffix), "-o OUT gives the target's name")
}

// one restores one file.
func (v *restorer) one(ctx context.Context, j job) error {
	in, r, err := v.openArchive(ctx, j.name)
	if err != nil {
		return err
	}
	defer in.close()
	path, err := v.targetPath(j, stripSuffix)
	if err != nil {
		return err
	}
	dst, err := v.sink(path, in)
	if err != nil {
		return err
	}
	defer dst.abort()
	man, _ := r.Info()
	start := time.Now()
	p := v.progress("restore", in.name, man.ImageSize)
	defer p.end()
	if err := r.Image().Copy(ctx, dst, &archive.CopyOptions{Workers: v.workers, Memory: v.memory, Progress: p.report()}); err != nil {
		if errors.Is(err, archive.ErrCorrupt) {
			return hinted(err, "cdfz verify lists all damage")
		}
		return err
	}
	if err := dst.commit(); err != nil {
		return err
	}
	p.end()
	rep := restoreReport{File: reportName(j.name), Target: path, Size: man.ImageSize, ArchiveSize: in.size, SHA256: man.SHA256,
		Seconds: round(time.Since(start).Seconds(), 6)}
	v.sum.Files++
	v.sum.Size += rep.Size
	v.sum.ArchiveSize += rep.ArchiveSize
	switch {
	case v.dest == stdoutName:
	case v.json:
		v.emit(rep)
	default:
		v.report("%s: %s, %s", path, size(rep.Size), speed(rep.Size, rep.Seconds))
	}
	return nil
}
