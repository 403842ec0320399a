package archive

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/treefile"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/volumes"
)

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

// listFirst writes a tree file that has the new states of files, before their sources are deleted. While a volume is open,
// there is no place for it: such files are ready later. It returns the others.
func (p *packs) listFirst(ctx context.Context, v *archiver, list []*packed) (now []*packed) {
	t := &v.whole
	t.listing.Lock()
	defer t.listing.Unlock()
	var newer []treefile.Entry
	for _, k := range list {
		_, again := t.first[k.entry.Path]
		older := t.isOlder(k.entry.Path, k.rep.SHA256)
		switch {
		case older && len(p.open) > 0:
			p.ready = append(p.ready, k)
			continue
		case older && !again:
			e := *k.entry
			e.SHA256 = k.rep.SHA256
			newer = append(newer, e)
		}
		now = append(now, k)
	}
	if len(newer) == 0 || p.broken != nil || ctx.Err() != nil {
		return now
	}
	merged, err := t.release(v, t.listed, newer)
	if err == nil {
		err = p.writeTree(ctx, merged)
	}
	if err != nil {
		v.failed(terminal.ShowName(fileio.TreePath(v.run.Dest.Name)), err)
		return now
	}
	t.listed = merged
	return now
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
