//go:build judge && linux && (amd64 || arm64)

package hdf5plugin

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/filters"
	"github.com/cdfz-format/cdfz/internal/hostproto"
)

var hostFolder string

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(hostFolder)
	os.Exit(code)
}

// host returns cdfz-plugin-host, built once.
var host = sync.OnceValues(func() (string, error) {
	var err error
	if hostFolder, err = os.MkdirTemp("", "cdfz-host"); err != nil {
		return "", err
	}
	path := filepath.Join(hostFolder, hostName)
	out, err := exec.Command("go", "build", "-tags", "plugins", "-o", path, "../../cmd/cdfz-plugin-host").CombinedOutput()
	if err != nil {
		return string(out), err
	}
	return path, nil
})

// hostPath is host for a test.
func hostPath(t *testing.T) string {
	path, err := host()
	require.NoError(t, err, path)
	return path
}

// fake compiles testdata/fake.c.
func fake(t *testing.T, path string, macros ...string) {
	t.Helper()
	compile(t, path, "testdata/fake.c", macros...)
}

func compile(t *testing.T, path, source string, macros ...string) {
	t.Helper()
	args := []string{"-shared", "-fPIC", "-w", "-o", path, source}
	for _, m := range macros {
		if filepath.IsAbs(m) || m[0] == '-' { // a library, or an option of the linker
			args = append(args, m)
			continue
		}
		args = append(args, "-D"+m)
	}
	out, err := exec.Command("gcc", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// What the filter of fake.c does, by its first parameter.
const (
	doXor uint32 = iota
	doReplace
	doGrow
	doZero
	doCrash
	doLoop
	doMemory
	doLarge
	doLossy
	doExit
	doLeak
	doPrint
	doAbort
	doNoBuffer
	doSecret
	doChild
	doDaemon
)

// TestPluginRows checks the libraries of fake.c: the rows L and P of CONTRIBUTING.md.
func TestPluginRows(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	fake(t, in("libboth.so"), "FILTER=40001", "CODEC=40001")
	fake(t, in("libcodec.so"), "CODEC=40002")
	fake(t, in("libcrash.so"), "FILTER=40003", "ABORT")
	fake(t, in("libdefaults.so"), "DEFAULTS=40004")
	fake(t, in("libfilter.so.2"), "FILTER=40002")
	fake(t, in("libhang.so"), "FILTER=40014", "HANG")
	fake(t, in("libinfo.so"), "FILTER=40006", "NOINFO")
	fake(t, in("liblocal.so"), "FILTER=40007", "LOCAL=0")
	fake(t, in("libneither.so"))
	fake(t, in("libnocode.so"), "FILTER=40013", "NOFILTER")
	fake(t, in("libnoencoder.so"), "FILTER=40004", "ENCODER=0")
	fake(t, in("libreserved.so"), "FILTER=200")
	fake(t, in("libstray.so"), "CODEC=40009")
	fake(t, in("libtwin.so"), "FILTER=40001")
	fake(t, in("libtype.so"), "FILTER=40010", "TYPE=1")
	fake(t, in("libtwo.so"), "CODEC=40015", "DEFAULTS=40016")
	fake(t, in("libversion.so"), "FILTER=40011", "VERSION=2", "CODEC=40011")
	fake(t, in("plugin.so"), "FILTER=40012")
	require.NoError(t, os.WriteFile(in("libtext.so"), []byte("no library"), 0o644))
	require.NoError(t, os.Mkdir(in("libfolder.so"), 0o755))
	log := in("log")
	t.Setenv("HDF5_FAKE_LOG", log)
	t.Setenv("CDFZ_FAKE_SECRET", "a key")

	s, err := Open(&Options{
		Folders: []string{filepath.Join(dir, "missing"), dir}, Host: hostPath(t), Processes: 1, Memory: 64 << 20,
	})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	libraries := map[string]Library{}
	for _, l := range s.Libraries() {
		libraries[filepath.Base(l.Path)] = l
	}
	pairs := map[uint32]Pair{}
	for _, p := range s.Pairs() {
		pairs[p.ID] = p
	}
	both := s.Method(pairs[40001]).New()
	block := bytes.Repeat([]byte("0123456789abcdef"), 4096)

	t.Run("L1", func(t *testing.T) {
		require.Len(t, s.Skipped(), 1)
		require.ErrorIs(t, s.Skipped()[0].Err, os.ErrNotExist)
		require.Equal(t, in("libboth.so"), pairs[40001].Path, "the first library with an id counts")
	})
	t.Run("L3", func(t *testing.T) {
		require.NotContains(t, libraries, "plugin.so")
		require.NotContains(t, libraries, "libfolder.so")
		require.Contains(t, libraries, "libfilter.so.2")
	})
	t.Run("L4", func(t *testing.T) {
		require.Equal(t, &Filter{ID: 40001, Name: "fake", Encodes: true, Decodes: true}, libraries["libboth.so"].Filter)
		noEncoder := libraries["libnoencoder.so"]
		require.Equal(t, &Filter{ID: 40004, Name: "fake", Decodes: true}, noEncoder.Filter, noEncoder.Ignored)
		require.True(t, libraries["liblocal.so"].Filter.SetLocal)
	})
	t.Run("L5", func(t *testing.T) {
		for name, why := range map[string]string{
			"libtype.so":     "H5PLget_plugin_type: expected 0 for a filter, found 1",
			"libinfo.so":     "no H5PLget_plugin_info",
			"libreserved.so": "filter id: expected 256 to 65535, found 200",
			"libnocode.so":   "H5Z_class2_t has no filter function",
			"libcrash.so":    "crashed: signal: aborted",
			"libhang.so":     "took more than 5s",
			"libtext.so":     "file too short",
		} {
			require.Contains(t, libraries[name].Ignored, why)
			require.Nil(t, libraries[name].Filter)
		}
		require.Equal(t, "H5Z_class2_t: expected version 1, found 2", libraries["libversion.so"].Note)
	})
	t.Run("L6", func(t *testing.T) { // the id counts, whatever the file is called
		require.NoError(t, os.Mkdir(in("renamed"), 0o755))
		require.NoError(t, os.Rename(in("plugin.so"), in("renamed/libh5bz2.so")))
		r, err := Open(&Options{Folders: []string{in("renamed")}, Host: hostPath(t), Processes: 1})
		require.NoError(t, err)
		defer r.Close()
		require.EqualValues(t, 40012, r.Pairs()[0].ID)
	})
	// HDF5's H5Z__prelude_callback: a filter that does not apply is an error unless it is optional,
	// and an error of its functions is one in any case.
	t.Run("can_apply", func(t *testing.T) {
		dir := t.TempDir()
		hdf5, err := filepath.Glob("/usr/lib/*/libhdf5_serial.so.*")
		require.NoError(t, err)
		require.NotEmpty(t, hdf5)
		linked := func(name string, macros ...string) {
			fake(t, filepath.Join(dir, name), append(macros, "-Wl,--no-as-needed", hdf5[0])...)
		}
		linked("libapplies.so", "FILTER=40101", "APPLIES=1", "LOCAL=0")
		linked("librefuses.so", "FILTER=40102", "APPLIES=0", "LOCAL=0")
		linked("libfails.so", "FILTER=40103", "APPLIES=-1", "LOCAL=0")
		linked("liblocalfails.so", "FILTER=40104", "APPLIES=1", "LOCAL=-1")
		r, err := Open(&Options{Folders: []string{dir}, Host: hostPath(t), Processes: 1})
		require.NoError(t, err)
		defer r.Close()
		require.NoError(t, r.Register())
		b := filters.Block{Len: 4096, Kind: filters.Float, Size: 4, Shape: []int{1024}}
		for id, want := range map[uint32]struct{ required, optional error }{
			40101: {nil, nil},
			40102: {filters.ErrInapplicable, nil},
			40103: {filters.ErrParam, filters.ErrParam},
			40104: {filters.ErrParam, filters.ErrParam},
		} {
			_, err := filters.Chain{{ID: id}}.Complete(b)
			require.ErrorIs(t, err, want.required, "filter %d: %v", id, err)
			_, err = filters.Chain{{ID: id, Optional: true}}.Complete(b)
			require.ErrorIs(t, err, want.optional, "filter %d, optional: %v", id, err)
		}
	})
	t.Run("name, encode only", func(t *testing.T) {
		dir := t.TempDir()
		fake(t, filepath.Join(dir, "libnodecoder.so"), "FILTER=305", "DECODER=0") // LZO in the registry
		r, err := Open(&Options{Folders: []string{dir}, Host: hostPath(t), Processes: 1})
		require.NoError(t, err)
		defer r.Close()
		m := r.Method(r.Pairs()[0])
		require.Equal(t, "fake", m.Name)
		require.True(t, m.EncodeOnly)
		require.False(t, m.DecodeOnly)
	})
	t.Run("L7", func(t *testing.T) {
		m := s.Method(pairs[40004])
		require.True(t, m.DecodeOnly)
		out, err := m.New().Decode(nil, []byte{0x5a, 0x5b}, nil, 2)
		require.NoError(t, err)
		require.Equal(t, []byte{0, 1}, out)
		if _, known := filters.Lookup(m.ID); !known { // by an earlier run
			require.NoError(t, filters.Register(m))
		}
		c, err := filters.NewCoder(filters.Chain{{ID: 40004}})
		require.NoError(t, err)
		_, _, err = c.Encode(nil, block)
		require.ErrorIs(t, err, filters.ErrParam)
	})
	t.Run("L8", func(t *testing.T) { // no libhdf5, no property list
		_, err := s.Method(pairs[40007]).Complete(nil, filters.Block{Kind: filters.Int, Size: 4, Len: 40, Shape: []int{10}})
		require.ErrorIs(t, err, filters.ErrParam)
		require.ErrorContains(t, err, "the library is not linked to libhdf5")
	})
	t.Run("L10", func(t *testing.T) {
		for what, text := range map[uint32]string{
			doCrash: "crashed: signal: segmentation fault", doAbort: "crashed: signal: aborted", doExit: "crashed: exit status 0",
			doMemory: "returned 0", doLarge: "in a buffer of", doNoBuffer: "in a buffer of",
		} {
			_, err := both.Decode(nil, block, []uint32{what}, len(block))
			require.ErrorContains(t, err, text)
			if strings.HasPrefix(text, "crashed") {
				require.ErrorIs(t, err, filters.ErrUnavailable)
			} else {
				require.ErrorIs(t, err, filters.ErrDamaged)
			}
			out, err := both.Decode(nil, []byte{0x5a}, []uint32{doXor}, 1)
			require.NoError(t, err, "after %d", what)
			require.Equal(t, []byte{0}, out)
		}
	})
	t.Run("L10 loop", func(t *testing.T) {
		opts := s.pool.opts
		s.pool.opts.Timeout = 200 * time.Millisecond
		_, err := both.Decode(nil, block, []uint32{doLoop}, len(block))
		s.pool.opts = opts
		require.ErrorContains(t, err, "took more than 200ms")
		require.ErrorIs(t, err, filters.ErrUnavailable)
		_, err = both.Decode(nil, block, nil, len(block))
		require.NoError(t, err)
	})
	t.Run("L10 leak", func(t *testing.T) {
		pids := map[string]bool{}
		for range 50 { // of which each leaks 10 MiB
			require.NoError(t, os.RemoveAll(log))
			_, err := both.Decode(nil, block, []uint32{doLeak}, len(block))
			require.NoError(t, err)
			pid, err := os.ReadFile(log)
			require.NoError(t, err)
			pids[string(pid)] = true
		}
		require.Greater(t, len(pids), 1, "worn processes are replaced")
		require.Less(t, len(pids), 10, "but not for each few calls")
	})
	t.Run("L10 secret", func(t *testing.T) {
		_, err := both.Decode(nil, block, []uint32{doSecret}, len(block))
		require.NoError(t, err)
	})
	t.Run("L10 child", func(t *testing.T) {
		require.NoError(t, os.RemoveAll(log))
		for _, what := range []uint32{doChild, doDaemon} {
			_, err := both.Decode(nil, block, []uint32{what}, len(block))
			require.NoError(t, err, "fork fails in the plugin")
		}
		lines, err := os.ReadFile(log)
		require.NoError(t, err)
		require.NotContains(t, string(lines), "child")
	})
	t.Run("L10 print", func(t *testing.T) {
		out, err := both.Decode(nil, block, []uint32{doPrint}, len(block))
		require.NoError(t, err)
		require.Len(t, out, len(block))
	})
	t.Run("L11", func(t *testing.T) {
		require.Equal(t, "no H5PLget_plugin_type", libraries["libneither.so"].Ignored)
		require.Empty(t, libraries["libfilter.so.2"].Codecs)
		require.Nil(t, libraries["libcodec.so"].Filter)
		require.Equal(t, []Codec{{ID: "fake", Filter: 40002}}, libraries["libcodec.so"].Codecs)
		require.NotNil(t, libraries["libboth.so"].Filter)
		require.Len(t, libraries["libboth.so"].Codecs, 1)
		require.Equal(t, []Codec{{ID: "default", Filter: 40004, Default: true}}, libraries["libdefaults.so"].Codecs)
		require.Equal(t, []Codec{{ID: "fake", Filter: 40015}, {ID: "default", Filter: 40016, Default: true}},
			libraries["libtwo.so"].Codecs, "both functions of netcdf-c")
		require.Contains(t, libraries["libdefaults.so"].Note, "found 2 and 1")
	})
	t.Run("L12", func(t *testing.T) {
		for id, action := range map[uint32]Action{40001: Usable, 40002: Usable, 40004: Usable, 40007: HDF5Only, 40009: Ignored, 40011: Ignored} {
			p := pairs[id]
			require.Equal(t, action, p.Action(), id)
		}
		require.Len(t, pairs, 8)
		p := pairs[40002]
		require.Equal(t, []string{in("libfilter.so.2"), in("libcodec.so")}, []string{p.Path, p.CodecPath})
	})
	t.Run("L12 proposed", func(t *testing.T) { // what netcdf-c's proposal has is named, and no pair has it
		dir := t.TempDir()
		const want = "as netcdf-c's proposal of 2021 has it: expected a pointer to NCZ_codec_t of netcdf_filter_build.h, with nine members"
		texts := map[string]string{
			"liba.so": "NCZ_get_codec_info returns a struct, " + want,
			"libb.so": "codec proposed for filter 40300: a struct of six members, " + want,
			"libc.so": "NCZ_get_codec_info returns a struct, " + want,
			"libd.so": "codec proposed for filter 40300: NCZ_codec_to_hdf5 is ",
			"libe.so": "codec proposed for filter 40300: NCZ_codec_to_hdf5 is NULL",
			"libf.so": "no H5PLget_plugin_type, but H5Z_get_plugin_info, its name in netcdf-c's proposal of 2021",
			"libg.so": "NCZ_get_codec_info returns a struct, " + want,
		}
		for name, macros := range map[string][]string{
			"liba.so": nil, "libb.so": {"POINTER"}, "libc.so": {"NOCODE"}, "libd.so": {"POINTER", "NOCODE"}, "libe.so": {"HALF"},
			"libf.so": {"FILTER=40300", "OLDNAMES"}, "libg.so": {"FILTER=40300"},
		} {
			compile(t, filepath.Join(dir, name), "testdata/proposed.c", macros...)
		}
		r, err := Open(&Options{Folders: []string{dir}, Host: hostPath(t), Processes: 1})
		require.NoError(t, err)
		defer r.Close()
		require.Len(t, r.Libraries(), len(texts))
		for _, l := range r.Libraries() {
			name := filepath.Base(l.Path)
			require.Empty(t, l.Codecs, name)
			if name == "libg.so" {
				require.Contains(t, l.Note, texts[name])
				require.NotNil(t, l.Filter)
				continue
			}
			require.Contains(t, l.Ignored, texts[name], name)
		}
		require.Len(t, r.Pairs(), 1)
		require.Equal(t, HDF5Only, r.Pairs()[0].Action())
	})
	t.Run("Q11", func(t *testing.T) { // the name in the chain, else that of the plugin, else none
		dir := t.TempDir()
		long := strings.Repeat("x", 254) + "ü"
		fake(t, filepath.Join(dir, "liba.so"), "FILTER=306", `NAME="md5 checksum"`)
		fake(t, filepath.Join(dir, "libb.so"), "FILTER=40301", "NAME=0")
		fake(t, filepath.Join(dir, "libc.so"), "FILTER=40302", `NAME="`+long+`"`)
		fake(t, filepath.Join(dir, "libd.so"), "FILTER=40303", `NAME="a\xff"`)
		r, err := Open(&Options{Folders: []string{dir}, Host: hostPath(t), Processes: 1})
		require.NoError(t, err)
		defer r.Close()
		require.NoError(t, r.Register())
		c, err := filters.Chain{{ID: 306}, {ID: 306, Name: "mine"}, {ID: 40301}, {ID: 40302}, {ID: 40303}, {ID: 2}, {ID: 306, Optional: true}}.Complete(filters.Block{Len: 40, Size: 4})
		require.NoError(t, err)
		var names []string
		for _, f := range c {
			names = append(names, f.Name)
		}
		require.Equal(t, []string{"md5 checksum", "mine", "", long[:254], "a\uFFFD", "", "md5 checksum"}, names)
		require.Equal(t, "md5 checksum", filters.Name(306))
		require.Empty(t, filters.Name(40301))
	})
	t.Run("L13", func(t *testing.T) {
		for _, id := range []uint32{40001, 40002} {
			c := s.Method(pairs[id]).Codec
			text, err := c.JSON([]uint32{17}, filters.Block{})
			require.NoError(t, err)
			require.JSONEq(t, `{"id":"fake","key":17}`, string(text))
			params, err := c.Params(text)
			require.NoError(t, err)
			require.Equal(t, []uint32{17}, params)
			_, err = c.JSON([]uint32{99}, filters.Block{})
			require.ErrorIs(t, err, filters.ErrNoCodec)
			require.ErrorContains(t, err, "other")
		}
	})
	t.Run("L14", func(t *testing.T) {
		c := s.Method(pairs[40001]).Codec
		_, err := c.Params([]byte(`{"id":"fake"}`))
		require.ErrorIs(t, err, filters.ErrCodec)
		require.ErrorContains(t, err, "NCZ_codec_to_hdf5 returned -36")
		_, err = c.JSON(nil, filters.Block{})
		require.ErrorIs(t, err, filters.ErrNoCodec)
	})
	t.Run("P8", func(t *testing.T) {
		_, err := both.Encode(nil, block, []uint32{doZero}, filters.Block{})
		require.ErrorContains(t, err, "the filter returned 0")
		require.ErrorIs(t, err, filters.ErrParam)
		_, err = both.Decode(nil, block, []uint32{doZero}, len(block))
		require.ErrorIs(t, err, filters.ErrDamaged)
	})
	t.Run("P9", func(t *testing.T) {
		for _, n := range []int{1, 7, 4096, len(block)} {
			for what, more := range map[uint32]int{doXor: 0, doReplace: 2, doGrow: 100} {
				out, err := both.Encode([]byte("front"), block[:n], []uint32{what}, filters.Block{})
				require.NoError(t, err)
				require.Len(t, out, len("front")+n+more)
				back, err := both.Decode([]byte("front"), out[len("front"):], []uint32{what}, n)
				require.NoError(t, err)
				require.Equal(t, "front"+string(block[:n]), string(back))
				if n > 1 {
					_, err = both.Decode(nil, out[len("front"):], []uint32{what}, n-1)
					require.ErrorIs(t, err, filters.ErrDecodedSize)
				}
			}
		}
		// Blocks that the shared memory must grow for.
		large := bytes.Repeat(block, 80)
		out, err := both.Encode(nil, large, []uint32{doReplace}, filters.Block{})
		require.NoError(t, err)
		back, err := both.Decode(nil, out, []uint32{doReplace}, len(large))
		require.NoError(t, err)
		require.True(t, bytes.Equal(large, back))
	})
	t.Run("lossy", func(t *testing.T) {
		_, err := both.Encode(nil, block, []uint32{doLossy}, filters.Block{})
		require.ErrorContains(t, err, "does not restore the block exactly")
		require.ErrorIs(t, err, filters.ErrParam)
	})
	t.Run("concurrent", func(t *testing.T) {
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for range 20 {
					out, err := both.Encode(nil, block, []uint32{doReplace}, filters.Block{})
					if err == nil {
						out, err = both.Decode(nil, out, []uint32{doReplace}, len(block))
					}
					if err != nil || !bytes.Equal(out, block) {
						t.Errorf("%d bytes: %v", len(out), err)
					}
				}
			})
		}
		group.Wait()
	})
	t.Run("host", func(t *testing.T) {
		o := Options{Folders: []string{dir}, Host: in("libtext.so")}
		_, err := Open(&o)
		require.ErrorIs(t, err, ErrHost)
		require.ErrorIs(t, err, filters.ErrUnavailable)
		o.Host = "/bin/true"
		_, err = Open(&o)
		require.ErrorIs(t, err, ErrHost)
	})
}

// TestJudgeBrokenHost checks programs that do not speak as cdfz-plugin-host does.
func TestJudgeBrokenHost(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "libx.so"), nil, 0o644))
	greeting := func(version uint64) string {
		b := (&hostproto.Reply{Len: version}).Append(nil)
		path := filepath.Join(dir, strconv.FormatUint(version, 10))
		require.NoError(t, os.WriteFile(path, append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...), 0o644))
		return "cat " + path + " >&3; "
	}
	hello := greeting(hostproto.Version)
	untagged := filepath.Join(dir, "untagged")
	out, err := exec.Command("go", "build", "-o", untagged, "../../cmd/cdfz-plugin-host").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for name, c := range map[string]struct{ script, text string }{
		"length":  {`printf '\377\377\377\377' >&3`, "malformed message"},
		"content": {`printf '\3\0\0\0abc' >&3`, "malformed message"},
		"silent":  {`echo no plugins here`, "EOF (no plugins here)"},
		"tag":     {`exec ` + untagged, "EOF (cdfz-plugin-host was built without the tag plugins: "},
		"version": {greeting(7), "expected version 3, found 7"},
		"library": {hello + `printf '\3\0\0\0abc' >&3; sleep 1`, ""},
		"crash":   {hello + `kill -SEGV $$`, ""},
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+c.script+"\n"), 0o755))
		s, err := Open(&Options{Folders: []string{dir}, Host: path, Processes: 1})
		if c.text != "" {
			require.ErrorIs(t, err, ErrHost, name)
			require.ErrorContains(t, err, c.text, name)
			continue
		}
		// Past the greeting, the library is to blame.
		require.NoError(t, err, name)
		require.NotEmpty(t, s.Libraries()[0].Ignored)
		s.Close()
	}
}

// BenchmarkTransport measures what a block costs on its way to a plugin and back. The
// filter only shortens the block by 100 bytes.
func BenchmarkTransport(b *testing.B) {
	path, err := host()
	require.NoError(b, err, path)
	dir := b.TempDir()
	out, err := exec.Command("gcc", "-shared", "-fPIC", "-w", "-DFILTER=40001", "-o", filepath.Join(dir, "libx.so"), "testdata/fake.c").CombinedOutput()
	require.NoError(b, err, "%s", out)
	s, err := Open(&Options{Folders: []string{dir}, Host: path, Processes: 1})
	require.NoError(b, err)
	defer s.Close()
	session := s.Method(s.Pairs()[0]).New()
	block := make([]byte, 256<<10)
	dst := make([]byte, 0, len(block))
	b.SetBytes(int64(len(block)))
	for b.Loop() {
		if _, err := session.Decode(dst, block, []uint32{doGrow}, len(block)); err != nil {
			b.Fatal(err)
		}
	}
}
