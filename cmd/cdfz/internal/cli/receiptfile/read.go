package receiptfile

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
)

// format is the version of the format of receipts.
const format = 1

// headStart is the start of a head of any version.
const headStart = `{"cdfz_receipts":`

// head is the first line of a file, and the only one that is ever changed.
type head struct {
	Format int    `json:"cdfz_receipts"`
	ID     string `json:"id"`    // 32 hex digits, random
	Lines  int64  `json:"lines"` // after the head that are known to be on disk
	Last   string `json:"last"`  // SHA-256 of the last of them, or first
}

// text returns the line without its end. It is shorter than a sector, so that a loss of power
// leaves the old or the new one, and has the same length for all heads.
func (h *head) text() string {
	return fmt.Sprintf(`%s,"lines":%12d,"last":"%s"}`, h.constant(), h.Lines, h.Last)
}

// constant is the part of the head that does not change.
func (h *head) constant() string { return fmt.Sprintf(`%s%d,"id":"%s"`, headStart, format, h.ID) }

// first returns what the first line after the head has in place of the SHA-256 of the head.
func (h *head) first() string { return sum([]byte(h.constant())) }

func sum(text []byte) string {
	s := sha256.Sum256(text)
	return hex.EncodeToString(s[:])
}

func parseHead(text []byte) (*head, error) {
	h := new(head)
	err := json.Unmarshal(text, h)
	switch {
	case err == nil && h.Format > format:
		return nil, fmt.Errorf("%w: expected format %d, found %d", errNewer, format, h.Format)
	case err != nil || h.text() != string(text) || len(h.ID) != 32 || len(h.Last) != 64 || h.Lines < 0:
		return nil, errors.New("the head of the receipts is damaged")
	case h.Lines == 0 && h.Last != h.first():
		return nil, errors.New("the head of the receipts counts no lines, but has the SHA-256 of one")
	}
	return h, nil
}

// ErrNotReceipts is the error of a file of another kind.
var ErrNotReceipts = terminal.Lasting(errors.New("expected receipts, found another file"))

var (
	errNewer     = errors.New("receipts of a later version of cdfz")
	errUnchained = errors.New("expected lines that are chained by SHA-256, found receipts of a version of cdfz before 0.1.0")
)

// LineError is a damaged line of a file of receipts. It is archive.ErrCorrupt.
type LineError struct {
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string        { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *LineError) Unwrap() error        { return e.Err }
func (e *LineError) Is(target error) bool { return target == archive.ErrCorrupt }

// maxLine bounds a line, which has two names and some numbers.
const maxLine = 1 << 20

// Unended describes runs that did not end: they were killed, or are still at work.
type Unended struct {
	// Runs lists the lines where the last run of a chain began, if it has no end.
	Runs []int
	// Cut is the line after those that the head counts that such a run did not complete, or 0.
	Cut int
}

// Read calls use for each receipt of a file, and bad for each damage. Both may be called for a
// line. A file may be several files of receipts one after the other. Read returns errors of the
// source, and an error for a file that is not of receipts.
func Read(r io.Reader, use func(line int, rec *Receipt), bad func(*LineError)) (*Unended, error) {
	s := &scan{use: use, bad: bad}
	err := s.all(r)
	return &s.unended, err
}

// scan reads a file of receipts.
type scan struct {
	use     func(line int, rec *Receipt)
	bad     func(*LineError)
	line    int    // number of the current line
	at      int64  // where it begins
	off     int64  // the same up to a line that was not completed; at last the end of the last line of a chain
	c       *chain // nil before the first line
	chains  int
	unended Unended
}

// chain is a head and the lines after it.
type chain struct {
	head     *head // nil if it is lost
	lines    int64 // after it
	headLine int
	next     string    // prev of the next line, "" if unknown
	run      int       // line where the current run began, 0 for none
	began    time.Time // when it did
	receipts int64     // of the run
	broken   bool      // damage was found since it began
}

func (s *scan) fail(line int, format string, args ...any) {
	s.c.broken = true
	s.bad(&LineError{line, fmt.Errorf(format, args...)})
}

// row is a line of text.
type row struct {
	text  []byte // without the end; nil if size is more than maxLine
	size  int64  // with the end
	ended bool
	zero  bool // there is a zero byte, which JSON has not
}

// nextRow reads a line. It returns io.EOF at the end of the file. The text is valid until the next
// call.
func nextRow(b *bufio.Reader) (row, error) {
	text, err := b.ReadSlice('\n')
	w := row{text: text, size: int64(len(text)), zero: bytes.IndexByte(text, 0) >= 0}
	if errors.Is(err, bufio.ErrBufferFull) {
		w.text = bytes.Clone(text)
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		text, err = b.ReadSlice('\n')
		w.size += int64(len(text))
		w.zero = w.zero || bytes.IndexByte(text, 0) >= 0
		if w.size <= maxLine {
			w.text = append(w.text, text...)
		}
	}
	if w.size > maxLine {
		w.text = nil
	}
	w.text = bytes.TrimSuffix(w.text, []byte{'\n'})
	w.ended = err == nil
	if errors.Is(err, io.EOF) && w.size > 0 {
		err = nil
	}
	return w, err
}

func (s *scan) all(r io.Reader) error {
	b := bufio.NewReaderSize(r, 1<<16)
	for {
		w, err := nextRow(b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		s.line++
		switch {
		case s.c == nil:
			err = s.first(w)
		case s.unended.Cut > 0:
			s.after(w)
		default:
			s.one(w)
		}
		if err != nil {
			return err
		}
		s.at += w.size
		if s.unended.Cut == 0 {
			s.off += w.size
		}
	}
	switch {
	case s.c != nil:
		s.finish()
	case s.line > 0:
		return ErrNotReceipts
	default:
		s.c = new(chain)
		s.fail(1, "expected the head of the receipts, found an empty file")
	}
	return nil
}

// first reads a line before which there was no line of receipts. That of another file or a damaged
// head is one whose next line has to decide.
func (s *scan) first(w row) error {
	l := new(line)
	switch {
	case bytes.HasPrefix(w.text, []byte(headStart)):
		s.begin(w)
	case !w.ended && len(w.text) > 0 && bytes.HasPrefix([]byte(headStart), w.text):
		s.c = new(chain)
		s.fail(s.line, "the head of the receipts is cut off after %d bytes", w.size)
	case json.Unmarshal(w.text, l) == nil && l.Prev != "":
		s.c = new(chain)
		if s.line == 1 {
			s.fail(1, "expected the head of the receipts, found a line after it: the first line is missing")
		}
		s.one(w)
	case s.line == 1 && l.Receipt != nil && l.receipt() != nil:
		return errUnchained
	case s.line > 1 || w.size > maxLine:
		return ErrNotReceipts
	default:
		return nil
	}
	if s.line > 1 {
		s.fail(1, "expected the head of the receipts, found other text")
	}
	return nil
}

// begin reads a head.
func (s *scan) begin(w row) {
	s.c = &chain{headLine: s.line}
	h, err := parseHead(w.text)
	switch {
	case err != nil:
		s.fail(s.line, "%w", err)
	case !w.ended:
		s.fail(s.line, "the head of the receipts is cut off after %d bytes", w.size)
	default:
		s.c.head, s.c.next = h, h.first()
	}
	s.chains++
}

// one reads a line that is not the first.
func (s *scan) one(w row) {
	if bytes.HasPrefix(w.text, []byte(headStart)) {
		s.finish()
		s.begin(w)
		return
	}
	c := s.c
	if beyond := c.head != nil && c.lines >= c.head.Lines; beyond && (!w.ended || w.zero) {
		// A killed run began the line, or the system lost it in a loss of power.
		s.unended.Cut = s.line
		s.after(w)
		return
	}
	c.lines++
	l := new(line)
	err := json.Unmarshal(w.text, l)
	next := ""
	switch {
	case w.size > maxLine:
		s.fail(s.line, "expected at most %d bytes, found %d", maxLine, w.size)
	case !w.ended:
		s.fail(s.line, "cut off after %d bytes", w.size)
	case err != nil:
		s.fail(s.line, "expected a line of receipts: %w", err)
	default:
		if next = sum(w.text); c.next != "" && l.Prev != c.next {
			s.fail(s.line, "expected the SHA-256 of the line before, %s, found %.64q: a line was changed, added, removed or moved here", c.next, l.Prev)
		}
		s.content(l)
	}
	c.next = next
	if c.head != nil && c.lines == c.head.Lines && next != "" && next != c.head.Last {
		s.fail(s.line, "expected the line with SHA-256 %s, the last that the head in line %d counts, found %s", c.head.Last, c.headLine, next)
	}
}

// after reads a line that proves nothing, since it or one before it was not completed. No run writes
// after such a line, but files may have been joined there.
func (s *scan) after(w row) {
	i := bytes.Index(w.text, []byte(headStart))
	if i < 0 && (w.size <= maxLine || !w.ended) {
		return
	}
	s.fail(s.unended.Cut, "not completed, but text follows that may be receipts of another file")
	s.unended.Cut = 0
	if i >= 0 {
		w.text = w.text[i:]
		s.finish()
		s.begin(w)
	}
}

// content reads the content of a line.
func (s *scan) content(l *line) {
	c := s.c
	switch {
	case l.Run != nil && l.End == nil && l.Receipt == nil:
		c.run, c.began, c.receipts, c.broken = s.line, l.Run.Time, 0, false
	case l.Run == nil && l.End != nil && l.Receipt == nil:
		if !c.broken && (c.run == 0 || c.receipts != l.End.Receipts) {
			s.fail(s.line, "expected the end of a run with %d receipts, found one with %d", c.receipts, l.End.Receipts)
		}
		c.run, c.receipts = 0, 0
	case l.Run == nil && l.End == nil && l.Receipt != nil && l.receipt() != nil:
		if !c.broken && c.run == 0 {
			s.fail(s.line, "expected the start of a run, found a receipt")
		}
		c.receipts++
		l.Receipt.Run = c.began
		s.use(s.line, l.Receipt)
	default:
		s.fail(s.line, "expected a receipt, or the start or the end of a run")
	}
}

// finish ends a chain.
func (s *scan) finish() {
	c := s.c
	if h := c.head; h != nil && c.lines < h.Lines {
		s.fail(c.headLine+int(c.lines)+1, "missing: the head in line %d counts %d lines after it, found %d", c.headLine, h.Lines, c.lines)
	}
	if c.run > 0 && !c.broken {
		s.unended.Runs = append(s.unended.Runs, c.run)
	}
}
