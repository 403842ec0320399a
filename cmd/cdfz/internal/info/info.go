// Package info is the verb info: the contents of archives.
package info

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/report"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
)

// informer runs the verb info.
type informer struct {
	run                 *cli.Run
	blocks, why, sha256 bool
	others              others
}

func Command(run *cli.Run) *cobra.Command {
	v := &informer{run: run}
	cmd := &cobra.Command{
		Use:   "info [flags] FILE…",
		Short: "Show the contents of archives",
		Long: `Shows the netCDF file that an archive holds, and its variables: type, dimensions,
block shape, filters as -F takes them, bytes, and whether zarr and other Zarr tools see
them.

FILE may be a folder: archives below it, named *.cdfz, are shown in one line each, with
a total, and other files are skipped, unless archive --whole has kept them: these follow with size and
kind. Of members of volumes, the table tells when they were packed, and which state of a file is the
current one and which are older. FILE may also be an http, https, s3 or gs URL, or - for
standard input. Of a FILE that ends in .ncml, which cdfz join makes, it shows the dataset.

` + cli.PrefixHelp + `

--sha256 prints the SHA-256 of each netCDF file in the format of sha256sum, so that
sha256sum -c checks restored files or the originals.`,
		Example: cli.Examples(
			"cdfz info tas.nc.cdfz",
			"cdfz info archives/                        # a line for each archive",
			"cdfz info --why tas.nc.cdfz                # what was chosen for each variable, and why",
			"cdfz info --sha256 data/ | sha256sum -c    # check originals next to their archives"),
		Args:              cli.MinFiles,
		ValidArgsFunction: cli.CompleteArchives,
		RunE: func(cmd *cobra.Command, args []string) error {
			if v.sha256 && (v.blocks || v.why || run.Term.JSON) {
				return errors.New("--sha256: not with --blocks, --why or --json")
			}
			v.do(cmd.Context(), args)
			return nil
		},
	}
	run.JSONFlag(cmd)
	run.VerboseFlag(cmd)
	run.RequestsFlag(cmd)
	cli.Flags(cmd, "What to show", func(f *pflag.FlagSet) {
		f.BoolVar(&v.blocks, "blocks", false, "list every block")
		f.BoolVar(&v.why, "why", false, "explain the filters of each variable and their savings,\nwhy variables have no blocks, and which attributes the Zarr view omits")
		f.BoolVar(&v.sha256, "sha256", false, "print the SHA-256 of the netCDF files as sha256sum does")
	})
	return cmd
}

func (v *informer) do(ctx context.Context, args []string) {
	failedFiles := int64(0)
	failed := func(name string, err error) {
		if !terminal.Interrupted(err) {
			failedFiles++
		}
		v.run.Term.FailFile(name, err)
	}
	if !v.blocks && !v.why {
		v.others.trees = v.run.Finder.FindTrees(ctx, args, failed)
	}
	files := v.run.Find(ctx, args, v.others.selects, failed)
	defer files.Close()
	none := func() { v.run.Term.FailFile(strings.Join(args, ", "), errors.New("no archives below this folder")) }
	if len(files.Files) == 0 && !files.Grows() && failedFiles == 0 && !v.run.Term.Stopped(ctx) {
		none()
		return
	}
	list := files.Folders && !v.blocks && !v.why && !v.run.Term.JSON
	table := [][]string{{"archive", "image size", "archive size", "ratio", "variables", "parity", "layout", "packed", "state"}}
	v.others.table = [][]string{{"other file", "size", "kind", "packed", "state"}}
	var count, sizes, stored, older int64
	first := true
	some := false
	v.run.Each(ctx, files, func(j *cli.Job) error {
		some = true
		if fileio.IsDataset(j.Name) && !list {
			if !first && !v.run.Term.JSON {
				v.run.Term.Print("")
			}
			first = false
			return v.dataset(ctx, j.File)
		}
		state, err := j.State(ctx)
		if err != nil {
			return err
		}
		if state.Current != "" {
			older++
		}
		if e := v.others.trees.Entry(j.Name); e != nil && e.Kind == treefile.Plain {
			return v.other(ctx, j, e, state)
		}
		in, f, err := v.run.In.OpenArchive(ctx, j.File, j.Limits.OpenOptions())
		if err != nil {
			return err
		}
		defer in.Close()
		switch {
		case v.sha256:
			return v.printSum(j.File, f)
		case !list:
			if !first && !v.run.Term.JSON {
				v.run.Term.Print("")
			}
			first = false
			return v.show(ctx, j.File, in, f, state)
		}
		p, err := report.DescribeParity(ctx, in, f)
		if err != nil {
			return err
		}
		info, _ := f.Info()
		table = append(table, append([]string{
			display.Quoted(in.Name), strconv.FormatInt(info.ImageSize, 10), strconv.FormatInt(in.Size, 10),
			fmt.Sprintf("%.2f", display.Ratio(info.ImageSize, in.Size)), strconv.Itoa(len(f.Header().Vars)), p.Brief(), info.Layout,
		}, cells(state)...))
		count, sizes, stored = count+1, sizes+info.ImageSize, stored+in.Size
		return nil
	}, failed)
	if !some && failedFiles == 0 && !v.run.Term.Stopped(ctx) {
		none()
		return
	}
	if ctx.Err() == nil {
		v.links()
	}
	if list && !v.sha256 {
		display.WriteTable(v.run.Term.Out, withoutStates(table), false, true, true, true, true, true)
		tail := ""
		if t := v.others.table; len(t) > 1 {
			v.run.Term.Print("")
			display.WriteTable(v.run.Term.Out, withoutStates(t), false, true)
			v.run.Term.Print("")
			tail = fmt.Sprintf("; %s, %s", display.Count(v.others.count, "other file"), display.Size(v.others.size))
		}
		if older > 0 {
			tail += fmt.Sprintf("; %d of older states", older)
		}
		v.run.Term.Print("%s: %s -> %s, ratio %.2f%s%s", display.Count(count, "archive"), display.Size(sizes), display.Size(stored), display.Ratio(sizes, stored), tail, files.SummaryTail(ctx, failedFiles))
	}
}

// show reports one archive in full.
func (v *informer) show(ctx context.Context, j fileio.File, in *fileio.Input, f *archive.File, state fileio.State) error {
	rep, err := makeInfo(ctx, terminal.ReportName(j.Name), in.Size, f)
	if err != nil {
		return err
	}
	if rep.Parity, err = report.DescribeParity(ctx, in, f); err != nil {
		return err
	}
	if err := v.addStates(ctx, rep, in, state); err != nil {
		return err
	}
	if v.why {
		if err := rep.explain(ctx, j.Name, in, f); err != nil {
			return err
		}
	}
	if v.run.Term.JSON {
		rep.Vars = []infoVar{}
		for w := range rep.each {
			rep.Vars = append(rep.Vars, *w)
		}
		v.run.Term.Emit(rep)
	} else {
		v.printInfo(rep)
		if v.why {
			v.printWhy(rep)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if v.blocks {
		return v.printBlocks(ctx, rep.File, f)
	}
	return nil
}

// printSum prints the SHA-256 of the netCDF file as sha256sum does, with the file name
// that restore would use.
func (v *informer) printSum(j fileio.File, f *archive.File) error {
	info, _ := f.Info()
	name, err := fileio.StripSuffix(j.LocalName())
	if err != nil {
		if name = info.ImageName; name == "" {
			return fmt.Errorf("no name for the netCDF file: the archive's name does not end in %s", fileio.Suffix)
		}
	}
	v.sumLine(info.SHA256, name)
	return nil
}

// sumLine prints a line of sha256sum.
func (v *informer) sumLine(sum, name string) {
	mark := ""
	if strings.ContainsAny(name, "\\\n\r") {
		mark = `\`
		name = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`).Replace(name)
	}
	if terminal.IsTerminal(v.run.Term.Out) {
		name = display.Printable(name)
	}
	fmt.Fprintf(v.run.Term.Out, "%s%s  %s\n", mark, sum, name)
}
