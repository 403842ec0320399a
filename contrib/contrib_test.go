//go:build judge

// Package contrib_test tries the files of this folder with the programs that read them.
package contrib_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/filters"
)

const sample = "../testdata/compat/1/cdf2_climate.nc.cdfz"

// run runs a program in a folder, with bin before PATH.
func run(t *testing.T, dir, bin string, env []string, name string, args ...string) string {
	t.Helper()
	if bin != "" {
		t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	}
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %q: %s", name, args, out)
	return string(out)
}

// abs returns the absolute path of a file of this folder.
func abs(t *testing.T, name string) string {
	name, err := filepath.Abs(name)
	require.NoError(t, err)
	return name
}

// files returns the path of an archive without a telling name, and of another ZIP file.
func files(t *testing.T) (ours, other string) {
	dir := t.TempDir()
	b, err := os.ReadFile(sample)
	require.NoError(t, err)
	ours, other = filepath.Join(dir, "ours"), filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(ours, b, 0o666))
	require.NoError(t, os.WriteFile(other, bytes.Replace(b, []byte(".cdfz/plan.json"), []byte("acdfz/plan.json"), 1), 0o666))
	return ours, other
}

func TestJudgeFile(t *testing.T) {
	ours, other := files(t)
	magic := abs(t, "file/cdfz.magic") + ":/usr/share/misc/magic.mgc"
	require.Equal(t, "cdfz archive of a netCDF file\n", run(t, "", "", nil, "file", "-m", magic, "-b", ours))
	require.Equal(t, "application/vnd.cdfz+zip\n", run(t, "", "", nil, "file", "-m", magic, "--mime-type", "-b", ours))
	require.Equal(t, "application/zip\n", run(t, "", "", nil, "file", "-m", magic, "--mime-type", "-b", other))
}

func TestJudgeMIME(t *testing.T) {
	ours, other := files(t)
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "mime/packages"), 0o777))
	for _, name := range []string{abs(t, "file/cdfz.xml"), "/usr/share/mime/packages/freedesktop.org.xml"} {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "mime/packages", filepath.Base(name)), b, 0o666))
	}
	env := []string{"XDG_DATA_HOME=" + dir, "XDG_DATA_DIRS=" + dir}
	run(t, "", "", env, "update-mime-database", filepath.Join(dir, "mime"))
	kind := func(name string) string {
		return run(t, "", "", env, "gio", "info", "-a", "standard::content-type", name)
	}
	require.Contains(t, kind(ours), "content-type: application/vnd.cdfz+zip\n")
	require.Contains(t, kind(other), "content-type: application/zip\n")
}

// TestJudgeSignature evaluates the byte sequence of the signature: bytes in hexadecimal, and gaps of a number of bytes.
func TestJudgeSignature(t *testing.T) {
	b, err := os.ReadFile("file/cdfz-signature.xml")
	require.NoError(t, err)
	var s struct {
		Sequence string `xml:"InternalSignatureCollection>InternalSignature>ByteSequence>SubSequence>Sequence"`
	}
	require.NoError(t, xml.Unmarshal(b, &s))
	require.Regexp(t, `^([0-9A-F]{2}|\{[0-9]+\})+$`, s.Sequence)
	request, err := os.ReadFile("registrations/pronom.md")
	require.NoError(t, err)
	require.Contains(t, string(request), s.Sequence, "the request has the same sequence")
	pattern := regexp.MustCompile(`\{[0-9]+\}|[0-9A-F]{2}`).ReplaceAllStringFunc(s.Sequence, func(x string) string {
		if x[0] == '{' {
			return "[0-9A-F]{" + strings.Trim(x, "{}") + "}[0-9A-F]" + x
		}
		return x
	})
	expression := regexp.MustCompile("^" + pattern)
	names, err := filepath.Glob("../testdata/compat/*/*.cdfz")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		hex := fmt.Sprintf("%X", b[:min(len(b), 64)])
		require.Regexp(t, expression, hex, name)
		require.NotRegexp(t, expression, strings.Replace(hex, "2E63", "2F63", 1), name)
	}
}

// TestJudgeSiegfried identifies files with Siegfried, which knows all signatures of PRONOM and ours.
func TestJudgeSiegfried(t *testing.T) {
	bin, home := t.TempDir(), t.TempDir()
	const module = "github.com/richardlehane/siegfried"
	run(t, "../release", "", nil, "go", "build", "-o", bin, module+"/cmd/sf", module+"/cmd/roy")
	source := strings.TrimSpace(run(t, "../release", "", nil, "go", "list", "-m", "-f", "{{.Dir}}", module))
	require.NoError(t, os.CopyFS(home, os.DirFS(filepath.Join(source, "cmd/roy/data"))))
	b, err := os.ReadFile("file/cdfz-signature.xml")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(home, "custom/cdfz-signature.xml"), b, 0o666))
	run(t, "", bin, nil, "roy", "build", "-home", home, "-extend", "cdfz-signature.xml", "cdfz.sig")
	ours, other := files(t)
	cut := ours + ".cdfz"
	b, err = os.ReadFile(ours)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cut, b[:600], 0o666))
	for name, want := range map[string]string{ours: "x-fmt/cdfz,cdfz archive,1,application/vnd.cdfz+zip", cut: "x-fmt/cdfz,cdfz archive,1,application/vnd.cdfz+zip", other: "x-fmt/263,ZIP Format,"} {
		c := exec.Command(filepath.Join(bin, "sf"), "-home", home, "-sig", "cdfz.sig", "-csv", name)
		out, err := c.Output() // it complains of a ZIP file that is cut off
		require.NoError(t, err)
		require.Contains(t, string(out), ","+want, name)
	}
}

// TestJudgeZarr compares the codecs of an exported store with the schema for Zarr's registry of extensions, and the numbers
// of the request to The HDF Group with the code.
func TestJudgeZarr(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "x.zarr")
	run(t, "", "", nil, "go", "run", "../cmd/cdfz", "export", "-q", "--zarr-format", "3", "--filters", "52723", "-o", store, sample)
	const program = `
import glob, json, sys, jsonschema
with open(sys.argv[1]) as f: schema = json.load(f)
jsonschema.Draft202012Validator.check_schema(schema)
found = [c for p in glob.glob(sys.argv[2] + "/*/zarr.json") for c in json.load(open(p))["codecs"] if c["name"] == "cdfz.lorenz"]
for c in found: jsonschema.validate(c, schema)
bad = {"name": "cdfz.lorenz", "configuration": {"version": 2, "type": 5, "order": 0, "shape": [3]}}
try: jsonschema.validate(bad, schema)
except jsonschema.ValidationError: print(len(found) > 3)
`
	require.Equal(t, "True\n", run(t, "", "", nil, "/usr/bin/python3", "-c", program, "registrations/zarr-extensions/codecs/cdfz.lorenz/schema.json", store))
	request, err := os.ReadFile("registrations/hdf5.md")
	require.NoError(t, err)
	require.Contains(t, string(request), fmt.Sprint(filters.Lorenz))
}

func TestJudgeExamples(t *testing.T) {
	bin, dir := t.TempDir(), t.TempDir()
	run(t, "", "", nil, "go", "build", "-o", bin, "../cmd/cdfz")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "data"), 0o777))
	names, err := filepath.Glob("../testdata/classic/cdf1_[a-d]*.nc")
	require.NoError(t, err)
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "data", filepath.Base(name)), b, 0o666))
	}
	archived := func(folder string) int {
		list, err := filepath.Glob(filepath.Join(dir, folder, "*.cdfz"))
		require.NoError(t, err)
		return len(list)
	}
	run(t, dir, bin, nil, "bash", abs(t, "examples/parallel.sh"), "data", "a", "2", "2")
	require.Len(t, names, archived("a"))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "receipts")))
	run(t, dir, bin, nil, "snakemake", "-q", "-s", abs(t, "examples/Snakefile"), "--config", "archives=b", "shards=2", "--cores", "2")
	require.Len(t, names, archived("b"))
	require.FileExists(t, filepath.Join(dir, "archives.parquet"))
	run(t, "", "", nil, "promtool", "check", "rules", "examples/prometheus-rules.yml")
	run(t, "", "", nil, "promtool", "test", "rules", "examples/prometheus-test.yml")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "logs"), 0o777))
	run(t, "", "", nil, "nginx", "-t", "-p", dir, "-e", filepath.Join(dir, "error"), "-c", abs(t, "examples/nginx.conf"))

	// systemd demands that the program is there, and the command of the scrub has to be one that cdfz knows.
	unit, err := os.ReadFile("examples/cdfz-scrub.service")
	require.NoError(t, err)
	units := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(units, "cdfz-scrub.service"), bytes.ReplaceAll(unit, []byte("/usr/bin/cdfz"), []byte(filepath.Join(bin, "cdfz"))), 0o666))
	timer, err := os.ReadFile("examples/cdfz-scrub.timer")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(units, "cdfz-scrub.timer"), timer, 0o666))
	out := run(t, units, "", nil, "systemd-analyze", "verify", "./cdfz-scrub.timer", "./cdfz-scrub.service")
	require.NotContains(t, out, "cdfz-scrub")
	line := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/cdfz (.*)$`).FindSubmatch(unit)
	require.NotNil(t, line)
	args := strings.NewReplacer("/srv/archives/", "a/", "/var/lib/cdfz/", "").Replace(string(line[1]))
	run(t, dir, bin, nil, "cdfz", strings.Fields(args)...)
	require.FileExists(t, filepath.Join(dir, "scrub.jsonl"))

	// What it tells Prometheus is a number, also of a run that was killed (systemd.exec(5), EXIT_CODE).
	after := regexp.MustCompile(`(?s)ExecStopPost=\+/bin/sh -c '(.*?)'\n`).FindSubmatch(unit)
	require.NotNil(t, after)
	script := strings.NewReplacer("\\\n", " ", "$$", "$", "%%", "%", "/var/lib/prometheus/node-exporter", dir).Replace(string(after[1]))
	for _, end := range [][]string{{"EXIT_CODE=exited", "EXIT_STATUS=3", "3"}, {"EXIT_CODE=killed", "EXIT_STATUS=KILL", "137"}, {"EXIT_CODE=dumped", "EXIT_STATUS=SEGV", "137"}} {
		run(t, dir, "", end[:2], "sh", "-c", script)
		metrics, err := os.ReadFile(filepath.Join(dir, "cdfz.prom"))
		require.NoError(t, err)
		require.Regexp(t, `^cdfz_scrub_exit_code `+end[2]+`\ncdfz_scrub_end_seconds \d+\n$`, string(metrics))
	}
}
