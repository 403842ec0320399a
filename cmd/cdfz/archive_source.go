package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
)

// existingMode is the way archive detects that a file is already archived.
type existingMode string

const (
	existingMtime existingMode = "mtime" // by size and modification time, else like hash
	existingHash  existingMode = "hash"  // by size and SHA-256
	existingNever existingMode = "never" // an existing target is an error
)

// isDone reports whether the target exists and is an archive of the input, and reports
// such a file. It is an error if the target is an archive of something else.
func (v *archiver) isDone(ctx context.Context, name string, in *cli.Input, path string) (bool, error) {
	st, err := os.Stat(path)
	if v.existing == existingNever || err != nil || !st.Mode().IsRegular() || in.Stat != nil && os.SameFile(st, in.Stat) {
		return false, nil // making the target finds any other obstacle
	}
	f, err := archive.Open(ctx, path, nil)
	switch {
	case errors.Is(err, archive.ErrNotArchive), errors.Is(err, fs.ErrPermission):
		return false, nil
	case errors.Is(err, archive.ErrCorrupt):
		return false, cli.Hinted(err, "-f makes the archive again")
	case err != nil:
		return false, err
	}
	defer f.Close()
	info, ok := f.Info()
	if !ok {
		return false, nil
	}
	same := info.ImageSize == in.Size
	sameTime := in.Stat != nil && st.ModTime().Equal(in.Stat.ModTime())
	if same && (v.existing == existingHash || !sameTime) {
		sum, err := hashOf(ctx, in, v.Step(in.Name, in.Size, 0, 1))
		if err != nil {
			return false, err
		}
		same = sum == info.SHA256
	}
	if !same {
		return false, cli.Hinted(fmt.Errorf("%s exists and holds another version of the file", path), "-f makes the archive again")
	}
	v.sum.Unchanged++
	v.PassOver()
	switch reason := "archived before in " + path; {
	case v.JSON:
		v.Emit(cli.Skipped{File: cli.ReportName(name), Reason: reason})
	case v.Verbose || !v.files.Folders:
		v.Report("%s: %s", in.Name, reason)
	}
	return true, nil
}

// hashOf returns the SHA-256 of an input in hexadecimal.
func hashOf(ctx context.Context, in *cli.Input, step func(int64)) (string, error) {
	sum := sha256.New()
	buf := make([]byte, 1<<20)
	for off := int64(0); off < in.Size; {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := in.R.ReadAt(buf[:min(int64(len(buf)), in.Size-off)], off)
		if n == 0 {
			if err == nil || errors.Is(err, io.EOF) {
				err = archive.ErrChanged
			}
			return "", err
		}
		sum.Write(buf[:n])
		if off += int64(n); step != nil {
			step(off)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), in.Changed()
}

// readHeader reads the netCDF header of an input.
func readHeader(in *cli.Input) (*cdf3.Header, error) { return cdf3.Read(in.R, in.Size) }

// truncated describes the values that lie beyond the end of a file. It returns "" if
// there are none.
func truncated(h *cdf3.Header, size int64) string {
	missing := int64(0)
	var names []string
	for i := range h.Vars {
		end, ok := endOf(h, &h.Vars[i])
		if ok && end <= size {
			continue
		}
		missing = max(missing, end-size)
		names = append(names, cli.Quoted(h.Vars[i].Name))
	}
	if len(names) == 0 {
		return ""
	}
	const most = 5
	if n := len(names) - most; n > 0 {
		names = append(names[:most:most], fmt.Sprintf("and %d more", n))
	}
	return fmt.Sprintf("the file is truncated: its last %s are missing, with values of %s", cli.Size(missing), strings.Join(names, ", "))
}

// endOf returns the end of a variable's values. ok is false if they end beyond any
// file.
func endOf(h *cdf3.Header, v *cdf3.Var) (end int64, ok bool) {
	if v.Len == 0 {
		return 0, true
	}
	end = v.Begin
	if v.Record && h.NumRecs > 1 {
		if h.RecSize > 0 && h.NumRecs-1 > (math.MaxInt64-end)/h.RecSize {
			return math.MaxInt64, false
		}
		end += (h.NumRecs - 1) * h.RecSize
	}
	if v.RecLen > math.MaxInt64-end {
		return math.MaxInt64, false
	}
	return end + v.RecLen, true
}
