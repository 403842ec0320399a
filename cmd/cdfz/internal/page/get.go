package page

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/formats"
)

// maxSelections bounds the parts of a download.
const maxSelections = 64

// kinds are the media types of formats.
var kinds = map[formats.Format]string{
	formats.CSV: "text/csv; charset=utf-8", formats.JSON: "application/json", formats.NC: "application/x-netcdf",
}

// get answers with a part of a file, as cdfz get does.
func (h *Handler) get(w http.ResponseWriter, r *http.Request, f *File) error {
	if err := r.ParseForm(); err != nil {
		return badf("malformed request")
	}
	format := formats.Format(r.FormValue("format"))
	if format == "" {
		format = formats.CSV
	}
	if !slices.Contains(formats.Formats, format) {
		return badf("format: expected one of %v, found %.80q", formats.Formats, string(format))
	}
	selections := r.Form["select"]
	if len(selections) == 0 || len(selections) > maxSelections {
		return badf("select: expected 1 to %d selections, found %d", maxSelections, len(selections))
	}
	o := &formats.Options{Unpack: r.FormValue("unpack") == "1", Time: r.FormValue("time") == "1", Nearest: r.FormValue("nearest") == "1"}
	if format == formats.NC {
		o.History = history(f.Path, selections)
	}
	size := int64(0)
	var values []*formats.Values
	for _, text := range selections {
		s, err := formats.ParseSelection(text)
		if err != nil {
			return badf("%v", err)
		}
		x, err := s.Apply(r.Context(), f, o)
		if errors.Is(err, formats.ErrSelection) {
			return badf("%v", err)
		}
		if err != nil {
			return err
		}
		values = append(values, x)
		if n := x.Len(); n > (h.bytes-size)/x.Type().Size() {
			return &refusal{http.StatusForbidden, fmt.Sprintf("the answer is longer than the limit, %d bytes: ask for a part", h.bytes)}
		}
		size += x.Len() * x.Type().Size()
	}
	out, err := formats.NewWriter(format, values)
	if err != nil {
		return badf("%v", err)
	}
	head := w.Header()
	kind := kinds[format]
	if kind == "" {
		kind = "application/octet-stream"
	}
	head.Set("Content-Type", kind)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Content-Security-Policy", "sandbox")
	head.Set("Content-Disposition", disposition(saveAs(f.Path, values, format)))
	if r.Method == http.MethodHead {
		return nil
	}
	in := &lazy{w: w}
	if err := out.Write(r.Context(), in); err != nil {
		if !in.begun {
			for _, name := range []string{"Content-Type", "Content-Disposition"} {
				head.Del(name)
			}
			return err
		}
		return cut(err)
	}
	return nil
}

// lazy notes whether an answer has begun.
type lazy struct {
	w     io.Writer
	begun bool
}

// Write implements io.Writer.
func (l *lazy) Write(p []byte) (int, error) {
	l.begun = true
	return l.w.Write(p)
}

// history is the line that a netCDF file of a part gets.
func history(name string, selections []string) string {
	line := time.Now().UTC().Format(time.RFC3339) + " cdfz serve " + name
	for _, s := range selections {
		line += " '" + s + "'"
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, line)
}

// saveAs proposes a name for a download.
func saveAs(name string, values []*formats.Values, format formats.Format) string {
	name = path.Base(name)
	name = strings.TrimSuffix(name, path.Ext(name))
	for i, x := range values {
		if i == 4 {
			name += "-" + strconv.Itoa(len(values)-i) + "-more"
			break
		}
		name += "-" + strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.", r) {
				return r
			}
			return '_'
		}, strings.ToValidUTF8(x.Name(), "_"))
	}
	return name + "." + string(format)
}
