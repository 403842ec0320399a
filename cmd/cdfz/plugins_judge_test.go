//go:build judge && linux && (amd64 || arm64)

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pluginRun runs cdfz in other processes, with cdfz-plugin-host on PATH.
type pluginRun struct {
	t    *testing.T
	self string
	env  []string
}

// newPluginRun builds the host and a fake plugin with filter 40001, whose folder it
// returns. Its calls are in the file log.
func newPluginRun(t *testing.T) (p *pluginRun, plugins, log string) {
	dir := t.TempDir()
	build := func(name string, args ...string) {
		out, err := exec.Command(name, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	build("go", "build", "-tags", "plugins", "-o", filepath.Join(dir, "bin", "cdfz-plugin-host"), "../cdfz-plugin-host")
	plugins = filepath.Join(dir, "plugins")
	require.NoError(t, os.Mkdir(plugins, 0o755))
	build("gcc", "-shared", "-fPIC", "-w", "-DFILTER=40001", "-DCODEC=40001", "-o", filepath.Join(plugins, "libfake.so"), "../../internal/hdf5plugin/testdata/fake.c")
	build("gcc", "-shared", "-fPIC", "-w", "-DFILTER=40002", "-DENCODER=0", "-o", filepath.Join(plugins, "libold.so"), "../../internal/hdf5plugin/testdata/fake.c")
	self, err := os.Executable()
	require.NoError(t, err)
	log = filepath.Join(dir, "log")
	return &pluginRun{t, self, append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "HDF5_FAKE_LOG="+log)}, plugins, log
}

func (p *pluginRun) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.self, args...)
	cmd.Args[0] = "cdfz" // see TestMain
	cmd.Env = p.env
	return cmd
}

// run runs a command that must exit with a code, and returns its output.
func (p *pluginRun) run(code int, args ...string) string {
	p.t.Helper()
	cmd := p.command(args...)
	out, _ := cmd.CombinedOutput()
	require.Equal(p.t, code, cmd.ProcessState.ExitCode(), "%v: %s", args, out)
	return string(out)
}

// TestJudgePlugins runs the verbs with plugins: the rows L1, L4, L7, L10 and L12 of
// CONTRIBUTING.md.
func TestJudgePlugins(t *testing.T) {
	p, plugins, log := newPluginRun(t)
	fakeSource, err := filepath.Abs("../../internal/hdf5plugin/testdata/fake.c")
	require.NoError(t, err)
	image, err := os.ReadFile("../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("a.nc", image, 0o644))
	same := func(name string) {
		t.Helper()
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		require.True(t, bytes.Equal(image, b))
	}

	t.Run("L1", func(t *testing.T) {
		out := p.run(0, "plugins", "path", "--plugin-path", "/a:default", "--plugin-path", "/b")
		require.True(t, strings.HasPrefix(out, "search path:\n  /a\n  /usr/local/hdf5/lib/plugin\n"), out)
		require.Contains(t, p.run(0, "plugins"), "no search path")
		require.Contains(t, p.run(0, "plugins", "--plugin-path", "/nonexistent:"+plugins), "warning: plugins: /nonexistent: no such file or directory")
		require.Contains(t, p.run(2, "plugins", "nosuch"), "expected path, list or pairs")
	})
	t.Run("L4", func(t *testing.T) {
		out := p.run(0, "plugins", "list", "--plugin-path", "default")
		for _, line := range []string{
			"filter 307 (HDF5 bzip2 filter; see http://www.hdfgroup.org/services/contributions.html)", "filter 32001 (blosc), set_local",
			"filter 32004 (HDF5 lz4 filter; see http://www.hdfgroup.org/services/contributions.html)", "filter 32013 (H5Z-ZFP-1.1.0 (ZFP-1.0.0)), can_apply, set_local",
			"ignored: no H5PLget_plugin_type",
		} {
			require.Contains(t, out, line)
		}
	})
	t.Run("L12", func(t *testing.T) {
		var r struct {
			Path  []string
			Pairs []struct {
				ID         uint32
				Codec, Use string
			}
		}
		require.NoError(t, json.Unmarshal([]byte(p.run(0, "plugins", "--json", "--plugin-path", plugins+":default")), &r))
		use := map[uint32]string{}
		for _, pair := range r.Pairs {
			use[pair.ID] = pair.Use + " " + pair.Codec
		}
		require.Equal(t, "filter and codec fake", use[40001])
		require.Equal(t, "filter, decodes only ", use[40002])
		require.Equal(t, "filter ", use[32013])
		require.Equal(t, "built in bz2", use[307])
	})
	t.Run("L12 built in", func(t *testing.T) {
		// Libraries with nothing but codecs, for filters that are built in.
		dir := t.TempDir()
		for name, macros := range map[string][]string{
			"libdeflate.so": {"CODEC=1", `CODECID="zlib"`}, "liblz4.so": {"CODEC=32004", `CODECID="lz4"`}, "libszip.so": {"CODEC=4", `CODECID="szip"`},
			"libboth.so": {"CODEC=307", `CODECID="bz2"`, "DEFAULTS=32008"}, "libshuffle.so": {"DEFAULTS=2"},
		} {
			args := []string{"-shared", "-fPIC", "-w", "-o", filepath.Join(dir, name), fakeSource}
			for _, m := range macros {
				args = append(args, "-D"+m)
			}
			out, err := exec.Command("gcc", args...).CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
		for _, path := range []string{dir, dir + ":default"} { // without and with HDF5's library
			with := []string{"--plugin-path", path}
			out := p.run(0, append(with, "plugins", "pairs")...)
			for _, line := range []string{
				`(?m)^1 +deflate +zlib +built in, with this codec +libdeflate.so$`, `(?m)^4 +szip +szip +built in, with this codec +libszip.so$`,
				`(?m)^307 +bzip2 +bz2 +built in, with this codec +(libh5bz2.so and )?libboth.so$`,
				`(?m)^32004 +lz4 +lz4 +built in, with this codec +(libh5lz4.so and )?liblz4.so$`,
				`(?m)^32008 +bitshuffle +default +built in, with this codec +(libh5bshuf.so and )?libboth.so$`, // a default, and we have none
				`(?m)^2 +shuffle +shuffle +built in, codec default is not used +libshuffle.so$`,                // a default, and we have one
			} {
				require.Regexp(t, line, out)
			}
			// The verb filters names the same codecs.
			list := p.run(0, append(with, "filters")...)
			for line := range strings.Lines(out[strings.Index(out, "id "):]) {
				words := strings.Fields(line)
				if _, err := strconv.Atoi(words[0]); err == nil && strings.Contains(line, "built in") {
					require.Regexp(t, "(?m)^"+strings.Join(words[:3], " +")+" ", list)
				}
			}
			for id, codec := range map[string]string{"1": "zlib", "4": "szip", "307": "bz2", "32004": "lz4"} {
				text := `{"id":"` + codec + `","key":8}`
				require.Equal(t, id+",8\n", p.run(0, append(with, "codec", "to-hdf5", text)...))
				require.Equal(t, text+"\n", p.run(0, append(with, "codec", "from-hdf5", id+",8")...))
			}
			require.Equal(t, `{"id":"shuffle","elementsize":4}`+"\n", p.run(0, append(with, "codec", "from-hdf5", "2,4")...))
		}
		require.Equal(t, `{"id":"zlib","level":8}`+"\n", p.run(0, "codec", "from-hdf5", "1,8"))

		// Archives have the codec of the library, and need the library only to be written.
		p.run(0, "--plugin-path", dir, "archive", "-q", "--zarr", "always", "--preset", "portable", "-F", "tas,32004,0", "-F", "pr,1,6", "-o", "z.cdfz", "a.nc")
		out, err := exec.Command("unzip", "-p", "z.cdfz", "tas/.zarray").Output()
		require.NoError(t, err)
		require.Contains(t, string(out), `"compressor":{"id":"lz4","key":0}`)
		p.run(0, "verify", "--against", "a.nc", "z.cdfz")
		p.run(0, "--plugin-path", dir, "verify", "--against", "a.nc", "z.cdfz")
		p.run(0, "archive", "-q", "--zarr", "always", "--preset", "portable", "-F", "tas,32004,0", "-F", "pr,1,6", "-o", "y.cdfz", "a.nc")
		p.run(0, "--plugin-path", dir, "verify", "y.cdfz")
	})
	t.Run("Q11", func(t *testing.T) {
		// As in HDF5, the comment of a plugin stays with the chain: LZO has this id in the registry.
		dir := t.TempDir()
		msg, err := exec.Command("gcc", "-shared", "-fPIC", "-w", "-DFILTER=305", `-DNAME="md5 checksum"`, "-o", filepath.Join(dir, "libmd5.so"), fakeSource).CombinedOutput()
		require.NoError(t, err, "%s", msg)
		with := []string{"--plugin-path", dir}
		out := p.run(0, append(with, "archive", "--zarr", "always", "-F", "tas,MD5 Checksum,0|1,6", "-o", "n.cdfz", "a.nc")...)
		require.Contains(t, out, "opens in xarray without 1 variable")
		plan, err := exec.Command("unzip", "-p", "n.cdfz", ".cdfz/plan.json").Output()
		require.NoError(t, err)
		require.Contains(t, string(plan), `{"id":305,"params":[0],"name":"md5 checksum"}`)
		p.run(0, append(with, "copy", "-q", "-F", "pr,1,6", "n.cdfz", "n2.cdfz")...)
		for _, name := range []string{"n.cdfz", "n2.cdfz"} {
			require.Contains(t, p.run(0, "info", name), "305 md5 checksum")
			require.Contains(t, p.run(0, "info", "--json", name), `"comments":{"305":"md5 checksum"}`)
			p.run(0, append(with, "verify", "--against", "a.nc", name)...)
			p.run(0, append(with, "export", "-q", "-f", "--replace-other", "-o", "n.nc4", name)...)
			h5, err := exec.Command("h5dump", "-p", "-H", "-d", "tas", "n.nc4").Output()
			require.NoError(t, err)
			require.Contains(t, string(h5), "COMMENT md5 checksum")
			require.NotContains(t, string(h5), "LZO")
		}
		for _, args := range [][]string{{"verify", "n.cdfz"}, {"get", "n.cdfz", "tas[0]"}, {"restore", "-o", "n.nc", "n.cdfz"}, {"dump", "n.cdfz"}, {"copy", "-F", "tas,1,6", "n.cdfz", "n3.cdfz"}} {
			out := p.run(1, args...)
			require.Contains(t, out, "unknown filter 305,0 (md5 checksum)")
			require.Contains(t, out, "hint: --plugin-path FOLDERS names folders with HDF5 plugins")
			out = p.run(1, append(args, "--plugin-path", plugins)...)
			require.Contains(t, out, "unknown filter 305,0 (md5 checksum)")
			require.Contains(t, out, "hint: no library in "+plugins+" provides it: cdfz plugins lists them")
		}
		require.Contains(t, p.run(2, "archive", "-F", "tas,40099", "-o", "n3.cdfz", "a.nc"), "hint: --plugin-path FOLDERS")
		// The error of a library is not that of a parameter.
		require.NotContains(t, p.run(1, append(with, "archive", "-F", "tas,305,8", "-o", "n3.cdfz", "a.nc")...), "bad parameter")
	})
	t.Run("L12 view", func(t *testing.T) {
		// A codec of a plugin is in the view, but no other program has it.
		with := []string{"--plugin-path", plugins}
		out := p.run(0, append(with, "archive", "--zarr", "always", "--preset", "portable", "-F", "tas,40001,0", "-o", "c1.cdfz", "a.nc")...)
		require.Contains(t, out, `opens in xarray if it has the plugin's codec fake`)
		require.Contains(t, p.run(0, append(with, "archive", "--json", "--zarr", "always", "--preset", "portable", "-F", "tas,40001,0", "-o", "c2.cdfz", "a.nc")...), `"plugin_codecs":["fake"]`)
		out = p.run(0, append(with, "archive", "--zarr", "never", "-F", "tas,40001,0", "-o", "c3.cdfz", "a.nc")...)
		require.Contains(t, out, "opens in xarray without 1 variable with Python package cdfz, no Zarr view")
		out = p.run(0, append(with, "export", "-o", "c.zarr", "c1.cdfz")...)
		require.Contains(t, out, "readers need the codec fake, which a plugin defines")
		meta, err := os.ReadFile("c.zarr/tas/.zarray")
		require.NoError(t, err)
		require.Contains(t, string(meta), `"compressor":{"id":"fake","key":0}`)
		out = p.run(0, append(with, "export", "--refs", "json", "-o", "c.json", "c1.cdfz")...)
		require.Contains(t, out, "readers need the codec fake, which a plugin defines")
		refs, err := os.ReadFile("c.json")
		require.NoError(t, err)
		require.Contains(t, string(refs), `"compressor\":{\"id\":\"fake\",\"key\":0}`)
		// Version 3 has no names for such codecs.
		p.run(0, append(with, "export", "-q", "--zarr-format", "3", "-o", "c3.zarr", "c1.cdfz")...)
		meta, err = os.ReadFile("c3.zarr/tas/zarr.json")
		require.NoError(t, err)
		require.NotContains(t, string(meta), "fake")
	})
	t.Run("filters", func(t *testing.T) {
		require.Contains(t, p.run(0, "filters", "--plugin-path", plugins), "from the plugin libfake.so")
		require.NotContains(t, p.run(0, "filters"), "libfake.so")
		require.Contains(t, p.run(0, "filters", "40002", "--plugin-path", plugins), "libold.so, decodes only")
	})
	t.Run("verbs", func(t *testing.T) {
		with := []string{"--plugin-path", plugins + ":default"}
		p.run(0, append(with, "archive", "-q", "--zarr", "always", "--preset", "portable", "-F", "tas,2,4|32013,5", "-F", "pr,40001,1", "a.nc")...)
		require.Contains(t, p.run(1, "get", "a.nc.cdfz", "tas[0]"), "unknown filter 32013")
		require.Contains(t, p.run(1, "restore", "-o", "x.nc", "a.nc.cdfz"), "unknown filter")
		require.Contains(t, p.run(0, "dump", "-hs", "a.nc.cdfz"), `pr:_Filter = "40001,1"`)
		p.run(0, append(with, "verify", "--against", "a.nc", "a.nc.cdfz")...)
		p.run(0, append(with, "restore", "-q", "-o", "b.nc", "a.nc.cdfz")...)
		same("b.nc")
		require.Equal(t, p.run(0, "get", "a.nc", "tas[0]"), p.run(0, append(with, "get", "a.nc.cdfz", "tas[0]")...))
		info := p.run(0, append(with, "info", "a.nc.cdfz")...)
		require.Contains(t, info, "32013 H5Z-ZFP-1.1.0 (ZFP-1.0.0), 40001 fake\n")
		p.run(0, append(with, "copy", "-q", "-F", "pr,1,6", "-F", "lat,40001,0", "a.nc.cdfz", "c.cdfz")...)
		p.run(0, append(with, "restore", "-q", "-o", "c.nc", "c.cdfz")...)
		same("c.nc")
		// The variable does the same as the option. Filters that were there stay.
		p.env = append(p.env, "HDF5_PLUGIN_PATH="+plugins+":/usr/lib/x86_64-linux-gnu/hdf5/serial/plugins")
		p.run(0, "verify", "a.nc.cdfz", "c.cdfz")
		p.env = p.env[:len(p.env)-1]
	})
	t.Run("L7", func(t *testing.T) {
		out := p.run(1, "--plugin-path", plugins, "archive", "-F", "tas,40002", "-o", "d.cdfz", "a.nc")
		require.Contains(t, out, "can only decode")
		require.NoFileExists(t, "d.cdfz")
	})
	t.Run("L10", func(t *testing.T) {
		// The plugin encodes and, with parameter 4, crashes when it decodes. Then it cannot
		// be used for writing.
		out := p.run(1, "--plugin-path", plugins, "archive", "-F", "tas,40001,4", "-o", "e.cdfz", "a.nc")
		require.Contains(t, out, "libfake.so: crashed: signal: segmentation fault")
		require.NoFileExists(t, "e.cdfz")
		// For reading, it costs an error and not the archive.
		p.run(0, "--plugin-path", plugins, "archive", "-q", "-F", "tas,40001,0", "-o", "e.cdfz", "a.nc")
		b, err := os.ReadFile("e.cdfz")
		require.NoError(t, err)
		crash := filepath.Join(t.TempDir(), "libcrash.so")
		msg, err := exec.Command("gcc", "-shared", "-fPIC", "-w", "-DFILTER=40001", "-DFORCE=4", "-o", crash, fakeSource).CombinedOutput()
		require.NoError(t, err, "%s", msg)
		out = p.run(1, "--plugin-path", filepath.Dir(crash), "restore", "-o", "e.nc", "e.cdfz")
		require.Contains(t, out, "libcrash.so: crashed: signal: segmentation fault")
		require.NoFileExists(t, "e.nc")
		require.Contains(t, p.run(0, "--plugin-path", filepath.Dir(crash), "get", "e.cdfz", "pr[0,0,0]"), "")
		// A damaged block is not shown to the plugin.
		b[bytes.Index(b, []byte("tas/0.0.0"))+100] ^= 1
		require.NoError(t, os.WriteFile("f.cdfz", b, 0o644))
		require.NoError(t, os.RemoveAll(log))
		out = p.run(3, "--plugin-path", plugins, "get", "f.cdfz", "tas[0,0,0]")
		require.Contains(t, out, "checksum")
		require.NoFileExists(t, log)
	})
	t.Run("L10 killed", func(t *testing.T) {
		// The host ends with cdfz, even while a plugin runs.
		p.run(0, "--plugin-path", plugins, "archive", "-q", "-F", "tas,40001,0", "-o", "g.cdfz", "a.nc")
		loop := filepath.Join(t.TempDir(), "libloop.so")
		msg, err := exec.Command("gcc", "-shared", "-fPIC", "-w", "-DFILTER=40001", "-DFORCE=5", "-o", loop, fakeSource).CombinedOutput()
		require.NoError(t, err, "%s", msg)
		require.NoError(t, os.RemoveAll(log))
		cmd := p.command("-j", "1", "--plugin-path", filepath.Dir(loop), "get", "g.cdfz", "tas[0,0,0]")
		require.NoError(t, cmd.Start())
		pid := 0
		require.Eventually(t, func() bool {
			b, _ := os.ReadFile(log)
			pid, _ = strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(string(b), "decode ")))
			return pid > 0
		}, 20*time.Second, 10*time.Millisecond)
		require.NoError(t, syscall.Kill(pid, 0))
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		require.Eventually(t, func() bool {
			// Nobody reaps it if the test runs without an init process.
			stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
			return err != nil || strings.Contains(string(stat), ") Z ")
		}, 20*time.Second, 10*time.Millisecond)
	})
}

// TestJudgePluginPage runs the commands of docs/filters.md about the plugin that stands there.
func TestJudgePluginPage(t *testing.T) {
	p, _, _ := newPluginRun(t)
	page, err := os.ReadFile("../../docs/filters.md")
	require.NoError(t, err)
	image, err := os.ReadFile("../../testdata/classic/cdf2_climate.nc")
	require.NoError(t, err)
	_, text, _ := strings.Cut(string(page), "### A plugin\n")
	_, text, _ = strings.Cut(text, "```c\n")
	source, text, _ := strings.Cut(text, "```\n")
	_, text, _ = strings.Cut(text, "```sh\n")
	commands, _, found := strings.Cut(text, "```\n")
	require.True(t, found)
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("plugins", 0o755))
	require.NoError(t, os.Mkdir("bin", 0o755))
	require.NoError(t, os.Symlink(p.self, "bin/cdfz")) // see TestMain
	require.NoError(t, os.WriteFile("difference.c", []byte(source), 0o644))
	require.NoError(t, os.WriteFile("tas.nc", image, 0o644))
	cmd := exec.Command("sh", "-ec", `PATH=$PWD/bin:$PATH; `+commands)
	cmd.Env = p.env
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, p.run(0, "info", "tas.nc.cdfz"), " 40100|1,6 ")
	p.run(0, "restore", "--plugin-path", "plugins", "-o", "back.nc", "tas.nc.cdfz")
	back, err := os.ReadFile("back.nc")
	require.NoError(t, err)
	require.True(t, bytes.Equal(image, back))
}

// rowCommand matches a command of the table of CONTRIBUTING.md and what it prints.
var rowCommand = regexp.MustCompile("`([^`]+)`: `([^`]+)`")

// TestRowCommands runs the command of each row of CONTRIBUTING.md.
func TestRowCommands(t *testing.T) {
	p, _, _ := newPluginRun(t)
	page, err := os.ReadFile("../../CONTRIBUTING.md")
	require.NoError(t, err)
	_, text, _ := strings.Cut(string(page), "where R is the folder of the repository:\n\n```sh\n")
	before, table, found := strings.Cut(text, "```\n")
	require.True(t, found)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("bin", 0o755))
	require.NoError(t, os.Symlink(p.self, "bin/cdfz")) // see TestMain
	p.env = append(slices.DeleteFunc(p.env, func(v string) bool { return strings.HasPrefix(v, "HDF5_PLUGIN_PATH=") }), "R="+root)
	sh := func(script string) string {
		cmd := exec.Command("bash", "-c", "PATH=$PWD/bin:$PATH\n"+script)
		cmd.Env = p.env
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	out := sh("set -e\n" + before + "echo prepared")
	require.True(t, strings.HasSuffix(out, "prepared\n"), out)
	functions := before[strings.Index(before, "f() {"):]
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 4 || !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| row ") {
			continue
		}
		rows++
		commands := rowCommand.FindAllStringSubmatch(strings.ReplaceAll(cells[3], `\|`, "|"), -1)
		require.True(t, len(commands) > 0 || cells[3] == "none |", "%s", line)
		for _, c := range commands {
			if strings.HasPrefix(c[1], "go test ") {
				continue
			}
			if out := sh(functions + c[1]); !strings.Contains(out, c[2]) {
				t.Errorf("%s: %s: expected %q, found %s", cells[0], c[1], c[2], out)
			}
		}
	}
	require.Greater(t, rows, 70)
}
