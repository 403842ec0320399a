package hostproto

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Conn sends and receives messages, one direction for one goroutine at a time.
type Conn struct {
	rw      io.ReadWriter
	in, out []byte // buffers
}

// NewConn returns a connection over a stream.
func NewConn(rw io.ReadWriter) *Conn { return &Conn{rw: rw} }

// message is a request or reply.
type message interface{ Append([]byte) []byte }

// Send sends a message. One that is too long is [ErrMessage].
func (c *Conn) Send(m message) error {
	b := m.Append(append(c.out[:0], 0, 0, 0, 0))
	if len(b)-4 > MaxMessage {
		return fmt.Errorf("%w: expected at most %d bytes, found %d", ErrMessage, MaxMessage, len(b)-4)
	}
	c.out = b
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	_, err := c.rw.Write(b)
	return err
}

// receive reads the next message into a buffer that the following call uses again. The
// error is [io.EOF] if the other side is gone.
func (c *Conn) receive() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c.rw, head[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > MaxMessage {
		return nil, fmt.Errorf("%w: expected at most %d bytes, found %d", ErrMessage, MaxMessage, n)
	}
	if int(n) > cap(c.in) {
		c.in = make([]byte, n)
	}
	b := c.in[:n]
	if _, err := io.ReadFull(c.rw, b); err != nil {
		return nil, err
	}
	return b, nil
}

// ReceiveRequest reads the next request. The error is [io.EOF] if cdfz has ended.
func (c *Conn) ReceiveRequest() (*Request, error) {
	b, err := c.receive()
	if err != nil {
		return nil, err
	}
	return ParseRequest(b)
}

// ReceiveReply reads the next reply. The error is [io.EOF] if the host has ended.
func (c *Conn) ReceiveReply() (*Reply, error) {
	b, err := c.receive()
	if err != nil {
		return nil, err
	}
	return ParseReply(b)
}
