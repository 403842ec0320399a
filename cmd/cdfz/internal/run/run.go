// Package run is the verb run: a command that sees the original files in the place of archives. Packages
// mountns and fusefs do the work.
package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/stop"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/fusefs"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/run/mountns"
)

// Exit codes for a command that cannot be started, as in shells, env and nohup.
const (
	exitNotRun   = 126
	exitNotFound = 127
)

// options are those of the command line.
type options struct {
	folders []string
	mount   fusefs.Options

	// For the processes that the verb starts.
	role     string
	socket   int
	oneOwner bool
}

func Command(run *cli.Run) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "run [flags] [--] CMD [ARG]…",
		Short: "Run a command that sees the original files of archives",
		Long: `Runs CMD. In the working folder, or in the folders that --folder names, and below, CMD
sees the original x.nc in the place of each archive x.nc.cdfz, and one file x.nc in the
place of each x.ncml that cdfz join has made. Volumes of cdfz pack are folders with the originals in
them. Nothing is unpacked to disk.
Other programs do not see the originals. CDO, NCO, Ferret, Python and scripts run unchanged.

CMD can create, change and delete all other files as always, such as its output beside the
input. Originals and volumes cannot be changed or deleted: "Read-only file system".

Streams, environment, user, working folder, exit code and signals are as without cdfz run.
The exit code is 127 if CMD is not found, 126 if it cannot be started, and 1 or 2 if
cdfz run itself fails.

Linux with 64 bits only. It needs neither root nor other programs, but /dev/fuse and, for users
other than root, user namespaces.`,
		Example: cli.Examples(
			"cdfz run -- cdo -s infon tas.nc               # here is tas.nc.cdfz",
			"cdfz run -- sh -c 'ncrcat y????.nc all.nc'    # this shell expands the pattern",
			"cdfz run --folder /data -- python3 plot.py /data/tas.nc",
			"cdfz run -- bash                              # a shell, until exit"),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return terminal.Hinted(errors.New("no CMD given"), "%s --help has examples", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch mountns.Role(o.role) {
			case "":
				o.start(run, cmd, args)
			case mountns.RoleCommand:
				o.enter(run, args)
			case mountns.RoleServer:
				o.serve(run)
			default:
				return fmt.Errorf("unknown role %q", o.role)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows CMD belongs to it
	cli.Flags(cmd, "What to show", func(f *pflag.FlagSet) {
		f.StringArrayVar(&o.folders, "folder", nil, "show the originals in `DIR` and below (default: here); repeatable")
		f.BoolVar(&o.mount.WithArchives, "with-archives", false, "show the archives as well")
		f.Var(&cli.SizeFlag{N: &o.mount.Cache, Min: 1 << 20, Max: 1 << 40}, "cache", "memory for decoded blocks of all files (default 256M)")
	})
	if err := cmd.MarkFlagDirname("folder"); err != nil {
		panic("internal error: " + err.Error())
	}
	f.StringVar(&o.role, "role", "", "")
	f.IntVar(&o.socket, "socket", 0, "")
	f.BoolVar(&o.oneOwner, "one-owner", false, "")
	for _, name := range []string{"role", "socket", "one-owner"} {
		if err := f.MarkHidden(name); err != nil {
			panic("internal error: " + err.Error())
		}
	}
	return cmd
}

// leaving is how long the program waits for its server after the end of the command. The server
// ends at once unless the command has left processes behind, which it goes on to serve.
const leaving = time.Second

// start runs the command and sets the exit code.
func (o *options) start(run *cli.Run, cmd *cobra.Command, args []string) {
	signals := stop.Take()
	names := o.folders
	if len(names) == 0 {
		names = []string{"."}
	}
	folders, err := mountns.Folders(names)
	if err != nil {
		fail(run, err)
		return
	}
	r, err := mountns.Start(func(role mountns.Role, socket int, oneOwner bool) []string {
		return append(again(cmd, folders, role, socket, oneOwner), args...)
	})
	if err != nil {
		fail(run, err)
		return
	}
	var died error
	served, ended := make(chan struct{}), make(chan struct{})
	go func() {
		died = r.Server.Wait()
		close(served)
	}()
	go func() {
		_ = r.Command.Wait() // Code has the result
		r.CommandEnded()
		close(ended)
	}()
	for watched := served; ; {
		select {
		case s := <-signals:
			if (s == os.Interrupt || s == syscall.SIGQUIT) && mountns.FromKeyboard() {
				continue // the command has got it, too
			}
			_ = r.Command.Process.Signal(s)
		case <-watched:
			watched = nil
			var killed *exec.ExitError
			if errors.As(died, &killed) && !killed.Exited() {
				run.Term.Message("the process that serves the originals has died: %v", died)
			}
		case <-ended:
			run.Term.SetCode(mountns.Code(r.Command.ProcessState))
			select {
			case <-served:
			case <-time.After(leaving):
			}
			return
		}
	}
}

// again makes the command line of a process with another role, without CMD.
func again(cmd *cobra.Command, folders []string, role mountns.Role, socket int, oneOwner bool) []string {
	args := []string{os.Args[0], cmd.Name(), "--role=" + string(role), fmt.Sprintf("--socket=%d", socket), fmt.Sprintf("--one-owner=%t", oneOwner)}
	for _, name := range folders {
		args = append(args, "--folder="+name)
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch v := f.Value.(type) {
		case pflag.SliceValue:
			if f.Name == "folder" {
				return
			}
			for _, s := range v.GetSlice() {
				args = append(args, "--"+f.Name+"="+s)
			}
		default:
			args = append(args, "--"+f.Name+"="+v.String())
		}
	})
	return append(args, "--")
}

// enter mounts the folders and becomes the command.
func (o *options) enter(run *cli.Run, args []string) {
	wd, err := os.Getwd()
	if err == nil {
		err = mountns.Enter(o.socket, o.folders)
	}
	if err != nil {
		fail(run, err)
		return
	}
	err = mountns.Exec(wd, args)
	run.Term.SetCode(exitNotRun)
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		run.Term.SetCode(exitNotFound)
	}
	run.Term.Message("%s: %v", args[0], cause(err))
}

// cause returns an error without the name of the program, which the message has.
func cause(err error) error {
	var not *exec.Error
	if errors.As(err, &not) {
		err = not.Err
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return err
}

// serve serves the folders.
func (o *options) serve(run *cli.Run) {
	o.mount.Workers, o.mount.OneOwner = run.Limits.Workers, o.oneOwner
	if o.mount.Cache == 0 {
		o.mount.Cache = fusefs.DefaultCache
	}
	o.mount.Cache = max(1, o.mount.Cache/int64(len(o.folders)))
	err := mountns.Serve(o.socket, o.folders, func(folder string) *fusefs.Options {
		m := o.mount
		m.Warn = func(name string, err error) {
			name = shown(filepath.Join(folder, name))
			run.Term.Message("%s: %s", name, terminal.PlainText(err, name))
		}
		return &m
	})
	if err != nil {
		fail(run, err)
	}
}

// shown returns the name of a file for messages: from the working folder, if it is below.
func shown(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if wd, err = filepath.EvalSymlinks(wd); err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// instead is what users do where the verb does not work.
const instead = "use cdfz mount, which needs fusermount3, or cdfz serve, or cdfz restore"

// fail reports an error of the verb itself.
func fail(run *cli.Run, err error) {
	name := "run"
	var p *fs.PathError
	if errors.As(err, &p) {
		name, err = p.Path, p.Err
	}
	var refused *mountns.RefusedError
	switch {
	case errors.Is(err, mountns.ErrServer):
		run.Term.SetCode(terminal.ExitFailed) // which has printed the reason
		return
	case errors.Is(err, fusefs.ErrNoFUSE):
		name = "run"
		err = terminal.Hinted(err, "load the kernel's module fuse, or give a container the device; or %s", instead)
	case errors.As(err, &refused), name == "/dev/fuse":
		err = terminal.Hinted(err, "%s", instead)
	case errors.Is(err, mountns.ErrRoot):
		err = terminal.Hinted(err, "name folders below it with --folder")
	case errors.Is(err, errors.ErrUnsupported):
		err = errors.New("cdfz run works on Linux with 64 bits only")
	}
	run.Term.SetCode(terminal.ExitFailed) // above the code of lasting failures, which callers take for CMD's
	run.Term.Fail(name, err)
}
