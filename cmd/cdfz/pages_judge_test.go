//go:build judge && linux

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
)

// TestJudgePages runs the commands of pages as their readers paste them: from top to bottom, in one shell and one
// folder for each page. It compares what they print with the page, but for times and sizes.
//
//   - A block "sh" has commands, which must succeed. One that ends in & has begun when it prints something.
//   - A block that begins with "$ " has commands with what they print. "…" stands for any text there.
//   - A block "python" with ">>>" is a session. One whose first line is "# NAME.py" is a file, as one of C that
//     begins with "/* NAME.c */". Others are run, after the imports of those before them.
//   - The comment "<!-- another folder -->" before a block marks an alternative, which cannot follow the others: it
//     is run in another folder, which has what the page begins with.
//   - "<!-- not run: REASON -->" before a block of commands is for what needs another machine, or minutes.
//   - Blocks of other kinds, such as "crontab" and "text", have no commands.
//
// Functions of the shell (standIns) stand for commands that install something. s3://bucket and s3://tape are a server of the test,
// and so is https://example.org, which has the files of the folder.
func TestJudgePages(t *testing.T) {
	tools := newPageTools(t)
	for _, p := range docPages {
		t.Run(strings.TrimSuffix(filepath.Base(p.name), ".md"), func(t *testing.T) {
			t.Parallel()
			tools.run(t, p)
		})
	}
}

// pageTools are the programs and the files that all pages use.
type pageTools struct {
	root, bin, inputs, env, native string
	cert                           tls.Certificate
	certFile                       string
}

func newPageTools(t *testing.T) *pageTools {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	s := &pageTools{root: root, bin: in("bin"), inputs: in("inputs"), env: in("env"), native: in("native"), certFile: in("ca.pem")}
	require.NoError(t, os.Mkdir(s.bin, 0o755))
	require.NoError(t, os.Mkdir(s.inputs, 0o755))
	program, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(program, filepath.Join(s.bin, "cdfz"))) // see TestMain
	s.certify(t)
	var all sync.WaitGroup
	for _, script := range []string{
		// Debian's python3 has the packages, whatever is first on the PATH.
		`/usr/bin/python3 -m venv --system-site-packages "$ENV"
"$ENV/bin/pip" wheel -q --no-index --no-build-isolation --no-deps -w "$INPUTS" ./python
"$ENV/bin/pip" install -q --no-index --no-deps "$INPUTS"/*.whl
# Where building the list of fonts takes more than 5 s, Matplotlib says so on standard error.
/usr/bin/python3 -c 'import matplotlib.font_manager'`,
		`make -s -C c all if-there OUT="$NATIVE"`,
		`go build -tags plugins -o "$BIN" ./bench/tile ./cmd/cdfz-plugin-host ./testdata/trees/maketree
"$BIN/tile" -synthetic -size 16777216 -o "$INPUTS/tas.nc"
"$BIN/tile" -synthetic -size 2097152 -o "$INPUTS/small.nc"
cp /usr/share/ferret-vis/data/coads_climatology.cdf "$INPUTS/sst.nc"`,
	} {
		all.Go(func() {
			c := exec.Command("bash", "-ec", script)
			c.Dir, c.Env = root, s.environ()
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", script, err, out)
			}
		})
	}
	all.Wait()
	require.False(t, t.Failed())
	return s
}

func (s *pageTools) environ(more ...string) []string {
	return append(append(os.Environ(), "CFLAGS=-O0", "ROOT="+s.root, "BIN="+s.bin, "INPUTS="+s.inputs, "ENV="+s.env, "NATIVE="+s.native), more...)
}

// standIns are the functions for commands that install something, or that belong to another machine.
const standIns = `set -eE
trap 'echo "failed: $BASH_COMMAND" >&2' ERR
other() { echo "this page has no command: $*" >&2; exit 1; }
git() { case "$*" in "clone https://github.com/cdfz-format/cdfz") mkdir cdfz ;; *) other git "$@" ;; esac; }
go() {
  case "$*" in
  "run ./bench/tile "*) shift 2 && tile "$@" ;;
  "install "*github.com/cdfz-format/cdfz/cmd/*@latest) ;;
  *) other go "$@" ;;
  esac
}
pip() {
  case "$*" in
  "install ./python" | "install ./cdfz/python") [[ -z ${VIRTUAL_ENV-} ]] || command pip install -q --no-index --no-deps "$INPUTS"/*.whl ;;
  "uninstall --yes cdfz") ;;
  *) other pip "$@" ;;
  esac
}
apt-get() { case "$*" in "install "*) dpkg -s "${@:2}" >/dev/null ;; *) other apt-get "$@" ;; esac; }
xdg-open() { curl -sSf "$1" >/dev/null; }
rclone() { # copy FOLDER remote:PATH
  [[ $1 == copy && $3 == remote:* ]] || other rclone "$@"
  (cd "$2" && find . -type f -printf '%P\n') | while read -r name; do
    curl -sSf -T "$2/$name" "$AWS_ENDPOINT_URL/${3#remote:}/$name" >/dev/null
  done
}
cc() { command cc "${@/#-O2/-O0}"; } # to save seconds
built() { mkdir -p "$1" && cp -r "$NATIVE"/. "$1"; }
make() {
  case "$*" in
  "install PREFIX="* | "uninstall PREFIX="* | test) ;;
  demo) cp "$INPUTS/tas.nc" sample.nc ;;
  native) built bin ;;
  "-C cdfz build native") built cdfz/bin && ln -s "$BIN/cdfz" cdfz/bin/ ;;
  "-C c LZ4=1 BZIP2=1" | "-C c wasm") ;; # make test-native builds these
  "-C c "*) command make -s "$@" OUT="$NATIVE" && built bin ;;
  *) other make "$@" ;;
  esac
}
# begun waits until the command in the background prints something.
begun() {
  for i in $(seq 600); do [[ -s .begun ]] && break; sleep 0.1; done
  cat .begun
}
# ends ends the commands in the background.
ends() {
  for job in $(jobs -p); do kill "$job" 2>/dev/null || true; done
  wait
}
`

// run runs the commands of a page.
func (s *pageTools) run(t *testing.T, p docPage) {
	text, err := os.ReadFile(filepath.Join(s.root, p.name))
	require.NoError(t, err)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"start", "home", "tmp"} {
		require.NoError(t, os.Mkdir(in(name), 0o755))
	}
	environ := s.environ("HOME="+in("home"), "MPLCONFIGDIR="+in("home"), "TMPDIR="+in("tmp"), "SLURM_ARRAY_TASK_ID=1", "PYTHONWARNINGS=ignore",
		"PATH="+filepath.Join(s.env, "bin")+":"+s.bin+":/usr/bin:/bin")
	environ = append(append(environ, pageStore(t)...), s.pageSite(t, in("work"))...)
	bash := func(script string) string {
		name := in("script")
		require.NoError(t, os.WriteFile(name, []byte(script), 0o666))
		c := exec.Command("bash", name)
		c.Dir, c.Env, c.SysProcAttr = in("start"), environ, &syscall.SysProcAttr{Setpgid: true}
		c.WaitDelay = 10 * time.Second
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	bash(standIns + p.before)
	bash("[ -d ../other ] || cp -a . ../other")

	address := freeAddress(t)
	pairs := []string{"127.0.0.1:8080", address, "--listen :8080", "--listen " + address}
	back := []string{address, "127.0.0.1:8080"}
	for _, path := range p.paths {
		pairs = append(pairs, path, dir+path)
		back = append(back, dir+path, path)
	}
	script, steps := pageScript(string(text), address)
	script = standIns + "trap ends EXIT\ncp -a . ../work && cd ../work\n" + strings.NewReplacer(pairs...).Replace(script)
	printed := regexp.MustCompile(`(?m)^@@ \d+\n`).Split(bash(script), -1)[1:]
	require.NotEmpty(t, steps)
	require.Len(t, printed, len(steps))
	for i, step := range steps {
		if got := strings.NewReplacer(back...).Replace(printed[i]); step.shown && !samePrinted(step.want, got) {
			t.Errorf("%s: %s\nexpected:\n%s\nfound:\n%s", p.name, step.command, step.want, got)
		}
	}
}

// A pageStep is a command, or a block of them, and what the page shows of its output.
type pageStep struct {
	command, want string
	shown         bool
}

var (
	pageBlock      = regexp.MustCompile("(?ms)^(?:<!-- ([^\n]*) -->\n)?```(\\w*)\n(.*?)^```$")
	pageFile       = regexp.MustCompile(`\A(?:# (\w+\.py)|/\* (\w+\.c) \*/)\n`)
	pageImport     = regexp.MustCompile(`(?m)^(import|from) .*\n`)
	pageBackground = regexp.MustCompile(`(?m)^(.*[^&\s]) &( +#.*)?$`)
)

// pageScript makes one script of the commands of a page. It prints "@@ N" before step N.
func pageScript(page, address string) (string, []pageStep) {
	var script strings.Builder
	var steps []pageStep
	add := func(step pageStep, line string) {
		line = pageBackground.ReplaceAllString(line, "rm -f .begun; $1 >.begun 2>&1 &\nbegun")
		line = strings.ReplaceAll(line, "cdfz serve ", "cdfz serve --listen "+address+" ")
		fmt.Fprintf(&script, "echo '@@ %d'\n%s\n", len(steps), line)
		steps = append(steps, step)
	}
	imports := ""
	for n, m := range pageBlock.FindAllStringSubmatch(page, -1) {
		alone, kind, text := m[1] == "another folder", m[2], m[3]
		if strings.HasPrefix(m[1], "not run: ") {
			continue
		}
		if alone {
			fmt.Fprintf(&script, "ends; cp -a ../other ../other%d; cd ../other%[1]d\n", n)
		}
		name := pageFile.FindStringSubmatch(text)
		write := func(name, text string) {
			fmt.Fprintf(&script, "cat >%s <<'END OF THE BLOCK'\n%sEND OF THE BLOCK\n", name, text)
		}
		switch {
		case kind == "sh":
			add(pageStep{command: text}, text)
		case (kind == "" || kind == "console") && strings.HasPrefix(text, "$ "):
			for _, part := range strings.Split("\n"+text, "\n$ ")[1:] {
				lines := strings.SplitAfter(part+"\n", "\n")
				last := 0
				for strings.HasSuffix(lines[last], "\\\n") {
					last++
				}
				step := pageStep{command: strings.Join(lines[:last+1], ""), want: strings.Join(lines[last+1:], ""), shown: true}
				line := step.command
				if step.want = strings.TrimSpace(step.want); step.want != "" && !pageBackground.MatchString(line) {
					line = "{ " + line + "} || true" // the output tells whether it is to fail
				}
				add(step, line)
			}
		case name != nil:
			write(name[1]+name[2], text)
		case kind == "python":
			name := fmt.Sprintf(".block%d.txt", n)
			if strings.HasPrefix(text, ">>>") {
				write(name, text)
				add(pageStep{command: text}, "python3 -m doctest "+name)
				break
			}
			write(name, imports+text)
			add(pageStep{command: text}, "python3 "+name)
			imports += strings.Join(pageImport.FindAllString(text, -1), "")
		}
		if alone {
			script.WriteString("ends; cd ../work\n")
		}
	}
	return script.String(), steps
}

var pageMasks = []struct {
	found *regexp.Regexp
	mask  string
}{
	{regexp.MustCompile(`[0-9.]+ [kMG]?B(/s)?`), "N B"},
	{regexp.MustCompile(`[0-9.]+ s\b`), "N s"},
	{regexp.MustCompile(`\b(cdfz|lorenz) [0-9]+\.[0-9]+\.[0-9]+(-[a-z]+[.0-9]*)?`), "$1 N"}, // versions
	{regexp.MustCompile(`\b[0-9]+:[0-9]{2} at\b`), "N at"},
	{regexp.MustCompile(`(?m)(^|[^.0-9])[0-9]{5,}\b`), "${1}N"},
	{regexp.MustCompile(`ratio +[0-9.]+`), "ratio N"},
	{regexp.MustCompile(`[ \t]+`), " "},
	{regexp.MustCompile(`N N [0-9.]+`), "N N N"},
	{regexp.MustCompile(`(?m) $`), ""},
}

// samePrinted compares outputs but for times, sizes, versions, and spaces.
func samePrinted(want, got string) bool {
	want, got = strings.TrimSpace(want), strings.TrimSpace(got)
	for _, m := range pageMasks {
		want, got = m.found.ReplaceAllString(want, m.mask), m.found.ReplaceAllString(got, m.mask)
	}
	want, got = strings.TrimSpace(want), strings.TrimSpace(got)
	if !strings.Contains(want, "…") {
		return want == got
	}
	return regexp.MustCompile(`\A` + strings.ReplaceAll(regexp.QuoteMeta(want), "…", `(?s:.*)`) + `\z`).MatchString(got)
}

// pageStore starts an object store with an empty bucket and returns the environment for it.
func pageStore(t *testing.T) []string {
	back := s3mem.New()
	for _, name := range []string{"bucket", "tape"} {
		require.NoError(t, back.CreateBucket(name))
	}
	srv := httptest.NewServer(gofakes3.New(back).Server())
	t.Cleanup(srv.Close)
	return []string{"AWS_ENDPOINT_URL=" + srv.URL, "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret", "AWS_SESSION_TOKEN=",
		"AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null"}
}

// certify makes a certificate for example.org and a file with it.
func (s *pageTools) certify(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"example.org"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	require.NoError(t, err)
	s.cert = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	require.NoError(t, os.WriteFile(s.certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o666))
	fsspec := filepath.Join(filepath.Dir(s.certFile), "fsspec.json") // unlike others, aiohttp has to be told to obey the environment
	require.NoError(t, os.WriteFile(fsspec, []byte(`{"https": {"client_kwargs": {"trust_env": true}}}`), 0o666))
}

// pageSite starts https://example.org, which has the files of a folder, behind a proxy. It returns the environment
// for the proxy.
func (s *pageTools) pageSite(t *testing.T, dir string) []string {
	site := httptest.NewUnstartedServer(http.FileServer(http.Dir(dir)))
	site.TLS = &tls.Config{Certificates: []tls.Certificate{s.cert}}
	site.StartTLS()
	t.Cleanup(site.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != "example.org:443" {
			http.Error(w, "expected CONNECT example.org:443, found "+r.Method+" "+r.Host, http.StatusForbidden)
			return
		}
		to, err := net.Dial("tcp", site.Listener.Addr().String())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer to.Close()
		from, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer from.Close()
		_, _ = io.WriteString(from, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(to, from); to.Close() }()
		_, _ = io.Copy(from, to)
	}))
	t.Cleanup(proxy.Close)
	return []string{"https_proxy=" + proxy.URL, "no_proxy=127.0.0.1,localhost", "SSL_CERT_FILE=" + s.certFile, "FSSPEC_CONFIG_DIR=" + filepath.Dir(s.certFile)}
}

// freeAddress returns an address on which nothing listens.
func freeAddress(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}
