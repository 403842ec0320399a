package volume

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/cdfz-format/cdfz/internal/ioat"
)

// keptBlocks is the number of decoded blocks of the index that a volume keeps, each of about 100 kB, and of 64 MiB if its paths are as
// long as they may be.
const keptBlocks = 4

// maxLinks is the number of symbolic links that a path may lead over.
const maxLinks = 40

// Volume is an open volume. It is safe for concurrent use if its reader is.
type Volume struct {
	r       *ioat.Source // of the members
	index   *ioat.Source // of the blocks
	t       *trailer
	blocks  []block
	rebuilt error     // why the headers were read, or nil
	closer  io.Closer // of the index that was made from the headers

	mu   sync.Mutex
	kept []decoded // the one used last is the last
}

type decoded struct {
	n    int
	list []Entry
}

// Open opens a volume of size bytes. It reads the last 64 KiB, and the rest of the index's top level if that is longer. r
// may implement archive.ContextReaderAt and archive.DistantReaderAt. ctx is only for opening. The error is
// ErrNotVolume for other files.
//
// If the end is lost or damaged, it is an error. Rebuild reads the headers instead.
func Open(ctx context.Context, r io.ReaderAt, size int64) (*Volume, error) {
	s := ioat.Of(r)
	bound := ioat.Bind(ctx, s)
	tail := make([]byte, max(0, min(tailLen, size)))
	if err := ioat.ReadFull(bound, tail, size-int64(len(tail))); err != nil {
		return nil, err
	}
	t, err := findTrailer(tail, size)
	if err != nil {
		return nil, err
	}
	if t == nil {
		front, err := IsVolume(bound, size)
		switch {
		case err != nil:
			return nil, err
		case front:
			return nil, corrupt("the end of the volume is lost")
		}
		return nil, ErrNotVolume
	}
	var top []byte
	if at := t.top - (size - int64(len(tail))); at >= 0 {
		top = tail[at : at+t.topLen]
	} else if top, err = ioat.ReadBytes(bound, t.top, t.topLen); err != nil {
		return nil, err
	}
	if sum := crc32.ChecksumIEEE(top); sum != t.topSum {
		return nil, corrupt("the top level of the index: expected checksum %08x, found %08x", t.topSum, sum)
	}
	v := &Volume{r: s, index: s, t: t}
	if v.blocks, err = parseTop(top, t); err != nil {
		return nil, err
	}
	return v, nil
}

// findTrailer finds the trailer in the last bytes of a file. It returns nil for another file.
func findTrailer(tail []byte, size int64) (*trailer, error) {
	used := int64(len(bytes.TrimRight(tail, "\x00")))
	if used == 0 {
		return nil, nil
	}
	start := size - int64(len(tail))
	begin := (start + used - 1) / unit * unit // the trailer is the last block that is not empty
	if begin < start || begin+unit > size {
		return nil, nil
	}
	return parseTrailer(tail[begin-start:begin-start+unit], begin+unit)
}

// IsVolume reports whether a file begins like a volume.
func IsVolume(r io.ReaderAt, size int64) (bool, error) {
	if size < frontLen {
		return false, nil
	}
	var b [frontLen]byte
	if err := ioat.ReadFull(r, b[:], 0); err != nil {
		return false, err
	}
	return b[156] == 'g' && bytes.HasPrefix(b[257:], []byte("ustar")) && bytes.Contains(b[unit:], []byte(" comment="+magic)), nil
}

// Rebuilt returns why the headers of the tar file were read instead of the index, or nil.
func (v *Volume) Rebuilt() error { return v.rebuilt }

// Close frees what Rebuild has made. It does not close the reader.
func (v *Volume) Close() error {
	if v.closer == nil {
		return nil
	}
	return v.closer.Close()
}

// Packed returns when the volume was packed. It is the zero time if that is lost.
func (v *Volume) Packed() time.Time {
	if v.rebuilt != nil {
		return time.Time{}
	}
	return time.Unix(v.t.packed, 0)
}

// Len returns the number of members.
func (v *Volume) Len() int64 { return v.t.members }

// members returns the members of a block.
func (v *Volume) members(ctx context.Context, n int) ([]Entry, error) {
	v.mu.Lock()
	for i, d := range v.kept {
		if d.n == n {
			v.kept = append(slices.Delete(v.kept, i, i+1), d)
			v.mu.Unlock()
			return d.list, nil
		}
	}
	v.mu.Unlock()
	k := &v.blocks[n]
	stored, err := ioat.ReadBytes(ioat.Bind(ctx, v.index), k.off, k.stored)
	if err != nil {
		return nil, err
	}
	next := ""
	if n+1 < len(v.blocks) {
		next = v.blocks[n+1].first
	}
	list, err := parseBlock(stored, k, next, v.t.index)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.kept) >= keptBlocks {
		v.kept = slices.Delete(v.kept, 0, 1)
	}
	v.kept = append(v.kept, decoded{n, list})
	return list, nil
}

// Members returns the members from a path on, which may be missing, in their order. An error ends the sequence. The
// entries belong to the caller.
func (v *Volume) Members(ctx context.Context, from string) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		n := sort.Search(len(v.blocks), func(i int) bool { return Compare(v.blocks[i].first, from) > 0 })
		for n = max(0, n-1); n < len(v.blocks); n++ {
			list, err := v.members(ctx, n)
			if err != nil {
				yield(nil, err)
				return
			}
			i := sort.Search(len(list), func(i int) bool { return Compare(list[i].Path, from) >= 0 })
			for ; i < len(list); i++ {
				e := list[i]
				if !yield(&e, nil) {
					return
				}
			}
		}
	}
}

// Children returns the members of a folder, "" for that of the volume, without those of folders in it. An error ends
// the sequence.
func (v *Volume) Children(ctx context.Context, folder string) iter.Seq2[*Entry, error] {
	below := folder + "/"
	if folder == "" {
		below = ""
	}
	return func(yield func(*Entry, error) bool) {
		for from := below; ; {
			again := ""
			for e, err := range v.Members(ctx, from) {
				if err != nil {
					yield(nil, err)
					return
				}
				if !strings.HasPrefix(e.Path, below) {
					return
				}
				if !yield(e, nil) {
					return
				}
				if e.Kind == Folder {
					again = e.Path + "\x00" // comes after all that is below it
					break
				}
			}
			if again == "" {
				return
			}
			from = again
		}
	}
}

// Lookup returns the member with a path. The error is fs.ErrNotExist if the volume has none.
func (v *Volume) Lookup(ctx context.Context, name string) (*Entry, error) {
	for e, err := range v.Members(ctx, name) {
		if err != nil {
			return nil, err
		}
		if e.Path == name {
			return e, nil
		}
		break
	}
	return nil, fmt.Errorf("%.200q: %w", name, fs.ErrNotExist)
}

// Resolve finds the member that a path leads to, over symbolic and hard links, as a file system would. Links do not lead
// out of the volume.
func (v *Volume) Resolve(ctx context.Context, name string) (*Entry, error) {
	done, rest := "", name // done has no links
	for links := 0; rest != ""; {
		part, after, _ := strings.Cut(rest, "/")
		at := path.Join(done, part)
		if at == ".." || strings.HasPrefix(at, "../") {
			return nil, fmt.Errorf("%.200q leads out of the volume: %w", name, fs.ErrNotExist)
		}
		rest = after
		if at == "." || part == "" || part == "." || part == ".." {
			if done = at; done == "." {
				done = ""
			}
			continue
		}
		e, err := v.Lookup(ctx, at)
		if err != nil {
			return nil, err
		}
		if e.Kind == Symlink {
			if links++; links > maxLinks {
				return nil, fmt.Errorf("%.200q: too many symbolic links: %w", name, fs.ErrNotExist)
			}
			if strings.HasPrefix(e.Target, "/") {
				return nil, fmt.Errorf("%.200q leads out of the volume: %w", name, fs.ErrNotExist)
			}
			if rest = e.Target + "/" + rest; after == "" {
				rest = e.Target
			}
			continue
		}
		if rest == "" {
			return v.Regular(ctx, e)
		}
		if e.Kind != Folder {
			return nil, fmt.Errorf("%.200q: %.200q is no folder: %w", name, at, fs.ErrNotExist)
		}
		done = at
	}
	if done == "" {
		return &Entry{Kind: Folder, Mode: 0o755, Modified: v.Packed()}, nil
	}
	return v.Lookup(ctx, done)
}

// Regular returns a member with the contents of the regular file that it is or that it is a hard link to. A link keeps its own
// mode, owner and time.
func (v *Volume) Regular(ctx context.Context, e *Entry) (*Entry, error) {
	if e.Kind != HardLink {
		return e, nil
	}
	first, err := v.Lookup(ctx, e.Target)
	if err != nil || first.Kind != File || Compare(first.Path, e.Path) >= 0 {
		return nil, corrupt("%.200q is a hard link to %.200q, which is no regular file before it", e.Path, e.Target)
	}
	own := *e
	own.Kind, own.Target, own.Size, own.Sum, own.HasSum, own.off = File, "", first.Size, first.Sum, first.HasSum, first.off
	return &own, nil
}

// Contents returns the contents of a File, or of a HardLink to one, and their length. Reads have what the reader of the
// volume can do.
func (v *Volume) Contents(ctx context.Context, e *Entry) (io.ReaderAt, int64, error) {
	own, err := v.Regular(ctx, e)
	if err != nil {
		return nil, 0, err
	}
	if own.Kind != File {
		return nil, 0, fmt.Errorf("%.200q is no regular file: %w", e.Path, fs.ErrInvalid)
	}
	return v.r.Section(own.off, own.Size), own.Size, nil
}
