package joined

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/internal/ioat"
	"github.com/cdfz-format/cdfz/internal/urls"
)

// Namespaces of the description. NcML's is written with http, as by THREDDS, and with https, as by ncdump.
const (
	ncmlSpace  = "http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2"
	ncmlSecure = "https://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2"
	// ownSpace is the namespace of the attributes that only this package uses. Part of the format.
	ownSpace = "https://github.com/cdfz-format/cdfz/joined-1"
)

const (
	// maxNcML is the length in bytes of the longest description that ReadNcML accepts. It bounds the
	// memory that a hostile file can take.
	maxNcML = 64 << 20
	// MaxMembers is the number of members that ReadNcML and Build accept.
	MaxMembers = 1 << 18
	// maxElement is the number of bytes of the longest element, comment or text that is read: the decoder
	// holds all its attributes in memory, at a multiple of their length.
	maxElement = 1 << 18
)

// bounds are limits for descriptions from elsewhere, whose reading and opening must not cost much.
type bounds struct {
	size       int64 // bytes of the description
	members    int
	unmeasured int // members without a described ncoords; opening the dataset opens them
	location   int // bytes of the location of a member
}

// most are the limits of all descriptions.
var most = bounds{size: maxNcML, members: MaxMembers, unmeasured: MaxMembers, location: maxElement}

// foreign are the limits of ReadForeign. 16 MiB hold about 65,536 members, and take a few seconds.
var foreign = bounds{size: 16 << 20, members: 1 << 16, unmeasured: 1 << 10, location: 1 << 12}

// The values of the attribute type of an aggregation.
const (
	typeExisting = "joinExisting"
	typeNew      = "joinNew"
)

// unitsChange is NcML's attribute for members whose times have different units.
const unitsChange = "timeUnitsChange"

// WriteNcML writes the description. Locations and names must be text that XML can hold, or the error is
// archive.ErrOptions. Errors of w are returned unchanged.
func (desc *Description) WriteNcML(w io.Writer) error {
	if err := desc.check(); err != nil {
		return err
	}
	b := &ncmlWriter{Writer: bufio.NewWriter(&bounded{w: w, left: maxNcML})}
	kind := typeExisting
	if desc.New {
		kind = typeNew
	}
	b.text("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<netcdf xmlns=\"" + ncmlSpace + "\" xmlns:cdfz=\"" + ownSpace + "\">\n  <aggregation")
	b.attr("dimName", desc.Dim)
	b.attr("type", kind)
	if desc.Convert {
		b.attr(unitsChange, "true")
	}
	if desc.First {
		b.attr("cdfz:first", "true")
	}
	b.text(">\n")
	for _, v := range desc.Vars {
		b.text("    <variableAgg")
		b.attr("name", v)
		b.text("/>\n")
	}
	for i := range desc.Members {
		m := &desc.Members[i]
		b.text("    <netcdf")
		b.attr("location", m.Location)
		if m.Len >= 0 && !desc.New {
			b.attr("ncoords", strconv.FormatInt(m.Len, 10))
		}
		if m.Part {
			b.attr("cdfz:start", strconv.FormatInt(m.Start, 10))
		}
		if m.Size >= 0 {
			b.attr("cdfz:size", strconv.FormatInt(m.Size, 10))
		}
		if m.SHA256 != "" {
			b.attr("cdfz:sha256", m.SHA256)
		}
		if m.Sample != "" {
			b.attr("cdfz:sample", m.Sample)
		}
		b.text("/>\n")
	}
	b.text("  </aggregation>\n</netcdf>\n")
	if b.err != nil {
		return b.err
	}
	return b.Flush()
}

// bounded is a writer of no more bytes than can be read again.
type bounded struct {
	w    io.Writer
	left int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, fmt.Errorf("joined: the description has more than %d bytes, too many for one: %w", maxNcML, archive.ErrOptions)
	}
	return b.w.Write(p)
}

// ncmlWriter writes until the first text that XML cannot hold.
type ncmlWriter struct {
	*bufio.Writer
	err error
}

// text writes markup. The buffer keeps errors of writing until Flush.
func (b *ncmlWriter) text(s string) { _, _ = b.WriteString(s) }

func (b *ncmlWriter) attr(name, value string) {
	if bad := strings.IndexFunc(value, func(r rune) bool { return r < ' ' || r == utf8.RuneError || r == 0xFFFE || r == 0xFFFF }); bad >= 0 && b.err == nil {
		b.err = fmt.Errorf("joined: %s %q: XML holds no control characters, and only UTF-8: %w", name, urls.Redact(value), archive.ErrOptions)
	}
	b.text(" " + name + "=\"")
	_ = xml.EscapeText(b.Writer, []byte(value)) // the buffer keeps errors
	b.text("\"")
}

// ncmlError is the error of a description, at a byte of the file.
type ncmlError struct {
	off   int64
	text  string
	class error
}

func (e *ncmlError) Error() string {
	return fmt.Sprintf("joined: NcML at byte %d: %s", e.off, e.text)
}

func (e *ncmlError) Unwrap() error { return e.class }

// ReadNcML reads a description of size bytes. Elements and attributes of NcML that change the dataset in
// other ways are ErrNotNcML, as is every other kind of file, and one of more than 64 MiB or MaxMembers. XML that is not well-formed or ends early is archive.ErrCorrupt, and so is
// text where a number belongs. Errors of r are wrapped.
//
// External entities and document types are refused. It allocates a small multiple of the size.
func ReadNcML(ctx context.Context, r io.ReaderAt, size int64) (*Description, error) {
	return readNcML(ctx, r, size, &most)
}

// ReadForeign is ReadNcML for a description that somebody else may have put into a folder. It refuses, with
// ErrNotNcML, what would cost much to read or to open: more than 16 MiB, 65536 members, 1024 members of unknown
// length, or locations of more than 4096 bytes.
func ReadForeign(ctx context.Context, r io.ReaderAt, size int64) (*Description, error) {
	return readNcML(ctx, r, size, &foreign)
}

// readNcML is ReadNcML within bounds.
func readNcML(ctx context.Context, r io.ReaderAt, size int64, limits *bounds) (*Description, error) {
	if size > limits.size {
		return nil, &ncmlError{limits.size, fmt.Sprintf("expected at most %d bytes, found %d", limits.size, size), ErrNotNcML}
	}
	p := newReader(ctx, r, size, limits)
	if err := p.all(); err != nil {
		return nil, err
	}
	if err := p.desc.check(); err != nil {
		return nil, p.damaged("%s", strings.TrimPrefix(strings.TrimSuffix(err.Error(), ": "+archive.ErrOptions.Error()), "joined: "))
	}
	return p.desc, nil
}

// maxBegin is the number of bytes that Begins reads.
const maxBegin = 1 << 16

// Begins reports whether a file of size bytes begins as a description does, intact or damaged: up to its
// first member, or for 64 KiB. It costs no more for a long file. ReadNcML can still refuse the rest. Errors
// are those of r.
func Begins(ctx context.Context, r io.ReaderAt, size int64) (bool, error) {
	p := newReader(ctx, r, min(size, maxBegin), &most)
	p.first = true
	err := p.all()
	var ncml *ncmlError
	switch {
	case err == nil:
		return true, nil
	case !errors.As(err, &ncml):
		return false, err
	case errors.Is(err, archive.ErrCorrupt): // or cut off here
		return true, nil
	}
	return false, nil
}

// newReader returns a reader of the first n bytes.
func newReader(ctx context.Context, r io.ReaderAt, n int64, limits *bounds) *ncmlReader {
	p := &ncmlReader{limits: limits, desc: &Description{}}
	p.from.r = io.NewSectionReader(ioat.Live(ctx, r), 0, n)
	p.dec = xml.NewDecoder(bufio.NewReader(&p.from))
	return p
}

// all reads the elements. The error is an *ncmlError or wraps one of the source.
func (p *ncmlReader) all() error {
	err := p.read()
	switch {
	case p.from.err != nil:
		return fmt.Errorf("joined: reading NcML: %w", p.from.err)
	case p.from.long:
		return p.refused("expected at most %d bytes of an element, a comment or space, found more", maxElement)
	}
	return err
}

// noted keeps the error of a source, which the XML decoder mixes with its own, and ends after a number of
// bytes.
type noted struct {
	r    io.Reader
	err  error
	left int64
	long bool // more than left were to be read
}

func (n *noted) Read(p []byte) (int, error) {
	if n.left <= 0 {
		n.long = true
		return 0, io.ErrUnexpectedEOF
	}
	k, err := n.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		n.err = err
	}
	n.left -= int64(k)
	return k, err
}

// ncmlReader reads a description element by element.
type ncmlReader struct {
	dec        *xml.Decoder
	from       noted
	limits     *bounds
	desc       *Description
	unmeasured int      // members without a length
	path       []string // names of the open elements
	root       bool     // the root element was read
	agg        bool     // the aggregation was read
	first      bool     // stop at the first member
}

// refused is the error of parts that would change the dataset.
func (p *ncmlReader) refused(format string, args ...any) error {
	return &ncmlError{p.dec.InputOffset(), fmt.Sprintf(format, args...), ErrNotNcML}
}

func (p *ncmlReader) damaged(format string, args ...any) error {
	return &ncmlError{p.dec.InputOffset(), fmt.Sprintf(format, args...), archive.ErrCorrupt}
}

func (p *ncmlReader) read() error {
	for {
		p.from.left = maxElement
		t, err := p.dec.Token()
		switch {
		case errors.Is(err, io.EOF) && !p.root:
			return p.refused("expected an element netcdf, found none")
		case errors.Is(err, io.EOF) && !p.agg:
			return p.refused("expected an element aggregation, found none")
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !p.root:
			return p.refused("expected NcML, found another kind of file: %v", err)
		case err != nil:
			return p.damaged("%v", err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			if err := p.start(t); err != nil {
				return err
			}
			if p.first && len(p.desc.Members) > 0 {
				return nil
			}
			p.path = append(p.path, t.Name.Local)
		case xml.EndElement:
			p.path = p.path[:len(p.path)-1]
		case xml.Directive:
			return p.refused("expected no document type, found one")
		case xml.CharData:
			if s := strings.TrimSpace(string(t)); s != "" {
				if !p.root {
					return p.refused("expected NcML, found other text")
				}
				return p.refused("expected no text between elements, found some")
			}
		}
	}
}

// start reads the start of an element.
func (p *ncmlReader) start(e xml.StartElement) error {
	if e.Name.Space != ncmlSpace && e.Name.Space != ncmlSecure {
		return p.refused("expected elements of the namespace %s, found %.80q of %.80q", ncmlSpace, e.Name.Local, e.Name.Space)
	}
	place := strings.Join(append(p.path, e.Name.Local), "/")
	switch place {
	case "netcdf":
		if p.root {
			return p.damaged("expected one root element, found two")
		}
		p.root = true
		return p.attrs(e, map[string]func(string) error{})
	case "netcdf/aggregation":
		if p.agg {
			return p.refused("expected one aggregation, found two")
		}
		p.agg = true
		return p.aggregation(e)
	case "netcdf/aggregation/variableAgg":
		return p.attrs(e, map[string]func(string) error{"name": func(s string) error {
			p.desc.Vars = append(p.desc.Vars, s)
			return nil
		}})
	case "netcdf/aggregation/netcdf":
		return p.member(e)
	}
	return p.refused("expected netcdf, aggregation, variableAgg and members alone, found an element %.80q in %.80q, which is not supported", e.Name.Local, strings.Join(p.path, "/"))
}

// attrs calls the function of each attribute. Those of foreign namespaces are ignored.
func (p *ncmlReader) attrs(e xml.StartElement, funcs map[string]func(string) error) error {
	seen := map[xml.Name]bool{}
	for _, a := range e.Attr {
		name := a.Name.Local
		switch {
		case seen[a.Name]:
			return p.damaged("element %s: expected each attribute once, found %.80q twice", e.Name.Local, name)
		case a.Name.Space == ownSpace:
			name = "cdfz:" + name
		case a.Name.Space != "" || name == "xmlns":
			continue
		}
		seen[a.Name] = true
		f := funcs[name]
		if f == nil {
			if a.Name.Space == ownSpace {
				return p.refused("element %s: attribute %.80s needs a newer version of cdfz", e.Name.Local, name)
			}
			return p.refused("element %s: attribute %.80q is not supported", e.Name.Local, name)
		}
		if err := f(a.Value); err != nil {
			return err
		}
	}
	return nil
}

func (p *ncmlReader) aggregation(e xml.StartElement) error {
	kind := ""
	err := p.attrs(e, map[string]func(string) error{
		"dimName":    func(s string) error { p.desc.Dim = s; return nil },
		"type":       func(s string) error { kind = s; return nil },
		"cdfz:first": p.boolean("cdfz:first", &p.desc.First),
		unitsChange:  p.boolean(unitsChange, &p.desc.Convert),
	})
	if err != nil {
		return err
	}
	switch kind {
	case typeNew:
		p.desc.New = true
	case typeExisting:
	default:
		return p.refused("aggregation: expected type %s or %s, found %.80q", typeExisting, typeNew, kind)
	}
	return nil
}

func (p *ncmlReader) member(e xml.StartElement) error {
	if n := p.limits.members; len(p.desc.Members) >= n {
		return p.refused("expected at most %d members, found more", n)
	}
	m := Member{Len: -1, Size: -1}
	err := p.attrs(e, map[string]func(string) error{
		"location":   func(s string) error { m.Location = strings.TrimPrefix(s, "file:"); return nil },
		"ncoords":    p.number("ncoords", &m.Len),
		"cdfz:start": func(s string) error { m.Part = true; return p.number("cdfz:start", &m.Start)(s) },
		"cdfz:size":  p.number("cdfz:size", &m.Size),
		"cdfz:sha256": func(s string) error {
			if !isDigits(s, 2*sha256.Size) {
				return p.damaged("cdfz:sha256: expected 64 hexadecimal digits, found %.80q", s)
			}
			m.SHA256 = s
			return nil
		},
		"cdfz:sample": func(s string) error {
			if _, ok := piecesOf(s); !ok {
				return p.damaged("cdfz:sample: expected a number from 1 to %d, a colon and %d hexadecimal digits, found %.80q", maxPieces, sampleDigits, s)
			}
			m.Sample = s
			return nil
		},
	})
	if err != nil {
		return err
	}
	switch n := p.limits.location; {
	case m.Location == "":
		return p.damaged("expected a member with a location, found none")
	case len(m.Location) > n:
		return p.refused("expected a location of at most %d bytes, found %d", n, len(m.Location))
	}
	if m.Len < 0 && !p.desc.New {
		if p.unmeasured++; p.unmeasured > p.limits.unmeasured {
			return p.refused("expected ncoords for all but %d members, found more without", p.limits.unmeasured)
		}
	}
	p.desc.Members = append(p.desc.Members, m)
	return nil
}

// boolean reads true or false.
func (p *ncmlReader) boolean(name string, to *bool) func(string) error {
	return func(s string) error {
		if s != "true" && s != "false" {
			return p.damaged("%s: expected true or false, found %.80q", name, s)
		}
		*to = s == "true"
		return nil
	}
}

// number reads a count.
func (p *ncmlReader) number(name string, n *int64) func(string) error {
	return func(s string) error {
		x, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		if err != nil || x < 0 {
			return p.damaged("%s: expected a number of at least 0, found %.80q", name, s)
		}
		*n = x
		return nil
	}
}
