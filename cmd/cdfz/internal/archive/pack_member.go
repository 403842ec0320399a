package archive

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/volumes"
)

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
