//go:build judge && linux

package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// runUser is a user without rights, with a second group.
const runUser, runGroup = 54321, 54322

// runner runs cdfz run in a folder that has archives.
type runner struct {
	t        *testing.T
	dir      string
	prefix   []string // of the command line: the program itself, or what makes another user
	archives map[string][]byte
}

// runners calls a test as the present user, and if that is root, as a user without rights. These
// tests need /dev/fuse and, unless the user is root, user namespaces. files are archived in
// the working folder.
func runners(t *testing.T, files map[string][]byte, test func(*testing.T, *runner)) {
	exe, err := os.Executable()
	require.NoError(t, err)
	users := []string{"self"}
	if os.Getuid() == 0 {
		users = append(users, "other")
	}
	for _, user := range users {
		t.Run(user, func(t *testing.T) {
			top, err := os.MkdirTemp("/tmp", "cdfz-run-")
			require.NoError(t, err)
			t.Cleanup(func() { os.RemoveAll(top) })
			require.NoError(t, os.Chmod(top, 0o755))
			r := &runner{t: t, dir: filepath.Join(top, "data"), archives: map[string][]byte{}}
			require.NoError(t, os.Mkdir(r.dir, 0o755))
			program := filepath.Join(top, "cdfz")
			b, err := os.ReadFile(exe)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(program, b, 0o755))
			for name, image := range files {
				name = filepath.Join(r.dir, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
				require.NoError(t, os.WriteFile(name, image, 0o644))
				require.NoError(t, os.Chtimes(name, time.Time{}, time.Unix(1e9, 123456789)))
				out, err := exec.Command(program, "archive", "-q", name).CombinedOutput()
				require.NoError(t, err, string(out))
				require.NoError(t, os.Remove(name))
				if r.archives[name+".cdfz"], err = os.ReadFile(name + ".cdfz"); err != nil {
					t.Fatal(err)
				}
			}
			r.prefix = []string{program}
			if user == "other" {
				require.NoError(t, filepath.Walk(r.dir, func(name string, _ os.FileInfo, err error) error {
					return errors.Join(err, os.Chown(name, runUser, runUser))
				}))
				// /dev/fuse is open to all on most systems.
				node := filepath.Join(top, "fuse")
				require.NoError(t, syscall.Mknod(node, syscall.S_IFCHR|0o666, 10<<8|229))
				require.NoError(t, os.Chmod(node, 0o666))
				setup := fmt.Sprintf(`mount --bind %s /dev/fuse && exec setpriv --reuid %d --regid %d --groups %d,%d "$@"`, node, runUser, runUser, runUser, runGroup)
				r.prefix = []string{"unshare", "-m", "sh", "-c", setup, "sh", program}
			}
			test(t, r)
			for name, want := range r.archives {
				got, err := os.ReadFile(name)
				require.NoError(t, err)
				require.True(t, bytes.Equal(want, got), name)
			}
		})
	}
}

// command makes a command line that runs a command in the folder.
func (r *runner) command(args ...string) *exec.Cmd {
	args = append(append(slices.Clone(r.prefix), "run"), args...)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "HOME="+r.dir, "LC_ALL=C.UTF-8")
	return cmd
}

// run runs a script in the folder and returns what it prints and its exit code.
func (r *runner) run(script string) (string, int) {
	r.t.Helper()
	return r.ends(r.command("--", "bash", "-c", script))
}

// ends runs a command.
func (r *runner) ends(cmd *exec.Cmd) (string, int) {
	r.t.Helper()
	out, err := cmd.CombinedOutput()
	var e *exec.ExitError
	if err != nil && !errors.As(err, &e) {
		r.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestJudgeRun compares what a command sees with the originals.
func TestJudgeRun(t *testing.T) {
	files := classicSet(t)
	runners(t, files, func(t *testing.T, r *runner) {
		var sums strings.Builder
		for _, name := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(files[name]), name)
		}
		out, code := r.run(`find . -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum`)
		require.Zero(t, code, out)
		require.Equal(t, sums.String(), out)
		out, code = r.run(`find . -type f ! -newermt @1000000001 -newermt @1000000000 | wc -l; find . -name '*.cdfz'`)
		require.Zero(t, code, out)
		require.Equal(t, fmt.Sprintf("%d\n", len(files)), out)
		out, code = r.ends(r.command("--with-archives", "--cache=1M", "-j2", "find", ".", "-name", "*.cdfz"))
		require.Zero(t, code, out)
		require.Equal(t, len(files), strings.Count(out, ".nc.cdfz\n"), out)
	})
}

// programs read originals and write files beside them.
const programs = `
set -e
export HDF5_USE_FILE_LOCKING=BEST_EFFORT
cdo -s --no_history -selname,orog,landmask a.nc cdo.nc 2>/dev/null
cdo -s infon cdo.nc
ncks -h -O -v orog a.nc ncks.nc
ncks -h -A -v landmask a.nc ncks.nc
ncatted -h -O -a note,global,c,c,text ncks.nc
ncrcat -h a.nc b.nc ncrcat.nc
nccopy -k nc4 a.nc nccopy.nc4
mkdir sub
cp -a a.nc sub/copy.nc
cmp a.nc sub/copy.nc
/usr/bin/python3 - <<'END'
import netCDF4, numpy
with netCDF4.Dataset("a.nc") as a, netCDF4.Dataset("python.nc4", "w") as out:
    x = a["orog"][:]
    out.createDimension("n", x.size)
    out.createVariable("v", "f8", ("n",))[:] = x.ravel()
with netCDF4.Dataset("python.nc4", "a") as out:
    out["v"][0] = 5
    print(out["v"][:3])
END
for f in cdo.nc ncks.nc ncrcat.nc nccopy.nc4 sub/copy.nc python.nc4; do ncdump $f | sed '/NCO\|CDO/d'; done
find . -name '*.nc*' -printf '%P %s\n' | grep -v cdfz | LC_ALL=C sort
`

// TestJudgeRunPrograms runs the programs of scientists with the originals and with their archives.
func TestJudgeRunPrograms(t *testing.T) {
	image := climateImage(t)
	plain := t.TempDir()
	for _, name := range []string{"a.nc", "b.nc"} {
		require.NoError(t, os.WriteFile(filepath.Join(plain, name), image, 0o644))
	}
	cmd := exec.Command("bash", "-c", programs)
	cmd.Dir = plain
	want, err := cmd.CombinedOutput()
	require.NoError(t, err, string(want))
	require.Contains(t, string(want), "sub/copy.nc")
	runners(t, map[string][]byte{"a.nc": image, "b.nc": image}, func(t *testing.T, r *runner) {
		got, code := r.run(programs)
		require.Zero(t, code, got)
		require.Equal(t, string(want), got)
	})
}

// TestJudgeRunJoined shows joined files as one, which CDO reads and nobody can change.
func TestJudgeRunJoined(t *testing.T) {
	image := climateImage(t)
	runners(t, map[string][]byte{"a.nc": image, "b.nc": image}, func(t *testing.T, r *runner) {
		program, target := r.prefix[len(r.prefix)-1], filepath.Join(r.dir, "all.ncml")
		out, err := exec.Command(program, "join", "-q", "--new", "run", "-o", target, filepath.Join(r.dir, "a.nc.cdfz"), filepath.Join(r.dir, "b.nc.cdfz")).CombinedOutput()
		require.NoError(t, err, string(out))
		out, err = exec.Command(program, "restore", "-q", "-o", filepath.Join(r.dir, "plain"), target).CombinedOutput()
		require.NoError(t, err, string(out))
		got, code := r.run("ls; cmp plain all.nc; cdo -s ngrids all.nc 2>/dev/null; rm -f all.nc 2>&1; touch all.ncml 2>&1")
		require.Equal(t, 1, code)
		require.Equal(t, "a.nc\nall.nc\nb.nc\nplain\n"+"4\n"+
			"rm: cannot remove 'all.nc': Read-only file system\ntouch: cannot touch 'all.ncml': Read-only file system\n", got)
	})
}

// changes makes, changes and deletes files in many ways.
const changes = `
exec 2>&1
umask 027
echo one >f; echo two >>f; cat f; printf x | dd of=f bs=1 seek=2 conv=notrunc status=none; cat f
mkdir -p d/e; (umask 0; mkdir d/open; echo >d/open/f); mv f d/e/g; mv d/e d/h; cat d/h/g
ln d/h/g hard; ln -s d/h/g soft; ln -s nowhere lost; mkfifo pipe; echo three >>soft; cat hard; stat -c '%h %F' hard soft lost pipe
chmod 600 hard; stat -c %a d/h/g; touch -d @1000000000.5 hard; touch -h -d @1000000001 soft; stat -c %.Y d/h/g soft
truncate -s 100000 hard; stat -c %s d/h/g; truncate -s 3 d/h/g; cat hard; echo
rm soft; rmdir d; rm -r d/open; mv -n hard d/h/g; mv -T d/h/g hard; ls -R d
echo keep >name; exec 5<>name; rm name; echo more >&5; cat /dev/fd/5; exec 5>&-
cat <pipe & echo through >pipe; wait $!
cp /bin/true prog; ./prog; echo $?; printf 'echo script $1\n' >noshebang; chmod +x noshebang; env ./noshebang 1
for i in 1 2 3 4; do for j in $(seq 25); do echo $i $j >>log; done & done; wait; sort -u log | wc -l; rm log
: >lock; (flock 9; sleep 0.1; echo first) 9<lock & sleep 0.05; (flock 9; echo second) 9<lock; wait; flock -n lock echo third
dd if=/dev/zero of=big bs=1M count=3 status=none; sync big; cksum big; fallocate -p -o 0 -l 1048576 big; cksum big; dd if=big of=part iflag=direct bs=4096 count=2 status=none; cksum part
/usr/bin/python3 -c '
import mmap, os
f = open("mapped", "w+b"); f.truncate(9000)
m = mmap.mmap(f.fileno(), 9000); m[4094:4099] = b"hello"; m.flush(); f.seek(4094); print(f.read(5)); m[0:1] = b"z"
os.fsync(os.open(".", os.O_RDONLY))'
head -c 1 mapped; echo
git init -q .; git config user.name n; git config user.email e; git add big; git -c core.fsync=all commit -q -m m; git status --short --untracked-files=no; git log --format=%s; rm -rf .git/hooks; git fsck
echo a >a; echo b >b; mv --exchange a b 2>/dev/null || { mv a c; mv b a; mv c b; }; cat a b
test -w a && test -r a && test -x prog && ! test -x a && echo access
`

// TestJudgeRunChanges makes the same changes in a folder and in one that cdfz run shows.
func TestJudgeRunChanges(t *testing.T) {
	const list = `find . -name .git -prune -o ! -name '*.cdfz' ! -name . -printf '%P %y %m %n %l' \( -type f -printf ' %s' \) -printf '\n' | LC_ALL=C sort; find . -name .git -prune -o -type f ! -name '*.cdfz' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum`
	runners(t, map[string][]byte{"a.nc": climateImage(t)}, func(t *testing.T, r *runner) {
		plain := &runner{t: t, dir: filepath.Join(filepath.Dir(r.dir), "plain")}
		require.NoError(t, os.Mkdir(plain.dir, 0o755))
		cmd := append(slices.Clone(r.prefix[:len(r.prefix)-1]), "bash", "-c", changes)
		if len(r.prefix) > 1 {
			require.NoError(t, os.Chown(plain.dir, runUser, runUser))
		}
		before := exec.Command(cmd[0], cmd[1:]...)
		before.Dir, before.Env = plain.dir, append(os.Environ(), "HOME="+plain.dir, "LC_ALL=C.UTF-8")
		want, code := plain.ends(before)
		require.Zero(t, code, want)
		got, code := r.run(changes)
		require.Zero(t, code, got)
		require.Equal(t, strings.ReplaceAll(want, plain.dir, r.dir), got)
		require.Equal(t, output(plain.dir, "bash", "-c", list), output(r.dir, "bash", "-c", list))
	})
}

// TestJudgeRunOriginals tries to change originals and archives that are not shown. runners checks that
// the archives stay as they are.
func TestJudgeRunOriginals(t *testing.T) {
	runners(t, map[string][]byte{"a.nc": climateImage(t), "d/b.nc": climateImage(t)}, func(t *testing.T, r *runner) {
		var script strings.Builder
		lines := []string{
			"echo >a.nc", "echo >>a.nc", "rm -f a.nc", "rm -rf d", "mv a.nc c.nc", "cp /etc/passwd a.nc", "mv -f x a.nc", "ln a.nc c.nc", "chmod 777 a.nc", "touch a.nc",
			"truncate -s 0 a.nc", "truncate -s 0 d/b.nc", "ncatted -h -a note,global,c,c,text a.nc", "ncks -h -O -v orog a.nc a.nc", "echo >a.nc.cdfz", "mv -f x a.nc.cdfz",
			"ln -f x a.nc.cdfz", "mkdir a.nc.cdfz", "dd if=x of=a.nc conv=notrunc", "test -w a.nc || { echo Read-only file system >&2; false; }",
		}
		for _, line := range lines {
			// Messages name the reason, and the command fails.
			fmt.Fprintf(&script, "echo x >x; if out=$({ %s; } 2>&1); then echo %q succeeds; elif [[ $out != *'Read-only file system'* ]]; then echo %q: \"$out\"; fi\n", line, line, line)
		}
		out, code := r.run(script.String())
		require.Zero(t, code)
		require.Empty(t, out)
	})
}

// TestJudgeRunGroups writes in a folder that belongs to another user and to a group of this user, as
// folders of projects do.
func TestJudgeRunGroups(t *testing.T) {
	runners(t, map[string][]byte{"p/a.nc": climateImage(t)}, func(t *testing.T, r *runner) {
		project := filepath.Join(r.dir, "p")
		if len(r.prefix) > 1 {
			require.NoError(t, os.Chown(project, 0, runGroup))
			require.NoError(t, os.Chown(filepath.Join(project, "a.nc.cdfz"), 0, runGroup))
			require.NoError(t, os.Chmod(project, os.ModeSetgid|0o2775))
		}
		out, code := r.run(`set -e; cmp p/a.nc p/a.nc; mkdir p/d; echo text >p/d/f; cp -a p/a.nc p/copy.nc; rm p/d/f; touch p/d; ls p; chgrp $(id -g) p/copy.nc`)
		require.Zero(t, code, out)
		require.Equal(t, "a.nc\ncopy.nc\nd\n", out)
		if len(r.prefix) > 1 {
			st, err := os.Stat(filepath.Join(project, "d"))
			require.NoError(t, err)
			require.EqualValues(t, runGroup, st.Sys().(*syscall.Stat_t).Gid)
		}
	})
}

// TestJudgeRunLikeOutside checks exit codes, streams, files that the caller has opened, environment,
// user, limits and the working folder.
func TestJudgeRunLikeOutside(t *testing.T) {
	runners(t, map[string][]byte{"a.nc": climateImage(t), "d/b.nc": climateImage(t)}, func(t *testing.T, r *runner) {
		require.NoError(t, os.Symlink("d", filepath.Join(r.dir, "link")))
		for script, want := range map[string]int{
			"exit 0": 0, "exit 3": 3, "exit 255": 255, "kill -TERM $$": 128 + 15, "kill -KILL $$": 128 + 9, "kill -PIPE $$": 128 + 13,
		} {
			out, code := r.run(script)
			require.Equal(t, want, code, script)
			require.Empty(t, out)
		}
		for name, want := range map[string]struct {
			code int
			text string
		}{
			"no-such-command": {127, "executable file not found in $PATH"}, "./none": {127, "no such file or directory"},
			"./a.nc": {126, "permission denied"}, "./d": {126, "is a directory"},
		} {
			out, code := r.ends(r.command(name, "--flag"))
			require.Equal(t, want.code, code)
			require.Equal(t, "cdfz: "+name+": "+want.text+"\n", out)
		}
		out, code := r.run("yes 2>&1 | head -1; exit ${PIPESTATUS[0]}")
		require.Equal(t, 128+13, code)
		require.Equal(t, "y\n", out)

		// The same script with and without cdfz run.
		const same = `cd "$1"; id -u; id -g; pwd; env | grep -v '^_=' | sort; ulimit -n -u; umask; cat; cat <&3; echo "$@"; grep -E 'Sig(Blk|Ign)|CapEff' /proc/self/status`
		file := filepath.Join(filepath.Dir(r.dir), "three")
		require.NoError(t, os.WriteFile(file, []byte("three\n"), 0o644))
		compare := func(cmd []string, dir string) (string, int) {
			c := exec.Command(cmd[0], cmd[1:]...)
			f, err := os.Open(file)
			require.NoError(t, err)
			defer f.Close()
			c.Dir, c.Stdin, c.ExtraFiles, c.Env = dir, strings.NewReader("input\n"), []*os.File{f}, append(os.Environ(), "PWD="+dir)
			return r.ends(c)
		}
		script := []string{"bash", "-c", same, "bash", ".", "-x", "--", ""}
		for _, dir := range []string{r.dir, filepath.Join(r.dir, "link"), "/"} {
			want, wantCode := compare(append(slices.Clone(r.prefix[:len(r.prefix)-1]), script...), dir)
			got, code := compare(append(append(slices.Clone(r.prefix), "run", "--folder", r.dir), script...), dir)
			require.Equal(t, want, got)
			require.Equal(t, wantCode, code)
		}

		// A working folder that is a link, and folders elsewhere, also one inside another one.
		cmd := r.command("ls")
		cmd.Dir = filepath.Join(r.dir, "link")
		cmd.Env = append(os.Environ(), "PWD="+cmd.Dir)
		out, code = r.ends(cmd)
		require.Zero(t, code, out)
		require.Equal(t, "b.nc\n", out)
		cmd = r.command("--folder", "d", "--folder", r.dir+"/link", "ls", ".", "d")
		out, code = r.ends(cmd)
		require.Zero(t, code, out)
		require.Equal(t, ".:\na.nc.cdfz\nd\nlink\n\nd:\nb.nc\n", out)
	})
}

// TestJudgeRunTogether nests runs, and lets several write to one file at a time.
func TestJudgeRunTogether(t *testing.T) {
	image := climateImage(t)
	runners(t, map[string][]byte{"a.nc": image, "d/b.nc": image}, func(t *testing.T, r *runner) {
		program := r.prefix[len(r.prefix)-1]
		want := fmt.Sprintf("%x  a.nc\n%[1]x  d/b.nc\n", sha256.Sum256(image))
		out, code := r.ends(r.command("--folder", "d", program, "run", program, "run", "sh", "-c", "sha256sum a.nc d/b.nc; echo inner >x; exit 5"))
		require.Equal(t, want, out)
		require.Equal(t, 5, code)
		b, err := os.ReadFile(filepath.Join(r.dir, "x"))
		require.NoError(t, err)
		require.Equal(t, "inner\n", string(b))

		// Each adds 1 to a number, with a lock.
		add := "flock lock sh -c 'n=$(cat number); sha256sum a.nc >/dev/null; echo $((n+1)) >number'"
		for name, text := range map[string]string{"number": "0\n", "lock": ""} {
			require.NoError(t, os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o666))
			require.NoError(t, os.Chmod(filepath.Join(r.dir, name), 0o666))
		}
		var all []*exec.Cmd
		for range 8 {
			cmd := r.command("sh", "-c", add+"; "+add)
			require.NoError(t, cmd.Start())
			all = append(all, cmd)
		}
		for _, cmd := range all {
			require.NoError(t, cmd.Wait())
		}
		b, err = os.ReadFile(filepath.Join(r.dir, "number"))
		require.NoError(t, err)
		require.Equal(t, "16\n", string(b))
	})
}

// processes returns the processes that were started by a runner, by their role.
func (r *runner) processes() map[string]int {
	found := map[string]int{}
	all, err := filepath.Glob("/proc/[0-9]*")
	require.NoError(r.t, err)
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }) // parents first
	for _, dir := range all {
		b, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		pid, _ := strconv.Atoi(filepath.Base(dir))
		line := strings.ReplaceAll(string(b), "\x00", " ")
		if err != nil || !strings.Contains(line, filepath.Base(filepath.Dir(r.dir))) {
			continue
		}
		switch {
		case strings.Contains(line, "--role=server"):
			found["server"] = pid
		case strings.Contains(line, "--role=command"):
		case strings.HasPrefix(line, r.prefix[len(r.prefix)-1]):
			found["first"] = pid
		default:
			// A process that a shell has just forked has the same command line.
			status, _ := os.ReadFile(filepath.Join(dir, "status"))
			if strings.Contains(string(status), fmt.Sprintf("\nPPid:\t%d\n", found["first"])) {
				found["command"] = pid
			} else {
				found["other"] = pid
			}
		}
	}
	return found
}

// gone waits until no process is left.
func (r *runner) gone() {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return len(r.processes()) == 0 }, 20*time.Second, 10*time.Millisecond, "left: %v", r.processes())
}

// waiting starts a command that prints a line and waits. It returns when the line is there.
func (r *runner) waiting(script string) (cmd *exec.Cmd, rest func() string) {
	r.t.Helper()
	cmd = r.command("--", "bash", "-c", script, "marker-"+filepath.Base(filepath.Dir(r.dir)))
	from, to, err := os.Pipe()
	require.NoError(r.t, err)
	cmd.Stdout, cmd.Stderr = to, to
	require.NoError(r.t, cmd.Start())
	to.Close()
	ready := make([]byte, len("ready\n"))
	_, err = io.ReadFull(from, ready)
	require.NoError(r.t, err)
	require.Equal(r.t, "ready\n", string(ready))
	return cmd, func() string {
		b, err := io.ReadAll(from)
		require.NoError(r.t, err)
		from.Close()
		return string(b)
	}
}

// TestJudgeRunSignals sends signals to the first process.
func TestJudgeRunSignals(t *testing.T) {
	// Below nohup, what the test starts would ignore SIGHUP.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	runners(t, map[string][]byte{"a.nc": climateImage(t)}, func(t *testing.T, r *runner) {
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGQUIT} {
			cmd, rest := r.waiting(fmt.Sprintf(`trap 'echo caught; sha256sum a.nc >/dev/null && exit 9' %d; echo ready; while :; do sleep 0.01; done`, s))
			require.NoError(t, cmd.Process.Signal(s))
			require.Error(t, cmd.Wait())
			require.Equal(t, 9, cmd.ProcessState.ExitCode(), s)
			require.Equal(t, "caught\n", rest())
			r.gone()
		}
		cmd, rest := r.waiting(`echo ready; exec sleep 100 # until SIGTERM`)
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.Error(t, cmd.Wait())
		require.Equal(t, 128+15, cmd.ProcessState.ExitCode())
		require.Empty(t, rest())
	})
}

// TestJudgeRunTerminal presses keys in a terminal. The command gets each signal once, and the terminal stops and
// continues all processes together.
func TestJudgeRunTerminal(t *testing.T) {
	const terminal = `
import os, pty, signal, sys, time
leader, tty = pty.fork()
if leader == 0: # as a shell that starts a job
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execvp(sys.argv[1], sys.argv[1:])
    assert os.WIFSTOPPED(os.waitpid(job, os.WUNTRACED)[1])
    os.killpg(job, signal.SIGCONT)
    os.kill(job, signal.SIGUSR1)
    os._exit(os.WEXITSTATUS(os.waitpid(job, 0)[1]))
seen = b""
def until(text):
    global seen
    while text not in seen:
        seen += os.read(tty, 1000)
    seen = seen.split(text, 1)[1]
until(b"ready")
os.write(tty, b"\x03") # SIGINT
until(b"caught 1")
time.sleep(0.2)
os.write(tty, b"\x1a") # SIGTSTP
until(b"sum 1 ")
os.write(tty, b"\x1c") # SIGQUIT
until(b"quit")
print(os.WEXITSTATUS(os.waitpid(leader, 0)[1]))
`
	const script = `n=0; trap 'n=$((n+1)); echo caught $n' INT; trap 'echo sum $n $(cksum <a.nc)' USR1; trap 'echo quit; exit 7' QUIT; echo ready; while :; do sleep 0.01; done`
	runners(t, map[string][]byte{"a.nc": climateImage(t)}, func(t *testing.T, r *runner) {
		cmd := r.command("--", "bash", "-c", script)
		cmd.Path, cmd.Args = "/usr/bin/python3", append([]string{"python3", "-c", terminal}, cmd.Args...)
		out, code := r.ends(cmd)
		require.Zero(t, code, out)
		require.Equal(t, "7\n", out)
		r.gone()
	})
}

// TestJudgeRunKilled kills each of the processes. Nothing is left, and the folder is as before.
func TestJudgeRunKilled(t *testing.T) {
	runners(t, map[string][]byte{"a.nc": climateImage(t)}, func(t *testing.T, r *runner) {
		for _, who := range []string{"first", "command", "server"} {
			cmd, rest := r.waiting(`exec 4<a.nc; echo ready; while test -e a.nc; do sleep 0.01; done; cat a.nc 2>&1 | head -c 100 | grep -o 'Transport endpoint.*'; exit 4`)
			pid := r.processes()[who]
			require.Positive(t, pid, who)
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
			err := cmd.Wait()
			require.Error(t, err)
			out := rest()
			switch who {
			case "first":
				require.Equal(t, -1, cmd.ProcessState.ExitCode())
			case "command":
				require.Equal(t, 128+9, cmd.ProcessState.ExitCode())
				require.Empty(t, out)
			case "server":
				require.Equal(t, 4, cmd.ProcessState.ExitCode())
				require.Contains(t, out, "cdfz: the process that serves the originals has died: signal: killed\n")
			}
			r.gone()
			require.Equal(t, "a.nc.cdfz\n<nil>", output(r.dir, "ls"))
		}
	})
}

// TestJudgeRunBackground has a command that ends before a process that it started, which goes on reading and
// writing.
func TestJudgeRunBackground(t *testing.T) {
	image := climateImage(t)
	runners(t, map[string][]byte{"a.nc": image}, func(t *testing.T, r *runner) {
		out, code := r.run(`(while test ! -e go; do sleep 0.01; done; sha256sum a.nc >sum; mv sum done) >/dev/null 2>&1 </dev/null & exit 6`)
		require.Equal(t, 6, code)
		require.Empty(t, out)
		require.NoError(t, os.WriteFile(filepath.Join(r.dir, "go"), nil, 0o644))
		r.gone()
		b, err := os.ReadFile(filepath.Join(r.dir, "done"))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%x  a.nc\n", sha256.Sum256(image)), string(b))
	})
}

// TestJudgeRunDamage reads a damaged archive: an error for the command and a line on standard error.
func TestJudgeRunDamage(t *testing.T) {
	runners(t, map[string][]byte{"a.nc": climateImage(t)}, func(t *testing.T, r *runner) {
		name := filepath.Join(r.dir, "a.nc.cdfz")
		r.archives[name][len(r.archives[name])/2] ^= 1
		require.NoError(t, os.WriteFile(name, r.archives[name], 0o644))
		out, code := r.run("cat a.nc >copy")
		require.Equal(t, 1, code)
		require.Contains(t, out, "cat: a.nc: Input/output error\n")
		require.Regexp(t, `(?m)^cdfz: a\.nc\.cdfz: variable .*block \d+ at byte \d+.*checksum.*$`, out)
	})
}

// TestJudgeRunRefused runs where there is no /dev/fuse, where it may not be opened, and where there are no
// user namespaces.
func TestJudgeRunRefused(t *testing.T) {
	const hint = "cdfz: hint: use cdfz mount, which needs fusermount3, or cdfz serve, or cdfz restore\n"
	dir := t.TempDir()
	exe, err := os.Executable()
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "cdfz")
	require.NoError(t, os.Symlink(exe, program))
	for _, c := range []struct{ setup, want string }{
		{"mount -t tmpfs none /dev; : >/dev/null", "cdfz: run: there is no /dev/fuse\ncdfz: hint: load the kernel's module fuse, or give a container the device; or use cdfz mount, which needs fusermount3, or cdfz serve, or cdfz restore\n"},
		{"mount -t tmpfs -o nodev none /dev; : >/dev/null; mknod /dev/fuse c 10 229", "cdfz: /dev/fuse: permission denied\n" + hint},
		{"echo 0 >/proc/sys/user/max_user_namespaces; set -- setpriv --bounding-set -sys_admin --inh-caps -sys_admin \"$@\"",
			"cdfz: run: user namespaces are turned off (the system's setting user.max_user_namespaces is 0)\n" + hint},
	} {
		// The setting belongs to the outer user namespace.
		cmd := exec.Command("unshare", "-Urm", "bash", "-c", c.setup+`; exec "$@"`, "bash", program, "run", "--", "true")
		if strings.Contains(c.setup, "mknod") {
			if os.Getuid() != 0 {
				continue // makes no devices
			}
			cmd.Args[1] = "-m"
		}
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Equal(t, c.want, string(out))
		require.Equal(t, 1, cmd.ProcessState.ExitCode()) // others are those of the command
	}
}
