package repair

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/parity"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/volumes"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// isVolume reports whether the run writes a volume with a new index from another one.
func (v *repairer) isVolume(args []string) bool {
	return len(args) == 1 && volumes.IsName(args[0]) && volumes.IsName(v.run.Dest.Name) && !v.run.Dest.IsDir()
}

// volume writes a volume with the members of another one, by its index or, if that is damaged, by its headers.
func (v *repairer) volume(ctx context.Context, name string) {
	dest := v.run.Dest.Name
	members, size, err := v.writeVolume(ctx, name)
	switch {
	case err != nil:
		v.run.Term.FailFile(terminal.ShowName(name), err)
	case v.run.Term.JSON:
		v.run.Term.Emit(struct {
			File    string `json:"file"`
			Target  string `json:"target"`
			Members int64  `json:"members"`
			Size    int64  `json:"size"`
		}{terminal.ReportName(name), terminal.ReportName(dest), members, size})
	default:
		v.run.Term.Report("%s: %s, %s", terminal.ShowTarget(dest), display.Count(members, "member"), display.Size(size))
	}
}

// writeVolume writes the volume, healed from its parity if there is one, or else with a new index.
func (v *repairer) writeVolume(ctx context.Context, name string) (members, size int64, err error) {
	members, size, healed, err := v.healVolume(ctx, name)
	if healed || err != nil {
		return members, size, err
	}
	out, err := v.run.Target(v.run.Dest.Name, nil).Sink(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer out.Abort()
	if members, size, err = v.run.In.CopyVolume(ctx, name, out, v.run.Term.FailFile); err == nil {
		err = out.Commit(ctx)
	}
	return members, size, err
}

// nowhere takes what is healed of the parity itself: it stays as it is.
type nowhere struct{}

func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

// healVolume writes the volume as it was, healed from the file of parity beside it or the one that --parity names. healed is false
// without such a file, and if it cannot heal all damage.
func (v *repairer) healVolume(ctx context.Context, name string) (members, size int64, healed bool, err error) {
	at := cmp.Or(v.parity, volumes.ParityName(name))
	beside, err := v.run.In.Open(ctx, at)
	if errors.Is(err, fs.ErrNotExist) && v.parity == "" {
		return 0, 0, false, nil
	}
	if err != nil {
		return 0, 0, false, fmt.Errorf("%s: %w", terminal.ShowName(at), err)
	}
	defer beside.Close()
	in, err := v.run.In.Open(ctx, name)
	if err != nil {
		return 0, 0, false, err
	}
	defer in.Close()
	cannot := func(why string) (members, size int64, healed bool, err error) {
		v.run.Term.Message("warning: %s: %s; the index is made from the volume alone", terminal.ShowName(at), why)
		return 0, 0, false, nil
	}
	o := &parity.Options{Workers: v.run.Limits.Workers, Memory: v.run.Limits.BlockMemory()}
	set, err := parity.FindBeside(ctx, in.R, in.Size, beside.R, beside.Size, o)
	switch {
	case errors.Is(err, archive.ErrCorrupt):
		return cannot(terminal.WithoutPackages(err.Error()))
	case err != nil:
		return 0, 0, false, err
	case set == nil:
		return cannot("no record of the parity is intact")
	}
	// The volume is copied first: it may be in a store, and is then received once.
	out, err := v.run.Target(v.run.Dest.Name, nil).Sink(ctx)
	if err != nil {
		return 0, 0, false, err
	}
	defer out.Abort()
	dst := out.File()
	if err = copyReadable(fileio.CtxWriter{Ctx: ctx, W: out}, in.R, min(in.Size, set.Off)); err == nil && in.Size < set.Off {
		err = dst.Truncate(set.Off)
	}
	if err == nil {
		set, err = parity.FindBeside(ctx, dst, set.Off, beside.R, beside.Size, o)
	}
	if err != nil {
		return 0, 0, false, err
	}
	before, intact, err := indexOf(ctx, dst, set.Off)
	if err != nil {
		return 0, 0, false, err
	}
	rep, err := set.Heal(ctx, set.Besides(dst, nowhere{}))
	if err != nil {
		return 0, 0, false, err
	}
	if !rep.Healable() {
		return cannot("the volume has more damage than the parity heals, or is another one")
	}
	back, err := volume.Open(ctx, dst, set.Off)
	if err == nil {
		defer back.Close()
		err = back.Check(ctx)
	}
	if err != nil {
		return 0, 0, false, fmt.Errorf("healed from %s: %w", terminal.ShowName(at), err)
	}
	if intact {
		if after, _, err := indexOf(ctx, dst, set.Off); err != nil {
			return 0, 0, false, err
		} else if after != before {
			return cannot("it is the parity of another volume")
		}
	}
	if rep.BadPieces > 0 {
		v.run.Term.Message("%s: %s of %d bytes healed from its parity", terminal.ShowName(name), display.Count(rep.BadPieces, "piece"), set.Piece)
	}
	return back.Len(), set.Off, true, out.Commit(ctx)
}

// indexOf returns a checksum of the index of a volume, with the time of packing. intact is false if the index is damaged: then
// nothing is known.
func indexOf(ctx context.Context, r io.ReaderAt, size int64) (sum [sha256.Size]byte, intact bool, err error) {
	damaged := func(err error) ([sha256.Size]byte, bool, error) {
		if errors.Is(err, archive.ErrCorrupt) || errors.Is(err, archive.ErrVersion) || errors.Is(err, volume.ErrNotVolume) {
			err = nil
		}
		return sum, false, err
	}
	vol, err := volume.Open(ctx, r, size)
	if err != nil {
		return damaged(err)
	}
	defer vol.Close()
	h := sha256.New()
	fmt.Fprintln(h, vol.Packed())
	for e, err := range vol.Members(ctx, "") {
		if err != nil {
			return damaged(err)
		}
		fmt.Fprintf(h, "%+v\n", *e)
	}
	return [sha256.Size]byte(h.Sum(nil)), true, nil
}

// copyReadable copies size bytes, with zeros for sectors that the disk cannot read.
func copyReadable(w io.Writer, r io.ReaderAt, size int64) error {
	const sector = 4096
	buf := make([]byte, 1<<20)
	for off := int64(0); off < size; {
		b := buf[:min(int64(len(buf)), size-off)]
		if err := ioat.ReadFull(r, b, off); ioat.Unreadable(err) {
			for at := 0; at < len(b); at += sector {
				part := b[at:min(at+sector, len(b))]
				if err := ioat.ReadFull(r, part, off+int64(at)); ioat.Unreadable(err) {
					clear(part)
				} else if err != nil {
					return err
				}
			}
		} else if err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
		off += int64(len(b))
	}
	return nil
}
