// Package unpack opens netCDF files that are compressed with gzip, bzip2, xz or zstd.
package unpack

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/receiptfile"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/remote"
)

// format is a format of compressed files.
type format struct {
	name, suffix, magic string
	reader              func(io.Reader) (io.Reader, error)
}

var formats = []format{
	{"gzip", ".gz", "\x1f\x8b", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	{"bzip2", ".bz2", "BZh", func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }},
	{"xz", ".xz", "\xfd7zXZ\x00", openXZ},
	{"zstd", ".zst", "\x28\xb5\x2f\xfd", func(r io.Reader) (io.Reader, error) {
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}},
}

// find returns the format of a file that begins with head and has a name with the suffix
// of the format, or nil.
func find(name string, head []byte) *format {
	for i := range formats {
		f := &formats[i]
		if strings.HasSuffix(strings.ToLower(name), f.suffix) && bytes.HasPrefix(head, []byte(f.magic)) {
			return f
		}
	}
	return nil
}

// Name returns the name of the file in a compressed file: the name without the suffix.
func Name(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }

// Names returns the names that the compressed file of a netCDF file may have.
func Names(name string) []string {
	var all []string
	for _, f := range formats {
		all = append(all, name+f.suffix, name+strings.ToUpper(f.suffix))
	}
	return all
}

// Is reports whether a local file is compressed and named so.
func Is(ctx context.Context, n *fileio.Inputs, f fileio.File) bool {
	name := f.Name
	if remote.IsURL(name) || !slices.ContainsFunc(formats, func(f format) bool { return strings.HasSuffix(strings.ToLower(name), f.suffix) }) {
		return false
	}
	in, err := n.OpenFile(ctx, f)
	if err != nil {
		return false
	}
	defer in.Close()
	is, _ := formatOf(in)
	return is != nil
}

// Takes reports whether Open decompresses an input.
func Takes(in *fileio.Input) bool {
	f, _ := formatOf(in)
	return in.File != nil && f != nil
}

// formatOf returns the format of an input, or nil.
func formatOf(in *fileio.Input) (*format, error) {
	head := make([]byte, 6)
	n, err := in.R.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return find(in.Name, head[:n]), nil
}

// Select is fileio.Classic that also selects compressed files which begin like a classic file.
func Select(e fileio.Entry) (reason string, err error) {
	reason, err = fileio.Classic(e)
	if reason == "" || err != nil || e.In == nil { // compressed objects are not read
		return reason, err
	}
	file, err := e.Open()
	if err != nil {
		return "", err
	}
	defer file.Close()
	b := bufio.NewReader(file)
	head, _ := b.Peek(6)
	f := find(e.Name, head)
	if f == nil {
		return reason, nil
	}
	var magic [3]byte
	if r, err := f.reader(b); err == nil {
		_, err = io.ReadFull(r, magic[:])
		closeReader(r)
		if err == nil && string(magic[:]) == "CDF" {
			return "", nil
		}
	}
	return reason + ", not a classic netCDF file inside", nil
}

func closeReader(r io.Reader) {
	if c, ok := r.(io.Closer); ok {
		c.Close()
	}
}

// inMemory is the longest file that is decompressed into memory.
const inMemory = 8 << 20

// A file may not decompress to more than mostShare times its length and mostMore bytes, so that a small
// one does not fill the disk. deflate, the format of most compressed netCDF files, cannot
// exceed 1032 times.
const (
	mostShare = 2048
	mostMore  = 64 << 20
)

func mostOf(compressed int64) int64 { return compressed*mostShare + mostMore }

// Open decompresses an input, into memory or an unnamed temporary file, and replaces its
// reader and size. Other inputs stay as they are, and the result is nil. The input's Stat
// stays that of the compressed file.
func Open(ctx context.Context, in *fileio.Input) (*receiptfile.Compressed, error) {
	if in.File == nil {
		return nil, nil
	}
	f, err := formatOf(in)
	if f == nil || err != nil {
		return nil, err
	}
	src := &hashed{r: io.NewSectionReader(in.R, 0, in.Size), sum: sha256.New()}
	r, err := f.reader(bufio.NewReaderSize(src, 1<<16))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	defer closeReader(r)
	var small bytes.Buffer
	size, err := io.CopyN(&small, r, inMemory+1)
	if err == nil {
		tmp, err := atomicfile.Temp()
		if err != nil {
			return nil, err
		}
		most := mostOf(in.Size)
		size, err = io.Copy(fileio.CtxWriter{Ctx: ctx, W: tmp}, io.LimitReader(io.MultiReader(&small, r), most+1))
		if err == nil && size > most {
			err = fmt.Errorf("expected at most %d bytes, %d for each compressed one, found more", most, mostShare)
		}
		if err != nil {
			tmp.Close()
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		in.Replace(tmp, size, tmp.Close)
	} else if errors.Is(err, io.EOF) {
		in.Replace(bytes.NewReader(small.Bytes()), size, nil)
	} else {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	// The decoder may have stopped before the last bytes.
	if _, err := io.Copy(io.Discard, src); err != nil {
		return nil, err
	}
	return &receiptfile.Compressed{Format: f.name, Size: src.n, SHA256: hex.EncodeToString(src.sum.Sum(nil))}, nil
}

// hashed hashes the bytes that are read.
type hashed struct {
	r   io.Reader
	n   int64
	sum hash.Hash
}

// Read implements io.Reader.
func (h *hashed) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	h.sum.Write(p[:n])
	h.n += int64(n)
	return n, err
}
