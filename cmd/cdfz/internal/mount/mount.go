// Package mount is the verb mount: the original files of archives in a folder. Package fusefs does the work.
package mount

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stop"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/fusefs"
)

// mountGrace is the time that unmounting may take after a signal. It starts another
// program if the user is not root.
const mountGrace = 10 * time.Second

func Command(run *cli.Run) *cobra.Command {
	var o fusefs.Options
	cmd := &cobra.Command{
		Use:   "mount [flags] SRC MNT",
		Short: "Show the original files of archives in a folder",
		Long: `Mounts SRC, a folder or an archive, on the folder MNT. Every archive x.nc.cdfz below SRC
appears as x.nc, read-only, with the size and the time of the original. CDO, NCO, Ferret,
ncdump and every other program can read it. All other files appear unchanged. New and
replaced archives appear at once.

A volume, which cdfz pack makes, appears as a folder with the originals in it. SRC may be one, too.

A description x.ncml, which cdfz join makes, appears as the one file x.nc if its members lie
below SRC, but not with --allow-other.

The command runs until it is interrupted or MNT is unmounted. MNT is ready when it prints
"mounted". Reads that need a damaged block fail with an input/output error, and a message
appears here.

Linux with 64 bits only. Users other than root need the program fusermount3 (Debian: fuse3).`,
		Example: cli.Examples(
			"cdfz mount archives/ mnt/ &           # then: cdo infon mnt/tas.nc; ncdump -h mnt/tas.nc",
			"umount mnt/                           # or fusermount3 -u mnt/, or kill %1",
			"cdfz mount data/ data/                # the originals in place of the archives",
			"cdfz mount --idle 10m tas.nc.cdfz mnt/  # one archive, until nobody uses it"),
		Args:              cli.ExactArgs(2, "SRC and MNT"),
		ValidArgsFunction: completeMount,
		RunE: func(cmd *cobra.Command, args []string) error {
			stop.AllowTime(mountGrace)
			o.Workers = run.Limits.Workers
			dir := fileio.SourceDir(args[0])
			o.Warn = func(name string, err error) {
				name = filepath.Join(dir, name)
				run.Term.Message("%s: %s", name, terminal.PlainText(err, name))
			}
			if err := serveMount(cmd.Context(), run, args[0], args[1], &o); err != nil {
				failMount(run, args[1], err)
			}
			return nil
		},
	}
	cli.Flags(cmd, "What to show", func(f *pflag.FlagSet) {
		f.Var(&cli.SizeFlag{N: &o.Cache, Min: 1 << 20, Max: 1 << 40}, "cache", "memory for decoded blocks of all files (default 256M)")
		f.Var(&durationFlag{d: &o.Idle}, "idle", "unmount after this `DURATION` without use, such as 10m;\nuse is open files and requests")
		f.BoolVar(&o.WithArchives, "with-archives", false, "show the archives as well")
		f.BoolVar(&o.AllowOther, "allow-other", false, "let other users read, within the permissions of the files")
	})
	return cmd
}

// serveMount mounts and waits for the end.
func serveMount(ctx context.Context, run *cli.Run, src, at string, o *fusefs.Options) error {
	s, err := fusefs.Mount(src, at, o)
	if err != nil {
		return err
	}
	run.Term.Report("mounted")
	select {
	case <-s.Done():
		return nil
	case <-ctx.Done():
	}
	busy, err := s.Close()
	if busy && err == nil {
		run.Term.Message("%s: programs still had files open", at)
	}
	return err
}

// failMount reports an error of mounting.
func failMount(run *cli.Run, at string, err error) {
	var p *fs.PathError
	if errors.As(err, &p) {
		at, err = p.Path, p.Err
	}
	switch {
	case errors.Is(err, fusefs.ErrSource):
		err = terminal.Lasting(err)
	case errors.Is(err, fusefs.ErrInside):
		err = terminal.Hinted(err, "mount on a folder elsewhere, or on SRC")
	case errors.Is(err, fusefs.ErrNoFUSE):
		err = terminal.Hinted(err, "load the kernel's module fuse, or give a container the device and the capability SYS_ADMIN")
	case errors.Is(err, errors.ErrUnsupported):
		err = errors.New("cdfz mount works on Linux with 64 bits only")
	}
	run.Term.Fail(at, err)
}

// completeMount completes both arguments with names of files, the second only with
// folders.
func completeMount(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// durationFlag is a flag with a positive duration.
type durationFlag struct {
	d     *time.Duration
	given string
}

func (f *durationFlag) String() string { return f.given }
func (f *durationFlag) Type() string   { return "DURATION" }

func (f *durationFlag) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return errors.New("expected a duration such as 90s or 10m")
	}
	*f.d, f.given = d, s
	return nil
}
