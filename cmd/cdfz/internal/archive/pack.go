package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/unpack"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/volumes"
	"github.com/cdfz-format/cdfz/internal/runlog"
)

// packs is --pack: archives become members of volumes.
//
// A file is done in two steps. First its archive is made and compared with the source, in a file without a name, and goes
// into the open volume when its turn comes. When that volume is complete, it is what an archive in a folder is: it gets its
// receipt and its line in the log, and its source may be deleted. A run does some files in the first step, and then those
// whose volume is complete in the second one. What is in earlier volumes needs the second step alone.
type packs struct {
	o volumes.Options // its Size is 0 without --pack

	out      *volumes.Writer
	complete []string        // volumes that are complete since the last step
	open     []*packed       // members of the open volume
	ready    []*packed       // of complete ones
	rest     []*volume.Entry // folders and links of the tree that are still to be added, in order
	again    map[string]*group
	broken   error // a volume failed, and no other one is begun
	twice    bool  // files are done whose target another FILE had, too
	old      []byte
}

// packed is a member whose volume is not complete, or was not when it was added.
type packed struct {
	file  fileio.File
	rep   *archiveReport
	in    *fileio.Input   // what is known of it; it is closed
	kind  string          // archive, plain or hardlink
	entry *treefile.Entry // with --whole
}

// group is a file with several names. The first one has the archive.
type group struct {
	first string         // Rel of the first name in the order of volumes
	rep   *archiveReport // of the name that is in the open volume
}

func (p *packs) on() bool { return p.o.Size > 0 }

// check checks the flags.
func (p *packs) check(v *archiver) error {
	switch {
	case !p.on() && !p.o.Time.IsZero():
		return errors.New("--pack-time: expected --pack too")
	case !p.on() && p.o.Parity > 0:
		return terminal.Hinted(errors.New("--pack-parity: expected --pack too"), "--parity P%% is parity of each archive")
	case !p.on():
		return nil
	case v.run.Dest.Name == "":
		return terminal.Hinted(errors.New("--pack: expected -o DIR/ too"), "it names the folder of the volumes, or a prefix of a store")
	case v.run.Dest.IsStdout() || !v.run.Dest.IsDir():
		return terminal.Hinted(errors.New("--pack: expected a folder for the volumes"), "-o DIR/ names it; cdfz pack writes one volume to a file or to standard output")
	case v.changes.replaces:
		return terminal.Hinted(errors.New("--pack: contradicts --replace-changed"), "a later volume gets the new state, and the earlier one keeps the old")
	}
	return nil
}

// isVolumeName reports whether -o seems to name a volume instead of a folder of volumes.
func isVolumeName(name string) bool {
	st, err := os.Stat(strings.TrimRight(name, string(filepath.Separator)))
	return path.Ext(filepath.ToSlash(name)) == volume.Suffix && (err != nil || st.Mode().IsRegular())
}

// begin opens the volumes of earlier runs.
func (p *packs) begin(ctx context.Context, v *archiver) (err error) {
	p.o.ReadOnly, p.o.Verified = v.dry, !v.noCheck
	if p.out, err = volumes.New(ctx, v.run, p.o); err != nil {
		return err
	}
	p.out.Complete = func(name string) {
		p.complete = append(p.complete, name)
		p.ready = append(p.ready, p.open...)
		p.open = nil
	}
	return nil
}

func (p *packs) close() {
	if p.out != nil {
		p.out.Close()
	}
}

// member returns the path of the member that a file becomes.
func (v *archiver) member(ctx context.Context, j fileio.File) string {
	if j.At != "" {
		return j.At
	}
	return filepath.ToSlash(v.imageName(ctx, j, j.Rel) + fileio.Suffix)
}

// batch is the number of bytes of sources after which a run looks for volumes that are complete.
const batch = 1 << 30

// archive does all files.
func (p *packs) archive(ctx context.Context, v *archiver) {
	type file struct {
		fileio.File
		path string
	}
	var list []file
	for _, j := range v.files.Files {
		list = append(list, file{j, v.member(ctx, j)})
	}
	if v.whole.on {
		p.again = map[string]*group{}
		kept := v.whole.links[:0]
		for _, j := range v.whole.links {
			if j.At == "" { // no member can have its name
				kept = append(kept, j)
				continue
			}
			j.Plain = v.whole.plainLink(j)
			list = append(list, file{j, j.At})
		}
		v.whole.links = kept
	}
	slices.SortStableFunc(list, func(a, b file) int { return volume.Compare(a.path, b.path) })
	var files, twice []fileio.File
	groups := map[string]*group{}
	for i, j := range list {
		if i > 0 && list[i-1].path == j.path {
			twice = append(twice, j.File)
			continue
		}
		if of := v.whole.groupOf(j.File); of != "" {
			if groups[of] == nil {
				groups[of] = &group{first: j.Rel}
			}
			p.again[j.Rel] = groups[of]
		}
		files = append(files, j.File)
	}
	for len(files) > 0 && ctx.Err() == nil {
		n, size := 0, int64(0)
		for n < len(files) && (n == 0 || size < max(batch, p.o.Size)) {
			size += files[n].Size
			n++
		}
		p.some(ctx, v, files[:n])
		files = files[n:]
	}
	p.end(ctx, v)
	if len(twice) > 0 && ctx.Err() == nil {
		p.twice = true
		p.some(ctx, v, twice)
		p.end(ctx, v) // the first of them may have failed
	}
}

// end completes the open volume, and does what follows for its members.
func (p *packs) end(ctx context.Context, v *archiver) {
	if err := p.finish(ctx, v); err != nil {
		if p.broken == nil && len(p.open) == 0 && ctx.Err() == nil { // it has folders and links alone, which are no files of the run
			v.failed(terminal.ShowTarget(p.out.Name()), err)
		}
		p.fail(ctx, v, err)
	}
	p.settle(ctx, v)
}

// some does some files.
func (p *packs) some(ctx context.Context, v *archiver, files []fileio.File) {
	list := fileio.List{Folders: v.files.Folders, Files: files}
	v.run.Term.StartProgress("archive", list.Sizes()...)
	w := v.work()
	w.Turns = true
	v.run.Parallel(ctx, list, w)
	p.settle(ctx, v)
}

// settle does what follows the completion of volumes for their members.
func (p *packs) settle(ctx context.Context, v *archiver) {
	for _, name := range p.complete {
		if err := p.out.Earlier.Append(context.WithoutCancel(ctx), name); err != nil {
			v.run.FailLogged(terminal.ShowTarget(name), err)
		}
	}
	p.complete = nil
	list := p.ready
	p.ready = nil
	if v.whole.on && v.proof.deletes {
		list = p.listFirst(ctx, v, list)
	}
	files := fileio.List{Folders: v.files.Folders}
	for i, k := range list {
		k.file.N = i
		files.Files = append(files.Files, k.file)
	}
	if len(list) == 0 {
		return
	}
	// Without receipts, what is complete gets its line in the log, also if the run was stopped meanwhile. Receipts are
	// written by the next run then.
	if v.proof.file == nil {
		ctx = context.WithoutCancel(ctx)
	}
	v.run.Term.StartProgress("prove", files.Sizes()...)
	v.run.Parallel(ctx, files, cli.Work{Failed: v.failed, Fixed: 24 << 20, PerByte: 6, Light: v.proof.file == nil, One: func(ctx context.Context, j *cli.Job) (func(), error) {
		return v.settlePacked(ctx, j, list[j.N])
	}})
}

// settlePacked writes the receipt of a member of a complete volume, deletes the source, and reports.
func (v *archiver) settlePacked(ctx context.Context, j *cli.Job, k *packed) (end func(), err error) {
	w := &work{Job: j, rep: k.rep, in: k.in}
	end = func() { v.sum.add(&w.sum) }
	w.Entry.Target, w.Entry.Size = w.rep.Target, w.rep.Size
	if v.proof.deletes {
		if w.in, err = v.run.In.OpenFile(ctx, j.File); err != nil {
			return end, err
		}
		defer w.in.Close()
		if v.unpacks {
			if _, err := unpack.Open(ctx, w.in); err != nil {
				return end, err
			}
		}
		sum, err := v.sumOf(ctx, w) // its time may be all that is the same since it was archived
		if err != nil {
			return end, err
		}
		if sum != w.rep.SHA256 {
			return end, archive.ErrChanged
		}
	}
	for _, text := range w.rep.Warnings {
		w.Term.Message("warning: %s: %s", w.in.Name, text)
	}
	if err = v.proof.settle(ctx, v, w); err != nil && !errors.Is(err, protect.ErrKept) {
		return end, err
	}
	if err != nil {
		w.Entry.Outcome = runlog.Kept
	}
	if k.entry != nil {
		k.entry.SHA256 = k.rep.SHA256 // that of a further name was not known
		v.whole.note(k.entry)
	}
	if k.kind == string(treefile.Archive) {
		v.done(w)
	} else {
		v.donePlain(w, k.kind)
	}
	return end, err
}

// fail reports that the open volume cannot be completed: its members are not archived.
func (p *packs) fail(ctx context.Context, v *archiver, err error) {
	p.out.Abandon()
	left := p.open
	p.open = nil
	if ctx.Err() != nil {
		return
	}
	err = fileio.OfAll(fmt.Errorf("the volume %s: %w", terminal.ShowTarget(p.out.Name()), err))
	if p.broken == nil {
		p.broken = err
	}
	for _, k := range left {
		v.run.LogFailure(terminal.ShowName(k.file.Name), err)
	}
	if n := int64(len(left)); n > 0 {
		v.sum.Failed += n
		v.run.Term.FailFile(terminal.ShowTarget(p.out.Name()), fmt.Errorf("%s of it are not archived: %w", display.Count(n, "member"), err))
	}
}

// errElsewhere reports a link whose file is in another volume.
var errElsewhere = errors.New("its file is in another volume")

// unprotected returns an error once the parity of a volume is wanted and is not there: then no source is deleted.
func (p *packs) unprotected() error {
	if p.out == nil {
		return nil
	}
	return p.out.Unprotected
}

// proves returns the path of the current state of a member, and an error unless its volume is where it stays.
func (p *packs) proves(ctx context.Context, v *archiver, name string) (at string, e *volume.Entry, err error) {
	if at, e, err = p.out.Earlier.Find(ctx, name); err != nil {
		return at, e, err
	}
	return at, e, p.out.Earlier.Prove(ctx, name)
}
