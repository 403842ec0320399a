package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/report"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/unpack"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/volumes"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/internal/runlog"
)

// packs is --pack: archives become members of volumes.
//
// A file is done in two steps. First its archive is made and compared with the source, in a file without a name, and goes
// into the open volume when its turn comes. When that volume is complete, it is what an archive in a folder is: it gets its
// receipt and its line in the log, and its source may be deleted. A run does some files in the first step, and then those
// whose volume is complete in the second one. What is in earlier volumes needs the second step alone.
type packs struct {
	size int64     // of a volume, at most; 0: no volumes
	at   time.Time // of packing, zero for now

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

// group is a file with several names, of which the first has the archive.
type group struct {
	first string         // Rel of the first name in the order of volumes
	rep   *archiveReport // of the name that is in the open volume
}

func (p *packs) on() bool { return p.size > 0 }

// check checks the flags.
func (p *packs) check(v *archiver) error {
	switch {
	case !p.on() && !p.at.IsZero():
		return errors.New("--pack-time: expected --pack too")
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
	if p.out, err = volumes.New(ctx, v.run, p.size, p.at); err != nil {
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
		for n < len(files) && (n == 0 || size < max(batch, p.size)) {
			size += files[n].Size
			n++
		}
		p.some(ctx, v, files[:n])
		files = files[n:]
	}
	if err := p.finish(ctx, v); err != nil {
		p.fail(ctx, v, err)
	}
	p.settle(ctx, v)
	if len(twice) > 0 && ctx.Err() == nil {
		p.twice = true
		p.some(ctx, v, twice)
	}
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
	if errors.Is(err, fs.ErrExist) {
		err = terminal.Hinted(err, "another run may write volumes here; the same command archives what is in none")
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

// pack makes the Turn of a file whose content r is, of size bytes.
func (p *packs) pack(ctx context.Context, v *archiver, w *work, r fileio.Scratch, size int64, kind string) {
	k := v.packedOf(w, kind)
	mode, uid, gid, modified := ownedBy(w.in)
	w.Entry.Later = true
	w.Turn = func() error {
		defer r.Close()
		var common []any
		g := p.again[w.Rel]
		if g != nil {
			common = append(common, g)
		}
		if kind == string(treefile.Archive) && w.rep.Checked && w.rep.Loss == nil {
			common = append(common, w.rep.SHA256)
		}
		e := &volume.Entry{Path: w.rep.below, Kind: volume.File, Mode: mode, UID: uid, GID: gid, Modified: modified, Size: size, HasSum: kind == string(treefile.Plain)}
		err := p.add(ctx, v, w, k, &volumes.Member{Entry: e, Common: common, Contents: func(use func(io.Reader) error) error { return use(io.NewSectionReader(r, 0, size)) }})
		if err == nil && g != nil {
			g.rep = w.rep
		}
		return err
	}
}

// ownedBy returns the mode, the owner and the time of a source, as its archive has them.
func ownedBy(in *fileio.Input) (mode uint32, uid, gid int, modified time.Time) {
	if in.Stat == nil {
		return 0o644, max(0, os.Getuid()), max(0, os.Getgid()), in.Modified
	}
	u, g := ownerOf(in.Stat)
	return uint32(in.Stat.Mode().Perm()), int(u), int(g), in.Stat.ModTime()
}

// packedOf returns what is known of a file at work.
func (v *archiver) packedOf(w *work, kind string) *packed {
	k := &packed{file: w.File, rep: w.rep, in: w.in.Known(), kind: kind}
	if v.whole.on {
		k.entry = v.whole.entryOfDone(w)
	}
	return k
}

// add adds a member. It is the turn of its file.
func (p *packs) add(ctx context.Context, v *archiver, w *work, k *packed, m *volumes.Member) error {
	err := ctx.Err()
	if err == nil {
		err = p.broken
	}
	if err == nil {
		err = p.enter(ctx, v, m.Path, w.Name)
	}
	var left *volumes.MemberError
	if err == nil {
		err = p.out.Add(ctx, m)
	}
	if errors.As(err, &left) {
		return terminal.Lasting(left.Err)
	}
	if err != nil {
		if p.broken == nil && ctx.Err() == nil {
			p.fail(ctx, v, err)
			return p.broken
		}
		return err
	}
	w.rep.Target = fileio.MemberName(p.out.Name(), m.Path)
	p.open = append(p.open, k)
	return nil
}

// enter adds the folders and links that come before a path, and enters the folders above it. name is that of its source, or "".
func (p *packs) enter(ctx context.Context, v *archiver, at, name string) error {
	for len(p.rest) > 0 && (at == "" || volume.Compare(p.rest[0].Path, at) < 0) {
		e := p.rest[0]
		p.rest = p.rest[1:]
		if e.Kind == volume.Folder {
			p.out.Enter(e)
		}
		has, err := p.out.Earlier.Has(ctx, e)
		if err != nil {
			return err
		}
		if has && !v.run.Rules.Force {
			continue
		}
		if err := p.out.Add(ctx, &volumes.Member{Entry: e}); err != nil {
			return err
		}
	}
	if at == "" {
		return nil
	}
	in := p.out.In(at)
	for i := range len(at) {
		if at[i] == '/' && i > len(in) {
			p.out.Enter(folderOf(at[:i], name, strings.Count(at[i:], "/")))
		}
	}
	return nil
}

// folderOf describes a folder of volumes like the folder above a source, as many levels above.
func folderOf(at, source string, above int) *volume.Entry {
	e := &volume.Entry{Path: at, Kind: volume.Folder, Mode: 0o755, UID: max(0, os.Getuid()), GID: max(0, os.Getgid())}
	dir := filepath.Clean(source)
	for range above {
		dir = filepath.Dir(dir)
	}
	if st, err := os.Stat(dir); err == nil && st.IsDir() && source != terminal.StdinName {
		e.SetFileMode(st.Mode())
		u, g := ownerOf(st)
		e.UID, e.GID, e.Modified = int(u), int(g), st.ModTime()
	}
	return e
}

// finish completes the last volume.
func (p *packs) finish(ctx context.Context, v *archiver) error {
	if p.broken != nil || ctx.Err() != nil {
		return errors.Join(ctx.Err(), p.broken)
	}
	if err := p.enter(ctx, v, "", ""); err != nil {
		return err
	}
	return p.out.Finish(ctx)
}

// decide returns what becomes of a file: nothing if the volumes have its archive. Another state goes into a later volume.
func (p *packs) decide(ctx context.Context, v *archiver, w *work) (d decision, err error) {
	d.Action = protect.Write
	old, st, err := p.find(ctx, v, w)
	if old == nil || err != nil {
		return d, err
	}
	defer old.Close()
	e, err := v.read(ctx, w, old, st)
	if e == nil || err != nil {
		return d, err
	}
	same, err := v.holds(ctx, w, e)
	switch {
	case err != nil:
		return d, err
	case !same && e.held.Size == w.in.Size && e.sameTime:
		return d, v.differs(ctx, w, e)
	case !same:
		return d, nil
	case v.existing == existingNever:
		return d, fmt.Errorf("%s: %w", terminal.ShowName(e.path), atomicfile.ErrExists)
	case e.loss != nil && len(v.specs.Lossy()) == 0:
		return d, terminal.Hinted(fmt.Errorf("%s exists, and %s", e.path, e.loss), againHint)
	}
	d.Action, d.found = protect.Done, e
	return d, v.intact(ctx, w, old, e)
}

// find opens the member that a file became before, and sets the target. It returns nil if there is none, or it is to be made again.
func (p *packs) find(ctx context.Context, v *archiver, w *work) (*fileio.Input, fs.FileInfo, error) {
	if v.run.Rules.Force && !p.twice {
		return nil, nil, nil
	}
	at, e, err := p.out.Earlier.Find(ctx, w.rep.below)
	if errors.Is(err, fs.ErrNotExist) || err == nil && e.Kind != volume.File && e.Kind != volume.HardLink {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	old, err := v.run.In.Open(ctx, at)
	if err != nil {
		return nil, nil, fileio.OfTarget(err)
	}
	w.rep.Target, w.Entry.Target = at, at
	return old, e.Info(), nil
}

// make archives an input to a file without a name, which goes into a volume when its turn comes.
func (p *packs) make(ctx context.Context, v *archiver, w *work, opts *archive.WriteOptions) error {
	out, err := v.run.Targets.Scratch(w.in.Size)
	if err != nil {
		return err
	}
	size, err := v.fill(ctx, w, opts, out)
	if err != nil {
		out.Close()
		return report.ExplainLoss(err)
	}
	p.pack(ctx, v, w, out, size, string(treefile.Archive))
	return nil
}

// keep copies a file that is kept as it is to a file without a name: the source may change while it goes into a volume.
func (p *packs) keep(ctx context.Context, v *archiver, w *work) error {
	start := time.Now()
	out, err := v.run.Targets.Scratch(w.in.Size)
	if err != nil {
		return err
	}
	w.rep.SHA256, err = fileio.CopySum(ctx, out, w.in.R, w.in.Size, w.Term.Step(w.in.Name, w.in.Size, 0, 1))
	if err == nil {
		err = w.in.Changed()
	}
	if err != nil {
		out.Close()
		w.rep.SHA256 = ""
		return err
	}
	w.rep.Checked, w.rep.Seconds = true, time.Since(start).Seconds() // the volume is read back
	p.pack(ctx, v, w, out, w.in.Size, string(treefile.Plain))
	return nil
}

// link makes the Turn of a further name of a file. It is a hard link to the first one in the same volume; in another one, it
// is archived again.
func (p *packs) link(ctx context.Context, v *archiver, w *work, g *group) {
	k := v.packedOf(w, string(treefile.HardLink))
	mode, uid, gid, modified := ownedBy(w.in)
	w.Entry.Later = true
	w.Turn = func() error {
		if _, ok := p.out.First(g); !ok {
			return p.linkAgain(ctx, v, w, g)
		}
		w.rep.SHA256, w.rep.Size, w.rep.ArchiveSize, w.rep.Ratio, w.rep.Checked = g.rep.SHA256, g.rep.Size, g.rep.ArchiveSize, g.rep.Ratio, true
		e := &volume.Entry{Path: w.At, Kind: volume.File, Mode: mode, UID: uid, GID: gid, Modified: modified}
		err := p.add(ctx, v, w, k, &volumes.Member{Entry: e, Common: []any{g}, Contents: func(func(io.Reader) error) error { return errElsewhere }})
		if errors.Is(err, errElsewhere) { // the volume was full
			return p.linkAgain(ctx, v, w, g)
		}
		return err
	}
}

// errElsewhere reports a link whose file is in another volume.
var errElsewhere = errors.New("its file is in another volume")

// linkAgain archives a further name whose file is in another volume. It is its turn.
func (p *packs) linkAgain(ctx context.Context, v *archiver, w *work, g *group) (err error) {
	if w.in, err = v.run.In.OpenFile(ctx, w.File); err != nil {
		return err
	}
	defer w.in.Close()
	if w.Plain {
		err = p.keep(ctx, v, w)
	} else {
		var opts *archive.WriteOptions
		if opts, err = v.optionsOf(w); err == nil {
			err = p.make(ctx, v, w, opts)
		}
	}
	if err != nil {
		return err
	}
	return w.Turn()
}

// prepare notes the folders and links of the tree, which become members.
func (p *packs) prepare(v *archiver, t *whole) {
	for i := range t.entries {
		e := &t.entries[i]
		now := t.tree.Find(e.Path)
		if now == nil || now.Kind != e.Kind || e.Path == "." {
			continue
		}
		m := &volume.Entry{Path: e.Placed(), UID: int(now.UID), GID: int(now.GID), Modified: now.Modified}
		switch m.SetFileMode(now.Mode); e.Kind {
		case treefile.Folder:
			m.Kind = volume.Folder
		case treefile.Link:
			m.Kind, m.Target = volume.Symlink, e.To
		default:
			continue
		}
		if err := volume.CheckPath(m.Path); err != nil {
			v.failed(t.src.ShowsAs(e.Path), terminal.Lasting(err))
			continue
		}
		p.rest = append(p.rest, m)
	}
	slices.SortFunc(p.rest, func(a, b *volume.Entry) int { return volume.Compare(a.Path, b.Path) })
}

// readTree returns the tree of the earlier volumes, or nil.
func (p *packs) readTree(ctx context.Context) (*treefile.Tree, error) {
	t, err := p.out.Earlier.Tree(ctx, time.Time{})
	if t == nil || err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if _, err := t.WriteTo(&b); err != nil {
		return nil, err
	}
	p.old = b.Bytes()
	return t, nil
}

// writeTree writes a volume that has only the tree file, unless the last one that has it is the same: a tree is known when all of
// it is archived, and a volume is never changed.
func (p *packs) writeTree(ctx context.Context, t *treefile.Tree) error {
	var b bytes.Buffer
	if _, err := t.WriteTo(&b); err != nil {
		return err
	}
	if bytes.Equal(b.Bytes(), p.old) {
		return nil
	}
	e := &volume.Entry{Path: treefile.Name, Kind: volume.File, Mode: 0o600, UID: max(0, os.Getuid()), GID: max(0, os.Getgid()), Modified: p.out.Time(), Size: int64(b.Len()), HasSum: true}
	err := p.out.Add(ctx, &volumes.Member{Entry: e, Contents: func(use func(io.Reader) error) error { return use(bytes.NewReader(b.Bytes())) }})
	if err == nil {
		err = p.out.Finish(ctx)
	}
	if err == nil {
		err = p.out.Earlier.Append(ctx, p.out.Name())
	}
	p.complete, p.old = nil, b.Bytes()
	return err
}

// proves returns the path of the current state of a member, and an error unless its volume is where it stays.
func (p *packs) proves(ctx context.Context, v *archiver, name string) (at string, e *volume.Entry, err error) {
	if at, e, err = p.out.Earlier.Find(ctx, name); err != nil {
		return at, e, err
	}
	return at, e, p.out.Earlier.Prove(ctx, name)
}
