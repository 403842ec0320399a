package main

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// writes are commands for each verb that writes files, with all its ways to make one. {a} and {b} are the
// sources a.nc and b.nc, in their folder {src}; {ar} has archives of them. {out} is a folder for targets: an
// empty name in a folder in which all may write. both tells that b is read, too. prepare has commands that
// come first, as root, with files that nobody else uses.
var writes = map[string][]struct {
	args string
	both bool
}{
	"archive": {
		{"-o {out}.cdfz {a}", false}, {"-o {out}/ {src}", true}, {"-o {out}/deep/er/ {a}", false}, {"-o {out}/ --log {out}.log --receipts {out}.receipts {src}", true},
		{"--parity 5% -o {out}.cdfz {a}", false}, {"-f -o {open}.cdfz {a}", false}, {"--decompress -o {out}.cdfz {gz}", false},
		{"--whole -o {out}/ {src}", true}, {"--whole -o {out}/ --log {out}.log --receipts {out}.receipts {src}", true},
	},
	"restore": {
		{"-o {out}.nc {ar}/a.nc.cdfz", false}, {"-o {out}/ {ar}", true}, {"-o {out}.nc {ar}/ab.ncml", true}, {"--salvage -o {out}.nc {ar}/a.nc.cdfz", false},
		{"-o {out}/ --log {out}.log {ar}", true},
	},
	"copy":   {{"{ar}/a.nc.cdfz {out}.nc", false}, {"{a} {out}.cdfz", false}, {"--preset portable {ar}/a.nc.cdfz {out}.cdfz", false}, {"--preset portable {ar} {out}/", true}},
	"verify": {{"--state {out}.state {ar}", true}, {"--log {out}.log {ar}", true}},
	"repair": {{"-o {out}.cdfz {ar}/a.nc.cdfz", false}},
	"parity": {{"-o {out}.cdfz {ar}/a.nc.cdfz", false}, {"-o {out}/ {ar}", true}},
	"catalogue": {
		{"-o {out}.parquet {ar}", true}, {"-o {out}.parquet {ar}/a.nc.cdfz", false},
	},
	"pack": {{"-o {out}/ {ar}", true}},
	"join": {{"-o {out}.ncml {ar}", true}},
	"get": {
		{"-o {out}.csv {a} v", false}, {"-o {out}.npy --format npy {ar}/a.nc.cdfz v", false}, {"-o {out}.nc --format nc {a} v", false},
		{"-o {out}.nc.cdfz --format nc {a} v", false}, {"-o {out}/ {a} v time", false}, {"-o {out}.csv {ar}/ab.ncml v", true},
	},
	"dump": {{"-o {out}.cdl {a}", false}, {"-o {out}.cdl {ar}/ab.ncml", true}},
	"export": {
		{"{ar}/a.nc.cdfz -o {out}.nc4", false}, {"{a} -o {out}.zarr", false}, {"--zarr-format 3 {ar}/a.nc.cdfz -o {out}.zarr", false}, {"{ar}/ab.ncml -o {out}.zarr", true},
		{"{ar}/ab.ncml -o {out}.nc4", true}, {"--refs json {ar}/a.nc.cdfz -o {out}.json", false}, {"--refs parquet {ar}/a.nc.cdfz -o {out}.parq", false},
		{"--refs parquet {ar}/ab.ncml -o {out}.parq", true},
	},
	"gen":   {{"-o {out}.nc {cdl}", false}, {"-o {out}.nc.cdfz {cdl}", false}},
	"bench": {{"--count 1 --blocks 64K --chains fast --csv {out}.csv --plot {out}.svg {a}", false}},
}

// writesNothing are the verbs that make no files from others.
var writesNothing = []string{"receipts", "info", "find", "mount", "run", "serve", "filters", "plugins", "codec", "doctor", "version", "man"}

// TestAccessVerbs checks that the tables name all verbs.
func TestAccessVerbs(t *testing.T) {
	for _, v := range verbs {
		_, ok := writes[v.name]
		require.True(t, ok != slices.Contains(writesNothing, v.name), "%s: must be in one of the tables writes and writesNothing", v.name)
	}
}

// Users and groups of the tests.
const (
	alice, carol, dave, erin         = 3000, 3002, 3004, 3005
	climate, named, trap, aliceGroup = 3101, 3102, 3103, 3000
)

// someone is a user who tries to read.
type someone struct {
	uid    uint32
	groups []uint32 // the first is the user's own
}

// accessReaders are those who must not read more than before.
var accessReaders = []someone{
	{65534, []uint32{65534}}, {dave, []uint32{dave}}, {dave, []uint32{dave, climate}}, {erin, []uint32{erin, climate}}, {erin, []uint32{erin, named}}, {erin, []uint32{erin, trap}},
	{erin, []uint32{erin, climate, named}}, {erin, []uint32{erin, climate, trap}}, {erin, []uint32{carol}}, {erin, []uint32{carol, climate}}, {alice, []uint32{alice}}, {erin, []uint32{0}}, {erin, []uint32{0, climate}},
	{erin, []uint32{aliceGroup}},
}

// accessRunners run cdfz.
var accessRunners = []someone{{0, []uint32{0}}, {alice, []uint32{alice, climate}}, {alice, []uint32{alice}}, {carol, []uint32{carol, climate, named}}}

// rules are an ACL. Rules without an id have 0.
type rules []struct {
	tag, perm uint16
	id        uint32
}

func (l rules) set(t *testing.T, path, attr string) {
	t.Helper()
	b := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range l {
		if e.id == 0 {
			e.id = 1<<32 - 1
		}
		b = binary.LittleEndian.AppendUint16(b, e.tag)
		b = binary.LittleEndian.AppendUint16(b, e.perm)
		b = binary.LittleEndian.AppendUint32(b, e.id)
	}
	require.NoError(t, unix.Setxattr(path, attr, b, 0))
}

// secret is what a source is kept secret with.
type secret struct {
	mode, folder fs.FileMode
	acl, dirACL  rules
	other        fs.FileMode // of b, if it differs
}

var secrets = map[string]secret{
	"0600": {mode: 0o600}, "0640": {mode: 0o640}, "0604": {mode: 0o604}, "0644": {mode: 0o644}, "0444": {mode: 0o444},
	// The bits of the group are those of the mask.
	"list":              {acl: rules{{1, 6, 0}, {2, 4, dave}, {2, 4, carol}, {4, 0, 0}, {8, 4, named}, {0x10, 4, 0}, {0x20, 0, 0}}},
	"list that forbids": {acl: rules{{1, 6, 0}, {2, 0, dave}, {4, 4, 0}, {8, 0, named}, {0x10, 4, 0}, {0x20, 4, 0}}},
	"folder 0700":       {mode: 0o644, folder: 0o700},
	"folder 0500":       {mode: 0o644, folder: 0o500},
	"folder 0750":       {mode: 0o644, folder: 0o750},
	"folder with list":  {mode: 0o644, dirACL: rules{{1, 7, 0}, {2, 5, carol}, {4, 0, 0}, {0x10, 5, 0}, {0x20, 0, 0}}},
	"several":           {mode: 0o640, other: 0o604},
}

// give sets owner, mode and ACL.
func (s *secret) give(t *testing.T, path string, mode fs.FileMode) {
	require.NoError(t, os.Chown(path, alice, climate))
	require.NoError(t, os.Chmod(path, mode))
	if s.acl != nil {
		s.acl.set(t, path, "system.posix_acl_access")
	}
}

// TestAccess runs all verbs on secret sources, and lets others try to read what they have written.
func TestAccess(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be other users")
	}
	base := openTemp(t)
	w := &accessWorld{t: t, base: base, cdfz: filepath.Join(base, "bin", "cdfz")}
	w.make()
	for i, name := range slices.Sorted(maps.Keys(secrets)) {
		t.Run(name, func(t *testing.T) {
			s := secrets[name]
			if testing.Short() && name != "list" && name != "folder 0700" {
				t.Skip("a sample")
			}
			w.t = t
			w.secret(&s)
			w.shared = 0
			for n, who := range accessRunners {
				for _, umask := range []string{"000", "077"} {
					switch {
					case (n > 0 || i > 0 || testing.Short()) && umask == "077":
						continue // modes are copied without it
					case n > 0 && (i+n)%(len(accessRunners)-1) != 0 && os.Getenv("CDFZ_SOAK") == "":
						continue
					}
					w.run(&s, who, umask)
				}
			}
			// Who may read the sources can read what is made from them, if that can be said of the files.
			if s.folder == 0 {
				require.NotZero(t, w.shared)
			}
		})
	}
}

// openTemp returns a folder that all may use.
func openTemp(t *testing.T) string {
	base, err := os.MkdirTemp("", "cdfz-access-*")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	require.NoError(t, os.Chmod(base, 0o755))
	return base
}

type accessWorld struct {
	t          *testing.T
	base, cdfz string
	n          int // of commands
	turns      int // of users
	shared     int // files that other users can read, as they can read the sources
}

func (w *accessWorld) path(name string) string { return filepath.Join(w.base, name) }

// as returns a command of a user.
func (w *accessWorld) as(who someone, umask string, args ...string) *exec.Cmd {
	cmd := exec.Command("/bin/sh", append([]string{"-c", `umask ` + umask + `; exec "$@"`, "sh"}, args...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: who.uid, Gid: who.groups[0], Groups: who.groups[1:]}}
	cmd.Dir = w.base
	cmd.Env = []string{"TMPDIR=" + w.path("tmp"), "HOME=" + w.base, "PATH=/usr/bin:/bin"}
	return cmd
}

// make makes the program, the sources and the folder of targets.
func (w *accessWorld) make() {
	t := w.t
	for _, dir := range []string{"bin", "keep", "tmp", "to"} {
		require.NoError(t, os.Mkdir(w.path(dir), 0o755))
	}
	require.NoError(t, os.Chmod(w.path("tmp"), 0o1777))
	self, err := os.Executable()
	require.NoError(t, err)
	b, err := os.ReadFile(self)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(w.cdfz, b, 0o755))
	require.NoError(t, os.Chmod(w.cdfz, 0o755))
	for n, name := range []string{"a", "b"} {
		cdl := fmt.Sprintf("netcdf x { dimensions: time = UNLIMITED; x = 3; variables: double time(time); float v(time, x); data: time = %d, %d; v = 1,2,3,4,5,6; }", 2*n, 2*n+1)
		require.NoError(t, os.WriteFile(w.path("keep/"+name+".cdl"), []byte(cdl), 0o644))
	}
	root := someone{0, []uint32{0}}
	for _, args := range []string{
		"gen -o keep/a.nc keep/a.cdl", "gen -o keep/b.nc keep/b.cdl", "archive --parity 0 -o keep/a.nc.cdfz keep/a.nc", "archive -o keep/b.nc.cdfz keep/b.nc",
	} {
		out, err := w.as(root, "022", append([]string{w.cdfz}, strings.Fields(args)...)...).CombinedOutput()
		require.NoError(t, err, "%s: %s", args, out)
	}
	out, err := exec.Command("gzip", "-k", w.path("keep/a.nc")).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// secret makes the sources.
func (w *accessWorld) secret(s *secret) {
	t := w.t
	for _, dir := range []string{"src", "ar"} {
		require.NoError(t, os.RemoveAll(w.path(dir)))
		require.NoError(t, os.Mkdir(w.path(dir), 0o755))
	}
	place := func(from, to string) {
		b, err := os.ReadFile(w.path("keep/" + from))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(w.path(to), b, 0o600))
		mode := s.mode
		if s.other != 0 && strings.HasPrefix(from, "b") {
			mode = s.other
		}
		s.give(t, w.path(to), mode)
	}
	for _, name := range []string{"a", "b"} {
		place(name+".nc", "src/"+name+".nc")
		place(name+".nc.cdfz", "ar/"+name+".nc.cdfz")
	}
	place("a.cdl", "src/x.cdl")
	place("a.nc.gz", "src/z.nc.gz")
	// A description that all may read: its members are not.
	ncml := `<netcdf xmlns="http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2"><aggregation type="joinExisting" dimName="time">` +
		`<netcdf location="a.nc.cdfz"/><netcdf location="b.nc.cdfz"/></aggregation></netcdf>`
	require.NoError(t, os.WriteFile(w.path("ar/ab.ncml"), []byte(ncml), 0o644))
	require.NoError(t, os.Chown(w.path("ar/ab.ncml"), alice, climate))
	for _, dir := range []string{"src", "ar"} {
		require.NoError(t, os.Chown(w.path(dir), alice, climate))
		if s.folder != 0 {
			require.NoError(t, os.Chmod(w.path(dir), s.folder))
		}
		if s.dirACL != nil {
			s.dirACL.set(t, w.path(dir), "system.posix_acl_access")
		}
	}
}

// run runs all verbs as a user.
func (w *accessWorld) run(s *secret, who someone, umask string) {
	t := w.t
	w.turns++
	may := map[string][]bool{}
	for _, name := range []string{"a", "b"} {
		// What all files of this name have in common.
		for _, r := range accessReaders {
			may[name] = append(may[name], w.canRead(r, w.path("src/"+name+".nc")) != nil)
		}
	}
	if len(w.canRead(who, w.path("src/a.nc"), w.path("src/b.nc"))) < 2 {
		return
	}
	for _, verb := range verbs {
		for i, c := range writes[verb.name] {
			// Each way to make files has every second turn, except the first one of a verb.
			if i > 0 && (i+w.turns)%2 == 0 && os.Getenv("CDFZ_SOAK") == "" {
				continue
			}
			w.n++
			to := w.path(fmt.Sprintf("to/%d", w.n))
			require.NoError(t, os.Mkdir(to, 0o777))
			require.NoError(t, os.Chown(to, 0, trap))
			require.NoError(t, os.Chmod(to, 0o777|fs.ModeSetgid))
			if w.n%2 == 0 { // what a file inherits must not count
				l := rules{{1, 7, 0}, {2, 7, dave}, {4, 7, 0}, {8, 7, named}, {0x10, 7, 0}, {0x20, 7, 0}}
				l.set(t, to, "system.posix_acl_default")
			}
			open := filepath.Join(to, "open")
			if strings.Contains(c.args, "{open}") {
				require.NoError(t, os.WriteFile(open+".cdfz", nil, 0o666))
				require.NoError(t, os.Chown(open+".cdfz", int(who.uid), int(who.groups[0])))
			}
			args := []string{w.cdfz, verb.name}
			r := strings.NewReplacer("{a}", w.path("src/a.nc"), "{src}", w.path("src"), "{ar}", w.path("ar"), "{out}", filepath.Join(to, "t"), "{open}", open,
				"{gz}", w.path("src/z.nc.gz"), "{cdl}", w.path("src/x.cdl"))
			for _, arg := range strings.Fields(c.args) {
				args = append(args, r.Replace(arg))
			}
			what := fmt.Sprintf("user %d with groups %d, umask %s, cdfz %s %s", who.uid, who.groups, umask, verb.name, c.args)
			out, err := w.as(who, umask, args...).CombinedOutput()
			require.NoError(t, err, "%s: %s", what, out)
			var made []string
			require.NoError(t, filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					made = append(made, path)
				}
				return err
			}))
			require.NotEmpty(t, made, what)
			for i, reader := range accessReaders {
				for _, path := range w.canRead(reader, made...) {
					fromA, fromB := true, c.both
					// Of one of both: x.cdl and z.nc.gz have the rights of a.
					if first := (filepath.Base(path) + " ")[:2]; c.both && slices.Contains([]string{"a.", "b.", "x.", "z."}, first) {
						fromA, fromB = first != "b.", first == "b."
					}
					if (may["a"][i] || !fromA) && (may["b"][i] || !fromB) {
						w.shared++
						continue
					}
					if reader.uid == who.uid || s.folder == 0 && s.dirACL == nil && reader.uid == alice {
						continue // the owner of the new file, or of the source
					}
					st, err := os.Stat(path)
					require.NoError(t, err)
					own := st.Sys().(*syscall.Stat_t)
					t.Errorf("%s: user %d with groups %d can read %s: %v %d:%d", what, reader.uid, reader.groups, strings.TrimPrefix(path, to), st.Mode(), own.Uid, own.Gid)
				}
			}
			left, err := os.ReadDir(w.path("tmp"))
			require.NoError(t, err)
			require.Empty(t, left, what)
			require.NoError(t, os.RemoveAll(to))
		}
	}
}

// canRead returns the files that a user can read.
func (w *accessWorld) canRead(who someone, paths ...string) (can []string) {
	done := make(chan error, 1)
	go func() {
		// Do not unlock: the thread ends with the goroutine, and no other has these rights.
		runtime.LockOSThread()
		groups := who.groups[1:]
		_, _, no := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(unsafe.Pointer(unsafe.SliceData(groups))), 0)
		if no != 0 {
			done <- no
			return
		}
		_, err := unix.SetfsgidRetGid(int(who.groups[0]))
		if err == nil {
			_, err = unix.SetfsuidRetUid(int(who.uid))
		}
		for _, path := range paths {
			if fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
				unix.Close(fd)
				can = append(can, path)
			}
		}
		done <- err
	}()
	require.NoError(w.t, <-done)
	return can
}

// TestAccessAgain archives read-only folders twice as a user other than root: the second run adds a file.
func TestAccessAgain(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be other users")
	}
	w := &accessWorld{t: t, base: openTemp(t)}
	w.cdfz = filepath.Join(w.base, "bin", "cdfz")
	w.make()
	data, out := w.path("readonly"), w.path("again")
	who := someone{uid: 2001, groups: []uint32{2001}}
	image := readFile(t, w.path("keep/a.nc"))
	for n, mode := range []fs.FileMode{0o500, 0o555} {
		require.NoError(t, os.MkdirAll(filepath.Join(data, "in"), 0o755))
		require.NoError(t, os.Chmod(filepath.Join(data, "in"), 0o755))
		name := filepath.Join(data, "in", fmt.Sprint(n, ".nc"))
		require.NoError(t, os.WriteFile(name, image, 0o644))
		require.NoError(t, os.MkdirAll(out, 0o755))
		for _, path := range []string{name, filepath.Join(data, "in"), data, out} {
			require.NoError(t, os.Chown(path, int(who.uid), int(who.groups[0])))
		}
		require.NoError(t, os.Chmod(filepath.Join(data, "in"), mode))
		text, err := w.as(who, "022", w.cdfz, "archive", "-q", "-o", out+"/", data).CombinedOutput()
		require.NoError(t, err, "%s", text)
		require.FileExists(t, filepath.Join(out, "in", fmt.Sprint(n, ".nc.cdfz")))
	}
	st, err := os.Stat(filepath.Join(out, "in"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o700), st.Mode().Perm(), "as the folder was when it was made, but for its owner")
}
