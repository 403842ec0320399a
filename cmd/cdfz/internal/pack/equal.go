package pack

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/protect"
)

// A volume has the archive of an image once: further archives of it are hard links to the first. They may have other bytes,
// by other options or another name in them. So the first one must restore the image: it was the better one for no other
// reason than its path.

// firstOf is the first archive of an image in the open volume.
type firstOf struct {
	path     string
	size     int64
	modified time.Time
	proved   bool // it restores the image
	tried    bool
}

func isArchive(i *item) bool { return i.Kind == volume.File && path.Ext(i.Path) == archive.Suffix }

// heldBy returns the image of an archive, as its structures name it, or "" if nothing else can stand for it: another kind of
// file, a damaged archive, or one whose image is not the source.
func heldBy(ctx context.Context, r io.ReaderAt, size int64) string {
	f, err := archive.New(ctx, r, size, &archive.OpenOptions{Cache: -1})
	if err != nil {
		return ""
	}
	if h := protect.HeldBy(f); h.Archive && h.Source == "" {
		return h.SHA256
	}
	return ""
}

// imageOf returns the image of an archive of the tree, or "".
func (t *tree) imageOf(ctx context.Context, i *item) (sum string) {
	if i.data != nil {
		return heldBy(ctx, bytes.NewReader(i.data), i.Size)
	}
	_ = t.open(i, func(f *os.File) error {
		sum = heldBy(ctx, f, i.Size)
		return nil
	})
	return sum
}

// equal reports whether an archive may be a link to the first one of its image in the open volume, or be that one itself.
func (v *packer) equal(ctx context.Context, t *tree, i *item) bool {
	at, ok := v.out.First(i.image)
	if !ok {
		return true
	}
	first := v.images[i.image]
	if !first.tried {
		first.tried, first.proved = true, first.path == at && t.restores(ctx, first, i.image)
	}
	return first.proved
}

// packed notes an archive that was packed, if it is the first of its image in its volume.
func (v *packer) packed(i *item) {
	if at, ok := v.out.First(i.image); !ok || at != i.Path {
		return
	}
	if v.images == nil || v.out.Begun() != v.imagesIn {
		v.images, v.imagesIn = map[string]*firstOf{}, v.out.Begun()
	}
	v.images[i.image] = &firstOf{path: i.Path, size: i.Size, modified: i.Modified}
}

// restores reports whether an archive of the tree restores an image, read without its index.
func (t *tree) restores(ctx context.Context, of *firstOf, image string) bool {
	i := &item{Entry: volume.Entry{Path: of.path, Kind: volume.File}}
	if err := t.look(i); err != nil || i.Size != of.size || !i.Modified.Equal(of.modified) {
		return false
	}
	err := t.open(i, func(f *os.File) error {
		got, err := verify.Walk(ctx, f, i.Size, &verify.Options{Workers: t.v.run.Limits.Workers, Memory: t.v.run.Limits.BlockMemory()})
		if err == nil && got.SHA256 != image {
			err = archive.ErrCorrupt
		}
		return err
	})
	return err == nil
}

// has reports whether the last earlier volume that has a member has it as it is now. An archive that is a link to another one
// of its image there has the size of that.
func (v *packer) has(ctx context.Context, t *tree, i *item) (bool, error) {
	has, err := v.out.Earlier.Has(ctx, &i.Entry)
	if has || err != nil || !isArchive(i) {
		return has, err
	}
	at, old, err := v.out.Earlier.Find(ctx, i.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || old.Kind != volume.HardLink || old.Mode != i.Mode || old.UID != i.UID || old.GID != i.GID || !old.Modified.Equal(i.Modified) {
		return false, err
	}
	in, err := v.run.In.Open(ctx, at)
	if err != nil {
		return false, err
	}
	defer in.Close()
	image := t.imageOf(ctx, i)
	return image != "" && image == heldBy(ctx, in.R, in.Size), nil
}
