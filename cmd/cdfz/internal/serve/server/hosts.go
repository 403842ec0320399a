package server

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"

	"github.com/cdfz-format/cdfz/internal/storage"
)

// hosts are the names that a server answers to. A page of another site can make its own
// name resolve to this computer and then read every answer, as those of its own site. Its
// requests have that name in Host, which scripts cannot change. IP addresses are safe: no
// page can make them lead elsewhere.
type hosts struct {
	names map[string]bool     // in lower case
	certs []*x509.Certificate // of TLS
}

func newHosts(names []string) (hosts, error) {
	h := hosts{names: map[string]bool{"localhost": true}}
	for _, name := range names {
		if !IsHost(name) {
			return h, fmt.Errorf("expected a host name without scheme, port and path, found %.80q", name)
		}
		h.names[canonical(name)] = true
	}
	return h, nil
}

// canonical returns a name as it is compared.
func canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// IsHost reports whether a text can be one of Options.Hosts: a name of DNS or an IP address,
// without scheme, port and path.
func IsHost(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	for label := range strings.SplitSeq(canonical(name), ".") {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// has reports whether the value of Host, with or without a port, is this server's.
func (h *hosts) has(authority string) bool {
	if strings.HasPrefix(authority, "[") {
		address, port, closed := strings.Cut(authority[1:], "]")
		_, err := netip.ParseAddr(address)
		return err == nil && closed && (port == "" || port[0] == ':')
	}
	name, port, _ := strings.Cut(authority, ":")
	if !IsHost(name) || strings.Contains(port, ":") {
		return false
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	name = canonical(name)
	if h.names[name] || strings.HasSuffix(name, ".localhost") {
		return true
	}
	for _, c := range h.certs {
		if c.VerifyHostname(name) == nil {
			return true
		}
	}
	return false
}

// address refuses requests for other servers. Headers such as X-Forwarded-Host, with which
// proxies report the original Host, are ignored. A browser that shares a connection of HTTP/2
// between names repeats a request with status 421 on a separate connection.
func (s *Server) address(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set(storage.ShownHeader, "1")
		h.Set("Cross-Origin-Resource-Policy", "same-origin") // other sites embed nothing, not even to measure it
		if !s.hosts.has(r.Host) {
			refuse(w, http.StatusMisdirectedRequest, strconv.QuoteToASCII(r.Host)+" is not a name of this server: cdfz serve --host NAME adds one")
			return
		}
		s.share(h, r)
		next.ServeHTTP(w, r)
	})
}
