package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/internal/storage"
)

// everyService has one path of each service.
var everyService = []string{
	"/", filesPath, filesPath + "cdf2_climate.nc", dapPath + "cdf2_climate.nc.dds", zarrPath + "cdf2_climate.nc/.zmetadata", "/catalog.xml", "/catalog.json",
	pagePath, apiPath + "meta/cdf2_climate.nc", apiPath + "values/cdf2_climate.nc", metricsPath, healthPath, "/none",
}

// TestHosts sends requests with the names of this server and with others. Those of others
// are refused on every path, whatever a proxy claims.
func TestHosts(t *testing.T) {
	s, err := New(folder(t, classic(t, "cdf2_climate")), &Options{Hosts: []string{"Data.Example.org", "box"}})
	require.NoError(t, err)
	defer s.close()
	status := func(host, path string, header ...string) (int, string) {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = host
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, host := range []string{
		"localhost", "localhost:8080", "LOCALHOST.", "a.localhost:1", "127.0.0.1", "127.0.0.1:8080", "10.1.2.3:80", "[::1]", "[::1]:8080", "[fe80::1%25eth0]:8080",
		"box.", "data.example.org", "DATA.example.ORG.:443", "box", "box:8080",
	} {
		code, _ := status(host, filesPath)
		require.Equal(t, 200, code, host)
	}
	for _, host := range []string{
		"", ":8080", "evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "xlocalhost", "example.org", "a.data.example.org",
		"2130706433", "0x7f000001", "127.1", "localhost..", ".localhost", "localhost:80:80", "[::1", "[localhost]", "localhost@evil.example", "b\u00f6x",
	} {
		for _, path := range everyService {
			code, body := status(host, path, "X-Forwarded-Host", "localhost", "Forwarded", "host=localhost", "X-Host", "localhost", "Origin", "http://localhost")
			require.Equal(t, 421, code, "%q %s", host, path)
			require.Contains(t, body, "--host", host)
			require.NotContains(t, body, "cdf2", host)
		}
	}
	// The answer repeats the name as text.
	_, body := status("<b>\x1b[1m", filesPath)
	require.Contains(t, body, `"<b>\x1b[1m"`)

	for _, host := range []string{"", "a:80", "http://a", "a/b", "*.a", "a b", "[::1]:8080", "..", "a\n"} {
		_, err := New(t.TempDir(), &Options{Hosts: []string{host}})
		require.ErrorContains(t, err, "expected a host name", host)
	}
}

// TestHostBeforePassword checks that a page of another name cannot even try passwords.
func TestHostBeforePassword(t *testing.T) {
	s, err := New(t.TempDir(), &Options{Users: users(t)})
	require.NoError(t, err)
	defer s.close()
	r := httptest.NewRequest(http.MethodGet, filesPath, nil)
	r.SetBasicAuth("alice", "right")
	w := httptest.NewRecorder()
	s.http.Handler.ServeHTTP(w, r)
	require.Equal(t, 421, w.Code)
	require.Empty(t, w.Header().Get("WWW-Authenticate"))
}

// pair makes a certificate for names.
func pair(t *testing.T, names ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: names}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestHostOfCertificate has a server that answers to the names of its certificate.
func TestHostOfCertificate(t *testing.T) {
	at := runTLS(t, t.TempDir(), nil, &tls.Config{Certificates: []tls.Certificate{pair(t, "data.example.org", "*.example.net")}})
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	for host, want := range map[string]int{"data.example.org": 200, "a.example.net:8443": 200, "localhost": 200, "example.net": 421, "a.b.example.net": 421, "evil.example": 421} {
		r, err := http.NewRequest(http.MethodGet, at+filesPath, nil)
		require.NoError(t, err)
		r.Host = host
		a, err := client.Do(r)
		require.NoError(t, err)
		a.Body.Close()
		require.Equal(t, 2, a.ProtoMajor)
		require.Equal(t, want, a.StatusCode, host)
	}
}

// TestOrigin checks that pages of other sites get nothing that they could read or embed:
// no answer allows another origin, whatever the request says of itself.
func TestOrigin(t *testing.T) {
	_, at := start(t, folder(t, classic(t, "cdf2_climate")), nil)
	for _, path := range everyService {
		a := get(t, at+path, "Origin", "http://evil.example", "Access-Control-Request-Method", "GET")
		for name := range a.Header {
			require.NotContains(t, name, "Access-Control", path)
		}
		require.Equal(t, "same-origin", a.Header.Get("Cross-Origin-Resource-Policy"), path)
		require.Equal(t, "nosniff", a.Header.Get("X-Content-Type-Options"), path)
		require.NotEmpty(t, a.Header.Get(storage.ShownHeader), path)
	}
	require.Equal(t, 405, request(t, http.MethodOptions, at+filesPath, "Origin", "http://evil.example", "Access-Control-Request-Method", "GET").StatusCode)
}
