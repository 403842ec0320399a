package doctor

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/cdfz-format/cdfz/archive"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/display"
	"github.com/cdfz-format/cdfz/internal/hdf5plugin"
)

// tryTime is how long a program may take that is tried. Importing Python packages from a network file system takes
// some seconds.
const tryTime = time.Minute

// sample is a netCDF file with v(x) = 1, 2, 3, 4.
const sample = "CDF\x01\x00\x00\x00\x00" +
	"\x00\x00\x00\x0a\x00\x00\x00\x01\x00\x00\x00\x01x\x00\x00\x00\x00\x00\x00\x04" + // dimensions
	"\x00\x00\x00\x00\x00\x00\x00\x00" + // attributes
	"\x00\x00\x00\x0b\x00\x00\x00\x01\x00\x00\x00\x01v\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00" + // variables
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x04\x00\x00\x00\x50" +
	"\x01\x02\x03\x04"

// writeSample writes the archive sample.nc.cdfz to the folder, and makes a folder for a mount.
func (d *doctor) writeSample() error {
	var b bytes.Buffer
	_, err := archive.Write(d.ctx, &b, strings.NewReader(sample), int64(len(sample)), &archive.WriteOptions{Name: "sample.nc"})
	if err == nil {
		err = os.Mkdir(filepath.Join(d.dir, "shown"), 0o700)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(d.dir, "archives"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(d.archive(), b.Bytes(), 0o600)
	}
	return err
}

func (d *doctor) archive() string { return filepath.Join(d.dir, "archives", "sample.nc.cdfz") }

// command makes the command line of a program, which has a limited time.
func (d *doctor) command(program string, args ...string) (cmd *exec.Cmd, cancel func()) {
	ctx, cancel := context.WithTimeout(d.ctx, tryTime)
	cmd = exec.CommandContext(ctx, program, args...)
	cmd.Dir = d.dir
	cmd.WaitDelay = time.Second
	return cmd, cancel
}

// self makes a command line of this program.
func (d *doctor) self(args ...string) (cmd *exec.Cmd, cancel func(), err error) {
	path, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	cmd, cancel = d.command(path, args...)
	cmd.Args[0] = "cdfz"
	return cmd, cancel, nil
}

// failure returns an error of a program as its message.
func failure(err error, stderr []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(stderr)), "\n")
	if line = strings.TrimPrefix(line, "cdfz: "); line == "" {
		line = err.Error()
	}
	return display.Printable(line)
}

// runs tries cdfz run.
func (d *doctor) runs() finding {
	if d.err != nil {
		return d.temp()
	}
	cmd, cancel, err := d.self("run", "--folder", filepath.Dir(d.archive()), "--", "sh", "-c", "test -e archives/sample.nc")
	if err != nil {
		return finding{State: broken, Found: err.Error()}
	}
	defer cancel()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return finding{State: broken, Found: failure(err, stderr.Bytes()), Hint: "docs/run.md has what it needs"}
	}
	return finding{State: works, Found: "a command sees the originals"}
}

// mount tries cdfz mount.
func (d *doctor) mount() finding {
	if d.err != nil {
		return d.temp()
	}
	at := filepath.Join(d.dir, "shown")
	cmd, cancel, err := d.self("mount", filepath.Dir(d.archive()), at)
	if err != nil {
		return finding{State: broken, Found: err.Error()}
	}
	defer cancel()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return finding{State: broken, Found: err.Error()}
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	var content []byte
	var read error
	if line == "mounted\n" {
		content, read = os.ReadFile(filepath.Join(at, "sample.nc"))
		_ = cmd.Process.Signal(syscall.SIGTERM) // scripts run commands in the background with SIGINT ignored
	}
	err = cmd.Wait()
	switch {
	case read != nil:
		return finding{State: broken, Found: read.Error()}
	case err != nil:
		return finding{State: broken, Found: failure(err, stderr.Bytes()), Hint: "docs/mount.md has what it needs"}
	case string(content) != sample:
		return finding{State: broken, Found: "the mounted file is not the original"}
	}
	return finding{State: works, Found: "originals appear in a folder"}
}

// libraries returns the folders in which libraries are looked for.
func libraries() []string {
	folders := filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))
	if path, err := os.Executable(); err == nil {
		folders = append(folders, filepath.Join(filepath.Dir(path), "..", "lib"), filepath.Dir(path)) // of make install, and of make native
	}
	machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64", "386": "i386"}[runtime.GOARCH]
	return append(folders, "/usr/local/lib", "/usr/lib/"+machine+"-linux-gnu", "/usr/lib64", "/usr/lib")
}

// find returns the first folder's file of that name.
func find(name string, folders []string) (path string, ok bool) {
	for _, dir := range folders {
		if dir == "" {
			continue
		}
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			return path, true
		}
	}
	return "", false
}

// hdf5 looks for the plugin where HDF5 does.
func (d *doctor) hdf5() finding {
	const name = "libh5lorenz.so"
	folders := hdf5plugin.SearchPath([]string{os.Getenv("HDF5_PLUGIN_PATH")}, os.Getenv)
	if os.Getenv("HDF5_PLUGIN_PATH") == "" {
		folders = hdf5plugin.DefaultFolders()
	}
	if path, ok := find(name, folders); ok {
		return finding{State: works, Found: display.Printable(path)}
	}
	f := finding{State: missing, Found: "no " + name + " in " + display.Printable(strings.Join(folders, ", "))}
	var elsewhere []string
	for _, dir := range libraries() {
		elsewhere = append(elsewhere, filepath.Join(dir, "hdf5"), filepath.Join(dir, "hdf5", "plugin"), filepath.Join(dir, "cdfz", "hdf5"))
	}
	if path, ok := find(name, elsewhere); ok {
		f.Hint = "export HDF5_PLUGIN_PATH=" + display.Printable(filepath.Dir(path))
	}
	return f
}

// netcdf looks for the library of netCDF-C's programs and tries it with ncdump.
func (d *doctor) netcdf() finding {
	const name = "libnccdfz.so"
	path, preloaded := "", false
	for _, p := range strings.FieldsFunc(os.Getenv("LD_PRELOAD"), func(r rune) bool { return r == ':' || r == ' ' }) {
		if filepath.Base(p) == name {
			path, preloaded = p, true
		}
	}
	if !preloaded {
		var ok bool
		if path, ok = find(name, libraries()); !ok {
			return finding{State: missing, Found: "no " + name + " in " + display.Printable(strings.Join(libraries(), ", "))}
		}
	}
	f := finding{State: works, Found: display.Printable(path)}
	if !preloaded {
		f.Hint = "export LD_PRELOAD=" + f.Found
	}
	dump, err := exec.LookPath("ncdump")
	switch {
	case d.err != nil:
		return d.temp()
	case err != nil:
		f.Found += ", not tried: there is no ncdump"
		return f
	}
	cmd, cancel := d.command(dump, d.archive())
	defer cancel()
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+path)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if err == nil && !strings.Contains(stdout.String(), "v = 1, 2, 3, 4 ;") {
		err = errors.New("ncdump printed other values")
	}
	if err != nil {
		return finding{State: broken, Found: f.Found + ": " + failure(err, stderr.Bytes()), Hint: "it serves the netCDF-C that it was compiled with"}
	}
	f.Found += ", ncdump reads archives"
	cmd, cancel = d.command("nc-config", "--version")
	defer cancel()
	if b, err := cmd.Output(); err == nil {
		f.Found += ", " + display.Printable(strings.TrimSpace(string(b)))
	}
	return f
}

// tryPython prints what is found, a line each, and the values of the sample.
const tryPython = `
import sys, numpy
try:
    import cdfz
except ImportError as e:
    sys.exit("no package cdfz: %s" % e)
import io
rows = io.StringIO()
cdfz.show_versions(rows)
rows = dict(line.split(": ", 1) for line in rows.getvalue().splitlines())
f = cdfz.open(sys.argv[1])
assert f.read() == bytes.fromhex(sys.argv[2]), "the package reads other bytes"
print("cdfz %s, decoder of lorenz: %s, numpy %s, xarray %s" % tuple(rows[k] for k in ("cdfz", "decoder of lorenz", "numpy", "xarray")))
`

// python tries the package of the interpreter on PATH.
func (d *doctor) python() finding {
	path, err := exec.LookPath("python3")
	switch {
	case d.err != nil:
		return d.temp()
	case err != nil:
		return finding{State: missing, Found: "no python3 on PATH"}
	}
	cmd, cancel := d.command(path, "-c", tryPython, d.archive(), fmt.Sprintf("%x", sample))
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		last := lines[len(lines)-1]
		state := broken
		if strings.HasPrefix(last, "no package cdfz") || strings.Contains(last, "No module named") {
			state = missing
		}
		return finding{State: state, Found: display.Printable(path) + ": " + failure(err, []byte(last)), Hint: "pip install ./python, in the environment that is used"}
	}
	f := finding{State: works, Found: display.Printable(path) + ": " + display.Printable(strings.TrimSpace(stdout.String()))}
	if strings.Contains(f.Found, "without the library in C") {
		f.Hint = "numeric values are decoded slowly: install the package again where there is a C compiler"
	}
	return f
}
