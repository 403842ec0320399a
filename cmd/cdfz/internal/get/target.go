package get

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// archives reports whether the target is an archive.
func (v *getter) archives() bool {
	return v.format == formats.NC && strings.HasSuffix(v.run.Dest.Name, fileio.Suffix) && !v.run.Dest.IsDir()
}

// toSink writes selections and returns the number of bytes.
func (r *getRun) toSink(ctx context.Context, path string, from *formats.Writer) (int64, error) {
	t := r.run.Target(path, r.in)
	t.Sparse = atomicfile.SparseAuto
	dst, err := t.Sink(ctx)
	if err != nil {
		return 0, err
	}
	defer dst.Abort()
	n, err := write(ctx, dst, from)
	if err == nil && dst.File() != nil {
		err = r.in.Changed()
	}
	if err == nil {
		err = dst.Commit(ctx)
	}
	return n, err
}

// toArchive writes selections as a classic file in an archive, and returns the bytes of the archive.
func (r *getRun) toArchive(ctx context.Context, path string, from *formats.Writer) (int64, error) {
	image, err := atomicfile.Temp()
	if err != nil {
		return 0, err
	}
	defer image.Close()
	n, err := write(ctx, image, from)
	if err == nil {
		err = r.in.Changed()
	}
	if err != nil {
		return 0, err
	}
	name, err := fileio.StripSuffix(filepath.Base(path))
	if err != nil {
		return 0, err
	}
	t := r.run.Target(path, &fileio.Input{})
	t.Proved = true
	dst, err := t.Sink(ctx)
	if err != nil {
		return 0, err
	}
	defer dst.Abort()
	res, _, err := archive.WriteTarget(ctx, dst.File(), image, n, &archive.WriteOptions{Name: name, Workers: r.run.Limits.Coders(), Memory: r.run.Limits.BlockMemory()})
	if err != nil {
		return 0, err
	}
	return res.Size, dst.Commit(ctx)
}

// write writes selections and returns the number of bytes.
func write(ctx context.Context, dst io.Writer, from *formats.Writer) (int64, error) {
	out := &countWriter{w: fileio.CtxWriter{Ctx: ctx, W: dst}}
	w := bufio.NewWriterSize(out, 1<<16)
	if err := from.Write(ctx, w); err != nil {
		return out.n, err
	}
	return out.n, w.Flush()
}

// historyLine returns the line to append to the history of a netCDF file.
func historyLine(file string, selections []*formats.Selection) string {
	line := time.Now().UTC().Format(time.RFC3339) + " cdfz get " + file
	for _, s := range selections {
		line += " '" + s.Text + "'"
	}
	return display.Printable(line)
}

// targetNames returns the names of files below -o DIR/. They are unique, derived from
// the names of variables and valid on any file system.
func targetNames(sel []*formats.Selection, ext string) []string {
	taken := map[string]bool{}
	var out []string
	for _, s := range sel {
		base := fileName(s.Var)
		name := base
		for n := 2; taken[strings.ToLower(name)]; n++ {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		taken[strings.ToLower(name)] = true
		out = append(out, name+"."+ext)
	}
	return out
}

// devices are names that are reserved on Windows, with any suffix.
var devices = []string{"CON", "PRN", "AUX", "NUL", "COM1", "COM2", "COM3", "COM4", "COM5", "COM6", "COM7", "COM8", "COM9",
	"LPT1", "LPT2", "LPT3", "LPT4", "LPT5", "LPT6", "LPT7", "LPT8", "LPT9"}

// fileName returns a name with %XX for bytes that cause trouble in file names.
func fileName(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		plain := r != utf8.RuneError && display.Printable(name[i:i+n]) == name[i:i+n] && !strings.ContainsRune(`/\:*?"<>|% `, r)
		if plain && (i > 0 || r != '.' && r != '-') {
			b.WriteString(name[i : i+n])
		} else {
			for _, c := range []byte(name[i : i+n]) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		}
		i += n
	}
	const most = 200 // of the 255 bytes that file systems allow: suffixes follow
	s := b.String()
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	if s == "" {
		return "%"
	}
	if slices.Contains(devices, strings.ToUpper(s)) {
		return fmt.Sprintf("%%%02X%s", s[0], s[1:])
	}
	return s
}
