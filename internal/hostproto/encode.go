package hostproto

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrMessage reports a message that the other side cannot have sent.
var ErrMessage = errors.New("malformed message")

// Append appends the message without its length.
func (r *Request) Append(b []byte) []byte {
	b = append(b, byte(r.Op), flag(r.Decode), flag(r.Check))
	b = binary.LittleEndian.AppendUint32(b, r.Lib)
	b = binary.LittleEndian.AppendUint32(b, r.Codec)
	b = binary.LittleEndian.AppendUint64(b, r.Len)
	b = binary.LittleEndian.AppendUint64(b, r.MaxLen)
	b = appendNumbers(b, r.Params)
	b = appendText(b, r.Text)
	b = append(b, byte(r.Block.Kind))
	b = binary.LittleEndian.AppendUint32(b, r.Block.Size)
	b = append(b, flag(r.Block.LittleEndian))
	return appendNumbers(b, r.Block.Shape)
}

// ParseRequest parses a message. Only what [Request.Append] writes is accepted.
func ParseRequest(b []byte) (*Request, error) {
	p := parser{rest: b}
	r := &Request{
		Op: Op(p.byte(uint8(lastOp))), Decode: p.flag(), Check: p.flag(), Lib: p.uint32(), Codec: p.uint32(), Len: p.uint64(), MaxLen: p.uint64(),
		Params: p.numbers(), Text: p.text(), Block: Block{Kind: Kind(p.byte(uint8(lastKind))), Size: p.uint32(), LittleEndian: p.flag(), Shape: p.numbers()},
	}
	if r.Op == 0 {
		p.fail("operation 0")
	}
	return r, p.end()
}

// Append appends the message without its length.
func (r *Reply) Append(b []byte) []byte {
	b = append(b, byte(r.Status), flag(r.Worn))
	b = binary.LittleEndian.AppendUint64(b, r.Len)
	b = appendNumbers(b, r.Params)
	b = appendText(b, r.Text)
	l := &r.Library
	b = appendText(b, l.Ignored)
	b = append(b, flag(l.Filter != nil))
	if f := l.Filter; f != nil {
		b = binary.LittleEndian.AppendUint32(b, f.ID)
		b = appendText(b, f.Name)
		b = append(b, flag(f.Encodes), flag(f.Decodes), flag(f.CanApply), flag(f.SetLocal))
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(l.Codecs)))
	for _, c := range l.Codecs {
		b = appendText(b, c.ID)
		b = binary.LittleEndian.AppendUint32(b, c.Filter)
		b = append(b, flag(c.Modify), flag(c.Default))
	}
	return appendText(b, l.Note)
}

// codecLen is the length of the shortest codec in a message.
const codecLen = 4 + 4 + 2

// ParseReply parses a message. A plugin may have damaged its process, so nothing in it is
// trusted: memory is proportional to its length. Only what [Reply.Append] writes is
// accepted.
func ParseReply(b []byte) (*Reply, error) {
	p := parser{rest: b}
	r := &Reply{Status: Status(p.byte(uint8(lastStatus))), Worn: p.flag(), Len: p.uint64(), Params: p.numbers(), Text: p.text()}
	l := &r.Library
	l.Ignored = p.text()
	if p.flag() {
		l.Filter = &FilterClass{ID: p.uint32(), Name: p.text(), Encodes: p.flag(), Decodes: p.flag(), CanApply: p.flag(), SetLocal: p.flag()}
	}
	for n := p.count(codecLen); n > 0; n-- {
		l.Codecs = append(l.Codecs, CodecClass{ID: p.text(), Filter: p.uint32(), Modify: p.flag(), Default: p.flag()})
	}
	l.Note = p.text()
	return r, p.end()
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func appendNumbers(b []byte, v []uint32) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(v)))
	for _, n := range v {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(s))), s...)
}

// parser reads fields. After the first error it returns zeros.
type parser struct {
	rest []byte
	err  error
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%w: %s", ErrMessage, fmt.Sprintf(format, args...))
	}
	p.rest = nil
}

// take returns the next n bytes, or zeros for numbers.
func (p *parser) take(n int) []byte {
	if len(p.rest) < n {
		p.fail("expected %d bytes, found %d", n, len(p.rest))
		return make([]byte, min(n, 8))
	}
	b := p.rest[:n]
	p.rest = p.rest[n:]
	return b
}

func (p *parser) byte(most uint8) uint8 {
	n := p.take(1)[0]
	if n > most {
		p.fail("expected at most %d, found %d", most, n)
		return 0
	}
	return n
}

func (p *parser) flag() bool     { return p.byte(1) == 1 }
func (p *parser) uint32() uint32 { return binary.LittleEndian.Uint32(p.take(4)) }
func (p *parser) uint64() uint64 { return binary.LittleEndian.Uint64(p.take(8)) }

// count reads the number of items that have at least size bytes each.
func (p *parser) count(size int) int {
	n := p.uint32()
	if uint64(n)*uint64(size) > uint64(len(p.rest)) {
		p.fail("%d items in %d bytes", n, len(p.rest))
		return 0
	}
	return int(n)
}

func (p *parser) numbers() []uint32 {
	n := p.count(4)
	if n == 0 {
		return nil
	}
	v := make([]uint32, n)
	for i := range v {
		v[i] = p.uint32()
	}
	return v
}

func (p *parser) text() string {
	n := p.count(1)
	if n == 0 {
		return ""
	}
	return string(p.take(n))
}

func (p *parser) end() error {
	if len(p.rest) > 0 {
		p.fail("%d bytes too many", len(p.rest))
	}
	return p.err
}
