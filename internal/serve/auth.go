package serve

import (
	"bufio"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/crypto/bcrypt"
)

// Users are names with the bcrypt hashes of their passwords. They are safe for
// concurrent use.
type Users struct {
	hashes map[string][]byte
	none   []byte        // a hash for unknown names, so that they take as long
	slots  chan struct{} // bcrypt takes a processor for tenths of a second

	mu    sync.Mutex
	key   []byte
	known map[string][]byte // keyed hash of the password by name, after it was right
}

const (
	maxUsers    = 1 << 16
	maxCost     = 16 // of bcrypt: 4 s
	maxUserLine = 1024
)

// ReadUsers reads a file as htpasswd -B writes it: a line NAME:HASH for each user, with
// hashes of bcrypt. Empty lines and those that begin with # are ignored. Errors name the
// line.
func ReadUsers(r io.Reader) (*Users, error) {
	u := &Users{hashes: map[string][]byte{}, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), key: make([]byte, 32), known: map[string][]byte{}}
	if _, err := rand.Read(u.key); err != nil {
		return nil, err
	}
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxUserLine)
	cost := bcrypt.MinCost
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, hash, ok := strings.Cut(line, ":")
		if !ok || name == "" {
			return nil, fmt.Errorf("line %d: expected NAME:HASH", n)
		}
		c, err := bcrypt.Cost([]byte(hash))
		if err != nil {
			return nil, fmt.Errorf("line %d: expected a hash of bcrypt, as htpasswd -B makes", n)
		}
		if c > maxCost {
			return nil, fmt.Errorf("line %d: expected a cost of at most %d, found %d", n, maxCost, c)
		}
		if _, twice := u.hashes[name]; twice {
			return nil, fmt.Errorf("line %d: expected each name once, found %q again", n, name)
		}
		if len(u.hashes) == maxUsers {
			return nil, fmt.Errorf("line %d: expected at most %d users", n, maxUsers)
		}
		u.hashes[name] = []byte(hash)
		cost = max(cost, c)
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	if len(u.hashes) == 0 {
		return nil, errors.New("expected at least one user")
	}
	none, err := bcrypt.GenerateFromPassword(u.key, cost)
	u.none = none
	return u, err
}

// check reports whether a password is right. It gives up when done is closed.
func (u *Users) check(name, password string, done <-chan struct{}) bool {
	m := hmac.New(sha256.New, u.key)
	io.WriteString(m, password)
	sum := m.Sum(nil)
	u.mu.Lock()
	known := u.known[name]
	u.mu.Unlock()
	if known != nil && hmac.Equal(known, sum) {
		return true
	}
	select {
	case u.slots <- struct{}{}:
	case <-done:
		return false
	}
	defer func() { <-u.slots }()
	hash, ok := u.hashes[name]
	if !ok {
		hash = u.none
	}
	if bcrypt.CompareHashAndPassword(hash, []byte(password)) != nil || !ok {
		return false
	}
	u.mu.Lock()
	u.known[name] = sum
	u.mu.Unlock()
	return true
}

// authorize lets the users of the options in.
func (s *Server) authorize(next http.Handler) http.Handler {
	u := s.opts.Users
	if u == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, password, ok := r.BasicAuth()
		if !ok || !u.check(name, password, r.Context().Done()) {
			w.Header().Set("WWW-Authenticate", `Basic realm="cdfz", charset="UTF-8"`)
			refuse(w, http.StatusUnauthorized, "name and password needed")
			return
		}
		if b, ok := w.(*bounded); ok {
			if o, ok := b.ResponseWriter.(*observed); ok {
				o.user = name
			}
		}
		next.ServeHTTP(w, r)
	})
}
