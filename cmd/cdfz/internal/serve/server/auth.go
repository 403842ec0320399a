package server

import (
	"bufio"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
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
	names  []string      // of all users
	checks chan struct{} // comparisons with bcrypt, waiting ones included
	slots  chan struct{} // comparisons with bcrypt, which takes a processor for tenths of a second

	mu    sync.Mutex
	key   []byte
	known map[string][]byte // keyed hash of the password by name, after it was right
}

const (
	maxUsers    = 1 << 16
	maxCost     = 16 // of bcrypt: 4 s
	maxUserLine = 1024
	maxChecks   = 64 // passwords that are compared or wait for that
)

// ReadUsers reads a file as htpasswd -B writes it: a line NAME:HASH for each user, with
// hashes of bcrypt. Empty lines and those that begin with # are ignored. Errors name the
// line.
func ReadUsers(r io.Reader) (*Users, error) {
	u := &Users{hashes: map[string][]byte{}, key: make([]byte, 32), known: map[string][]byte{},
		// Guesses leave processors to those who know their password.
		checks: make(chan struct{}, maxChecks), slots: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
	if _, err := rand.Read(u.key); err != nil {
		return nil, err
	}
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxUserLine)
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
		u.names = append(u.names, name)
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	if len(u.hashes) == 0 {
		return nil, errors.New("expected at least one user")
	}
	return u, nil
}

// keyed returns a hash that nobody without the key can compute.
func (u *Users) keyed(text string) []byte {
	m := hmac.New(sha256.New, u.key)
	io.WriteString(m, text)
	return m.Sum(nil)
}

// hash returns the hash of a user's password. For a name that is no user's it returns that
// of a user, always the same, and false: comparing with it takes as long as for some user.
func (u *Users) hash(name string) ([]byte, bool) {
	if hash, ok := u.hashes[name]; ok {
		return hash, true
	}
	n := binary.LittleEndian.Uint64(u.keyed(name)) % uint64(len(u.names))
	return u.hashes[u.names[n]], false
}

// verdict is the result of a check.
type verdict int

const (
	wrong verdict = iota
	right
	busy // not checked
)

// check compares a password. It gives up when done is closed.
func (u *Users) check(name, password string, done <-chan struct{}) verdict {
	sum := u.keyed(password)
	u.mu.Lock()
	known := u.known[name]
	u.mu.Unlock()
	if known != nil && hmac.Equal(known, sum) {
		return right
	}
	select {
	case u.checks <- struct{}{}:
	default:
		return busy
	}
	defer func() { <-u.checks }()
	select {
	case u.slots <- struct{}{}:
	case <-done:
		return wrong
	}
	defer func() { <-u.slots }()
	hash, ok := u.hash(name)
	if bcrypt.CompareHashAndPassword(hash, []byte(password)) != nil || !ok {
		return wrong
	}
	u.mu.Lock()
	u.known[name] = sum
	u.mu.Unlock()
	return right
}

// authorize lets the users of the options in. Nobody else occupies one of the places of
// requests in flight.
func (s *Server) authorize(next http.Handler) http.Handler {
	if s.opts.Users == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, password, ok := r.BasicAuth()
		v := wrong
		if u := s.opts.Users(); ok && u != nil {
			v = u.check(name, password, r.Context().Done())
		}
		switch v {
		case busy:
			w.Header().Set("Retry-After", "1")
			refuse(w, http.StatusServiceUnavailable, "too many passwords to check")
		case wrong:
			w.Header().Set("WWW-Authenticate", `Basic realm="cdfz", charset="UTF-8"`)
			refuse(w, http.StatusUnauthorized, "name and password needed")
		case right:
			if o, ok := w.(*observed); ok {
				o.user = name
			}
			next.ServeHTTP(w, r)
		}
	})
}
