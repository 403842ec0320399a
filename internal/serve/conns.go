package serve

import (
	"net"
	"sync"
)

// conns is a listener with a bound on the connections that are open. Others wait in the
// queue of the system.
type conns struct {
	net.Listener
	slots chan struct{}
	done  chan struct{}
	once  sync.Once
}

func newConns(l net.Listener, n int) *conns {
	return &conns{Listener: l, slots: make(chan struct{}, n), done: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *conns) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &conn{Conn: c, l: l}, nil
}

// Close implements net.Listener.
func (l *conns) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// conn is a connection that frees its slot when it is closed.
type conn struct {
	net.Conn
	l    *conns
	once sync.Once
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.once.Do(func() { <-c.l.slots })
	return c.Conn.Close()
}
