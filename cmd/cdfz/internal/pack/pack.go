// Package pack is the verb pack, which puts a folder of archives into volumes. The module's package archive/volume has
// the format.
//
//	pack.go   the command, and the members in order
//	tree.go   a folder to members
//	equal.go  archives of one image
package pack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/volumes"
	"github.com/cdfz-format/cdfz/internal/pipeline"
	"github.com/cdfz-format/cdfz/internal/s3"
)

// packer runs the verb pack.
type packer struct {
	run *cli.Run
	o   volumes.Options
	all bool

	out      *volumes.Writer
	images   map[string]*firstOf // archives of a volume, by image
	imagesIn int                 // the number of that volume
	sum      summary
}

// summary is the JSON of the last line.
type summary struct {
	volumes.Sum
	Unchanged int64   `json:"unchanged"` // in an earlier volume
	Failed    int64   `json:"failed"`
	Seconds   float64 `json:"seconds"`
}

// Command returns the verb pack.
func Command(run *cli.Run) *cobra.Command {
	v := &packer{run: run}
	cmd := &cobra.Command{
		Use:   "pack [flags] -o OUT FOLDER",
		Short: "Put a folder of archives into volumes: tar files with an index",
		Long: `Puts all that is below FOLDER into volumes: archives, other files, folders and links, each
complete and untouched. A volume is a tar file, not compressed, that any tar lists and extracts.
An index at its end makes it a folder for cdfz: VOLUME.tar/a/b.nc.cdfz is a path for verbs that
read, and with s3:// or https:// a URL. mount, run and serve show it as a folder.

With -o DIR/, volumes are 0001.tar, 0002.tar, … in that folder, of at most --size bytes each. With
-o s3://BUCKET/PREFIX/ they are objects, each of one multipart upload. A member that is larger than
--size has a volume of its own. Other names, and -, are one volume.

A volume is read back before it appears, complete or not at all, and is never changed. A run into a folder that has volumes
adds others after them, with what they do not have: members are passed over whose kind, size, time,
mode and owner are those of the last volume that has them. So a run that was killed is repeated in
the same way. What is deleted in FOLDER stays in the volumes.

With --parity, each volume gets a file of parity beside it, as cdfz parity writes it, and so do earlier volumes without one.
Archives in the volume are verified before: parity would preserve damage.

Members are in the order of their paths. The same members, --size and --time make the same volumes, on
any number of processors. FIFOs, sockets and devices are left out, and the exit code is then 4.
Extended attributes and access control lists are not kept. A second archive of the same netCDF file is
a hard link of tar to the first one in its volume, if that restores the file.`,
		Example: cli.Examples(
			"cdfz pack -o vol/ --size 100G archives/",
			"cdfz pack -o s3://bucket/vol/ --size 100G archives/",
			"cdfz pack -o vol/ --size 100G --parity 5% archives/   # 0001.tar.parity beside 0001.tar",
			"cdfz pack -o - archives/ > /dev/nst0",
			"cdfz pack --shard 3/8 -o vol/ --size 100G archives/",
			"cdfz restore -o back/ vol/              # everything",
			"cdfz get vol/0001.tar/1987/tas.nc.cdfz 'tas[0]'"),
		Args: cli.ExactArgs(1, "one FOLDER"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if run.Dest.Name == "" {
				return terminal.Hinted(errors.New("no OUT given"), "-o DIR/ names the folder of the volumes")
			}
			run.Dest.ToObjects = true
			if err := run.Targets.CheckDest(); err != nil {
				return err
			}
			if err := v.check(args[0]); err != nil {
				return err
			}
			v.do(cmd.Context(), args[0])
			return nil
		},
	}
	cli.Flags(cmd, "Volumes", func(f *pflag.FlagSet) {
		f.Var(&cli.SizeFlag{N: &v.o.Size, Min: volumes.MinSize, Max: 1 << 60}, "size", "begin another volume before one has more than `SIZE` bytes, such as 100G\n(default: one volume)")
		f.BoolVar(&v.all, "all", false, "pack everything again, also what earlier volumes have")
		f.Var(&cli.ShareFlag{S: &v.o.Parity}, "parity", "write parity of `P%` of each volume beside it")
		f.Var(&cli.TimeFlag{T: &v.o.Time}, "time", "the time of packing that volumes have (default: now)")
	})
	run.ShardFlag(cmd)
	run.NoWaitFlag(cmd, "do not wait for another run that adds volumes to DIR/, but exit with 5")
	run.DestFlag(cmd, "write to `OUT`: a folder, the prefix of a store, a name, or -;\n- is standard output")
	run.JSONFlag(cmd)
	run.VerboseFlag(cmd)
	return cmd
}

// check checks the command line.
func (v *packer) check(folder string) error {
	switch {
	case !v.run.Dest.IsDir() && v.o.Size > 0:
		return terminal.Hinted(errors.New("--size: expected a folder for the volumes"), "-o DIR/ names it")
	case v.run.Dest.IsStdout() && v.o.Parity > 0:
		return errors.New("--parity: expected a place beside the volume, found standard output")
	case v.run.Dest.IsStdout() || s3.IsURL(v.run.Dest.Name):
		return nil
	}
	if st, err := os.Stat(folder); err == nil && within(v.run.Dest.Name, st) {
		return terminal.Hinted(fmt.Errorf("-o %s: lies in %s: volumes would be packed, too", terminal.ShowTarget(v.run.Dest.Name), terminal.ShowName(folder)), "-o DIR/ names another folder")
	}
	return nil
}

// within reports whether a path, whose last parts may be missing, is that of a folder or leads into it.
func within(path string, folder fs.FileInfo) bool {
	real, err := filepath.Abs(path)
	for dir := real; err == nil; dir = filepath.Dir(dir) {
		if r, err := filepath.EvalSymlinks(dir); err == nil {
			real = r
			break
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
	for {
		if st, err := os.Stat(real); err == nil && os.SameFile(st, folder) {
			return true
		}
		up := filepath.Dir(real)
		if up == real {
			return false
		}
		real = up
	}
}

// fail reports a member that is not packed.
func (v *packer) fail(name string, err error) {
	if !terminal.Interrupted(err) {
		v.sum.Failed++
	}
	v.run.Term.FailFile(name, err)
}

// ahead is the number of small files that are read before they are written.
const ahead = 64

func (v *packer) do(ctx context.Context, folder string) {
	start := time.Now()
	t, err := openTree(v, folder)
	if err != nil {
		v.run.Term.FailFile(terminal.ShowName(folder), err)
		return
	}
	defer t.close()
	if v.out, err = volumes.New(ctx, v.run, v.o); err != nil {
		v.run.Term.FailFile(terminal.ShowTarget(v.run.Dest.Name), err)
		return
	}
	defer v.out.Close()
	workers := v.run.Limits.Coders() + 2 // opening files waits for the disk
	if v.run.Limits.Workers == 1 {
		workers = 0
	}
	err = pipeline.Run(ctx, workers, ahead, pipeline.Steps[*item]{
		Make: func(ctx context.Context, submit func(*item) error) error { return t.walk(ctx, "", submit) },
		Work: func(ctx context.Context) func(*item) error {
			return func(i *item) error { t.read(ctx, i); return nil }
		},
		Pass: func(i *item) error { return v.pass(ctx, t, i) },
	})
	if err == nil {
		err = v.out.Finish(ctx)
	}
	if err != nil {
		v.run.Term.FailFile(terminal.ShowTarget(v.out.Name()), err)
	}
	v.report(ctx, start)
}

// pass packs a member. An error ends the run: the volume cannot be completed.
func (v *packer) pass(ctx context.Context, t *tree, i *item) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	name := t.name(i.Path)
	switch {
	case errors.Is(i.err, fs.ErrNotExist): // another program has removed it since
		return nil
	case i.err != nil:
		v.fail(name, i.err)
		return nil
	}
	if i.Kind == volume.Folder {
		v.out.Enter(&i.Entry)
	}
	switch {
	case i.quiet:
		return nil
	case i.unchanged:
		v.sum.Unchanged++
		return nil
	}
	err := v.add(ctx, t, i)
	var refused *volumes.MemberError
	if errors.As(err, &refused) {
		v.fail(name, refused.Err)
		return nil
	}
	return err
}

// add adds a member to the volumes.
func (v *packer) add(ctx context.Context, t *tree, i *item) error {
	m := &volumes.Member{Entry: &i.Entry, Contents: func(use func(io.Reader) error) error { return t.contents(i, use) }}
	if i.node != (node{}) {
		m.Common = append(m.Common, i.node)
	}
	if i.image != "" && v.equal(ctx, t, i) {
		m.Common = append(m.Common, i.image)
	}
	err := v.out.Add(ctx, m)
	if err == nil {
		v.packed(i)
	}
	if err != nil && !errors.As(err, new(*volumes.MemberError)) {
		return fmt.Errorf("%s: %w", terminal.ShowName(t.name(i.Path)), err)
	}
	return err
}

func (v *packer) report(ctx context.Context, start time.Time) {
	s := &v.sum
	s.Sum = v.out.Sum
	s.Seconds = display.Round(time.Since(start).Seconds(), 3)
	if v.run.Dest.IsStdout() {
		return
	}
	if v.run.Term.JSON {
		v.run.Term.Emit(struct {
			Summary summary `json:"summary"`
		}{*s})
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "packed %s in %s, %s", display.Count(s.Members, "member"), display.Count(s.Volumes, "volume"), s.Sum.Text())
	if s.Unchanged > 0 {
		fmt.Fprintf(&b, "; %d packed before", s.Unchanged)
	}
	if ctx.Err() != nil {
		b.WriteString("; interrupted")
	}
	if s.Failed > 0 {
		fmt.Fprintf(&b, "; %d failed", s.Failed)
	}
	v.run.Term.Report("%s", b.String())
}
