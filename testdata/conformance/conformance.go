// Package conformance answers the requests of the conformance suite (README.md) with the packages of this module.
package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/cdf3"
	"github.com/cdfz-format/cdfz/filters"
	_ "github.com/cdfz-format/cdfz/filters/all" // archives of the suite have filters that only users choose
	"github.com/cdfz-format/cdfz/lorenz"
)

// Answer returns the answer to a line of the runner, without the ends of lines.
func Answer(ctx context.Context, line string) string {
	request, name, _ := strings.Cut(line, " ")
	var params string
	if request == "block" {
		params, name, _ = strings.Cut(name, " ")
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return "error " + err.Error()
	}
	var image []byte
	switch request {
	case "archive":
		image, err = Image(ctx, b)
	case "block":
		image, err = Block(strings.ReplaceAll(params, ",", " "), b)
	case "netcdf":
		image, err = Archived(ctx, b)
	case "verify":
		if outcome, err := Verified(ctx, b); err != nil {
			return outcome + " " + strings.ReplaceAll(err.Error(), "\n", "; ")
		}
		return "ok"
	default:
		return "skipped"
	}
	if err != nil {
		return Outcome(err) + " " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return fmt.Sprintf("image %x", sha256.Sum256(image))
}

// Outcome returns the class of an error, which is not nil: "damaged", "refused", or "error" for all that is not about the
// bytes.
func Outcome(err error) string {
	var format *cdf3.FormatError
	switch {
	case errors.Is(err, archive.ErrNotArchive), errors.Is(err, archive.ErrVersion),
		errors.Is(err, filters.ErrUnknownFilter) && !errors.Is(err, archive.ErrCorrupt): // which callers would take for damage
		return "refused"
	case errors.Is(err, archive.ErrCorrupt), errors.Is(err, lorenz.ErrCorrupt):
		return "damaged"
	case errors.Is(err, cdf3.ErrNotCDF), errors.As(err, &format):
		return "refused" // a netCDF file that is not in an archive
	}
	return "error"
}

// Image restores an archive.
func Image(ctx context.Context, b []byte) ([]byte, error) {
	f, err := archive.New(ctx, bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out bytes.Buffer
	err = f.Image().Copy(ctx, &out, nil)
	return out.Bytes(), err
}

// Verified returns how `verify` finds an archive, and the error or the first damage: "ok" and nil, "damaged", "refused" or
// "error".
func Verified(ctx context.Context, b []byte) (string, error) {
	report, err := verify.Verify(ctx, bytes.NewReader(b), int64(len(b)), nil)
	switch {
	case err != nil:
		return Outcome(err), err
	case len(report.Damage) > 0:
		return "damaged", fmt.Errorf("%+v", report.Damage[0])
	}
	return "ok", nil
}

// Archived archives a netCDF file and restores it.
func Archived(ctx context.Context, b []byte) ([]byte, error) {
	var out bytes.Buffer
	if _, err := archive.Write(ctx, &out, bytes.NewReader(b), int64(len(b)), nil); err != nil {
		return nil, err
	}
	return Image(ctx, out.Bytes())
}

// Block decodes a block of lorenz. params are numbers, with spaces between them.
func Block(params string, b []byte) ([]byte, error) {
	var list []uint32
	for _, x := range strings.Fields(params) {
		n, err := strconv.ParseUint(x, 10, 32)
		if err != nil {
			return nil, err
		}
		list = append(list, uint32(n))
	}
	p, err := lorenz.ParseParams(list)
	if err != nil {
		return nil, err
	}
	d, err := lorenz.NewDecoder(p)
	if err != nil {
		return nil, err
	}
	n := p.Type.Size()
	for _, dim := range p.Dims {
		n *= dim
	}
	raw := make([]byte, n)
	return raw, d.Decode(raw, b)
}

// Vector takes a file of the folders with vectors apart: its header of text lines, and the bytes after it.
func Vector(b []byte) (head map[string]string, body []byte, err error) {
	text, body, ok := bytes.Cut(b, []byte("\n\n"))
	if !ok {
		return nil, nil, io.ErrUnexpectedEOF
	}
	head = map[string]string{}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		head[key] = value
	}
	return head, body, nil
}
