package protect

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"slices"

	"github.com/cdfz-format/cdfz/archive"
)

// HoldsFile reports whether bytes of a file that are no part of its archive are another archive or a netCDF file, or what is
// left of one. Bytes of a run of parity that was stopped are not. The numbers of a netCDF file without its header are not
// recognized. Bytes that cannot be read may be a file.
func HoldsFile(ctx context.Context, r io.ReaderAt, from, end int64) bool {
	part, size := io.NewSectionReader(r, from, end-from), end-from
	held, err := look(ctx, archive.Suffix, part, size)
	return err != nil || held.Archive || held.NetCDF || held.Volume || holdsEntries(ctx, part, size)
}

// holdsEntries reports whether bytes have local headers of entries of a ZIP file (docs/FORMAT.md, 18.1), other
// than those that adding parity writes. It returns true if the bytes cannot be read.
func holdsEntries(ctx context.Context, r io.ReaderAt, size int64) bool {
	const fixed, longest = 30, 1 << 16 // bytes of a local header, and at most of a name
	own := []string{".cdfz/parity", ".cdfz/manifest.json", ".cdfz/index"}
	buf := make([]byte, min(size, 1<<20))
	for off := int64(0); off < size; {
		b := buf[:min(int64(len(buf)), size-off)]
		if n, err := r.ReadAt(b, off); n < len(b) || ctx.Err() != nil {
			return err != nil || ctx.Err() != nil
		}
		for at := 0; ; at++ {
			k := bytes.Index(b[at:], []byte("PK\x03\x04"))
			if k < 0 || at+k+fixed > len(b) {
				break
			}
			at += k
			name := b[at+fixed:]
			name = name[:min(len(name), int(binary.LittleEndian.Uint16(b[at+26:])))]
			if len(name) > 0 && !slices.Contains(own, string(name)) {
				return true
			}
		}
		if int64(len(b)) == size-off {
			return false
		}
		off += int64(len(b)) - fixed - longest
	}
	return false
}
