//go:build judge && linux

package main

import (
	"bufio"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// served is a running cdfz serve.
type served struct {
	at     string // its address, as a URL
	stop   func() // stops it and waits for a clean end
	stdout func() string
}

// serveOn serves a source at a free port.
func serveOn(t *testing.T, src string, flags ...string) *served {
	t.Helper()
	return serveWith(t, self(t, append(append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...), src)...))
}

// serveWith starts a command line of cdfz serve.
func serveWith(t *testing.T, cmd *exec.Cmd) *served {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	in := bufio.NewReader(out)
	line, err := in.ReadString('\n')
	var rest bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = rest.ReadFrom(in)
	}()
	s := &served{stop: sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-read
		require.NoError(t, cmd.Wait())
		require.Empty(t, stderr.String())
	})}
	s.stdout = func() string { s.stop(); return rest.String() }
	t.Cleanup(s.stop)
	require.NoError(t, err)
	found := regexp.MustCompile(`^serving (https?://127\.0\.0\.1:\d+)/\n$`).FindStringSubmatch(line)
	require.NotNil(t, found, line)
	s.at = found[1]
	return s
}

// TestJudgeServe reads files and ranges with curl.
func TestJudgeServe(t *testing.T) {
	files := classicSet(t)
	originals, archives := archived(t, files)
	s := serveOn(t, archives)
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		want := files[name]
		url := s.at + "/files/" + name
		require.Equal(t, string(want)+"<nil>", output(dir, "curl", "-sSf", url), name)
		from, to := len(want)/3, len(want)*2/3
		require.Equal(t, string(want[from:to])+"<nil>", output(dir, "curl", "-sSf", "-r", fmt.Sprintf("%d-%d", from, to-1), url), name)
	}
	// curl -R takes the time, -C continues, and -z asks whether there is a newer one.
	const name = "cdf2_climate.nc"
	path := ""
	for n := range files {
		if filepath.Base(n) == name {
			path = n
		}
	}
	url := s.at + "/files/" + path
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.nc"), files[path][:1000], 0o644))
	require.Equal(t, "<nil>", output(dir, "curl", "-sSfR", "-C", "-", "-o", "a.nc", url))
	require.Equal(t, "<nil>", output(dir, "cmp", "a.nc", filepath.Join(originals, path)))
	at, err := os.Stat(filepath.Join(dir, "a.nc"))
	require.NoError(t, err)
	original, err := os.Stat(filepath.Join(originals, path))
	require.NoError(t, err)
	require.Equal(t, original.ModTime().Truncate(time.Second), at.ModTime())
	require.Equal(t, "304<nil>", output(dir, "curl", "-sS", "-o", "none", "-w", "%{http_code}", "-z", "a.nc", url))

	log := s.stdout()
	require.Equal(t, 2*len(files)+2, strings.Count(log, "\n"))
	require.Contains(t, log, `"GET /files/`+path+` HTTP/1.1" 304 - "-" "curl/`)
}

// TestJudgeServeHost has names of other sites that resolve to this computer.
func TestJudgeServeHost(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("text\n"), 0o600))
	s := serveOn(t, dir, "--host", "data.example.org", "--host", "box")
	port := s.at[strings.LastIndex(s.at, ":")+1:]
	status := func(host string, flags ...string) string {
		return output(dir, append([]string{"curl", "-sS", "-o", "none", "-w", "%{http_code}", "--resolve", host + ":" + port + ":127.0.0.1",
			"http://" + host + ":" + port + "/files/a.txt"}, flags...)...)
	}
	for _, host := range []string{"localhost", "x.localhost", "data.example.org", "DATA.example.org", "box"} {
		require.Equal(t, "200<nil>", status(host), host)
	}
	require.Equal(t, "421<nil>", status("evil.example"))
	require.Equal(t, "421<nil>", status("evil.example", "-H", "X-Forwarded-Host: localhost"))
	require.Equal(t, "421<nil>", status("localhost", "-H", "Host: evil.example"))
	require.Equal(t, "200<nil>", status("evil.example", "-H", "Host: 192.0.2.1"))
}

// TestJudgeServeSecure uses TLS and passwords.
func TestJudgeServeSecure(t *testing.T) {
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, Subject: pkix.Name{CommonName: "cdfz"}, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	require.NoError(t, err)
	for name, data := range map[string][]byte{
		"c.pem": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		"k.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
		"users": []byte("alice:" + string(hash) + "\n"),
		"a.txt": []byte("text\n"),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	s := serveOn(t, in("a.txt"), "--tls-cert", in("c.pem"), "--tls-key", in("k.pem"), "--auth", in("users"))
	require.True(t, strings.HasPrefix(s.at, "https://"))
	url := s.at + "/files/a.txt"
	require.Equal(t, "text\n<nil>", output(dir, "curl", "-sSf", "--cacert", "c.pem", "-u", "alice:right", url))
	require.Equal(t, "exit status 22", output(dir, "curl", "-sf", "--cacert", "c.pem", "-u", "alice:wrong", url))
	require.Equal(t, "exit status 60", output(dir, "curl", "-sf", url))
	require.Regexp(t, `(?m)^127.0.0.1 - alice \[.*\] "GET /files/a.txt HTTP/2.0" 200 5 `, s.stdout())
}
