package joined

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/internal/ioat"
)

// What a sample consists of, part of the format, never change: docs/joined.md.
const (
	samplePiece  = 256 // bytes
	sampleDigits = 32  // hexadecimal digits of the SHA-256
	maxPieces    = 16
)

// How many pieces of a file Build reads. A block of an archive must be decoded for each, and an archive has
// a SHA-256 as well: its sample is for the classic file that may take its place.
const (
	piecesOfClassic = 8
	piecesOfArchive = 1
)

// sample returns the sum of the parts of a netCDF file that tell it from others of the same structure,
// at the cost of few reads: the header, the first and the last coordinate along the joined dimension,
// and pieces of the rest that are spread evenly. Their number is part of the result. A copy of the file has
// the same sample.
//
// A SHA-256 of the whole file would tell more, but a dataset of classic files of 1 GB could not be opened.
func sample(ctx context.Context, dim string, f *archive.File, pieces int) (string, error) {
	h, image, sum := f.Header(), ioat.Bind(ctx, f.Image()), sha256.New()
	add := func(off, n int64) error {
		b, err := ioat.ReadBytes(image, off, n)
		if err != nil {
			return fmt.Errorf("reading %d bytes at %d: %w", n, off, err)
		}
		sum.Write(b)
		return nil
	}
	if err := add(0, h.Len); err != nil {
		return "", err
	}
	if v := coordinateIn(h, dim); v >= 0 && h.Vars[v].Len > 0 {
		values, n := ioat.Bind(ctx, f.Array(v).Values()), h.Vars[v].Type.Size()
		for _, off := range []int64{0, h.Vars[v].Len - n} {
			b, err := ioat.ReadBytes(values, off, n)
			if err != nil {
				return "", fmt.Errorf("variable %q: %w", dim, err)
			}
			sum.Write(b)
		}
	}
	for _, p := range samplePlaces(h.Len, f.Image().Size(), pieces) {
		if err := add(p.Off, p.Len); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d:%s", pieces, hex.EncodeToString(sum.Sum(nil))[:sampleDigits]), nil
}

// piecesOf returns the number of pieces of a sample. ok is false for other text.
func piecesOf(sample string) (pieces int, ok bool) {
	count, sum, _ := strings.Cut(sample, ":")
	pieces, err := strconv.Atoi(count)
	ok = err == nil && strconv.Itoa(pieces) == count && pieces >= 1 && pieces <= maxPieces && isDigits(sum, sampleDigits)
	return pieces, ok
}

// isDigits reports whether a text is n hexadecimal digits.
func isDigits(s string, n int) bool { return len(s) == n && strings.Trim(s, "0123456789abcdef") == "" }

// samplePlaces returns the places of the pieces between the end of the header and the end of the file: all
// that lies between if it is not longer than the pieces.
func samplePlaces(header, end int64, pieces int) []ioat.Span {
	n := int64(pieces)
	if end-header <= n*samplePiece {
		return []ioat.Span{{Off: header, Len: end - header}}
	}
	step := (end - header - samplePiece) / max(n-1, 1)
	places := make([]ioat.Span, pieces)
	for i := range places {
		places[i] = ioat.Span{Off: header + int64(i)*step, Len: samplePiece}
	}
	places[pieces-1].Off = end - samplePiece
	return places
}

// coordinateIn returns the number of the variable of a file that has the name of a dimension and no other
// dimension, or -1.
func coordinateIn(h *cdf3.Header, dim string) int {
	for i := range h.Vars {
		if v := &h.Vars[i]; v.Name == dim && len(v.DimIDs) == 1 && h.Dims[v.DimIDs[0]].Name == dim {
			return i
		}
	}
	return -1
}
