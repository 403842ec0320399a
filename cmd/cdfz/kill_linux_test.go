package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/cdfz-format/cdfz/archive/verify"
	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/fileio"
	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli/terminal"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/testdata/trees"
)

// killSystem is a file system on which runs are killed.
type killSystem struct {
	dir  string
	disk string // file with the file system, "" if it is not in a loop file
	// durable is the mount that has to be named so that sources are deleted, "" for none.
	durable string
}

// killSystems returns folders on several file systems. The soak makes some in loop files,
// as far as the machine lets it.
func killSystems(t *testing.T) map[string]killSystem {
	systems := map[string]killSystem{"tmp": {dir: t.TempDir()}}
	if dir, err := os.MkdirTemp("/dev/shm", "cdfz-kill-*"); err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		systems["tmpfs"] = killSystem{dir: dir, durable: "/dev/shm"}
	}
	if os.Getenv("CDFZ_SOAK") == "" || os.Getuid() != 0 {
		return systems
	}
	overlay := t.TempDir()
	for _, dir := range []string{"lower", "upper", "work"} {
		require.NoError(t, os.Mkdir(filepath.Join(overlay, dir), 0o755))
	}
	if dir := t.TempDir(); mountAt(t, "overlay", dir, "mount", "-t", "overlay", "overlay", "-o",
		"lowerdir="+overlay+"/lower,upperdir="+overlay+"/upper,workdir="+overlay+"/work", dir) {
		systems["overlay"] = killSystem{dir: dir}
	}
	for kind, make := range map[string][]string{
		"ext4": {"mkfs.ext4", "-q"}, noJournal: {"mkfs.ext4", "-q", "-O", "^has_journal"}, "xfs": {"mkfs.xfs", "-q"}, "vfat": {"mkfs.vfat"},
	} {
		disk, dir := filepath.Join(t.TempDir(), "disk"), t.TempDir()
		require.NoError(t, os.WriteFile(disk, nil, 0o600))
		require.NoError(t, os.Truncate(disk, 512<<20))
		out, err := exec.Command(make[0], append(make[1:], disk)...).CombinedOutput()
		if err != nil {
			t.Logf("%s: not tested: %v: %s", kind, err, out)
		} else if mountAt(t, kind, dir, "mount", "-o", "loop", disk, dir) {
			systems[kind] = killSystem{dir: dir, disk: disk}
		}
	}
	return systems
}

// noJournal names ext4 without a journal, which needs e2fsck after a loss of power.
const noJournal = "ext4 without journal"

// powerLost calls check with a folder that has what a loss of power leaves now: the file system
// as it is in its loop file, without what the system has not written to it.
func powerLost(t *testing.T, kind string, s killSystem, check func(dir string)) {
	options := map[string]string{"ext4": "loop", noJournal: "loop", "xfs": "loop,nouuid"}[kind]
	if s.disk == "" || options == "" {
		return
	}
	base, err := os.MkdirTemp("", "cdfz-power-*")
	require.NoError(t, err)
	defer os.RemoveAll(base)
	disk, dir := filepath.Join(base, "disk"), filepath.Join(base, "dir")
	require.NoError(t, os.Mkdir(dir, 0o755))
	out, err := exec.Command("cp", "--sparse=always", s.disk, disk).CombinedOutput()
	require.NoError(t, err, string(out))
	if kind == noJournal {
		_ = exec.Command("e2fsck", "-fy", disk).Run() // exits with 1 after repairs
	}
	out, err = exec.Command("mount", "-o", options, disk, dir).CombinedOutput()
	require.NoError(t, err, string(out))
	defer unmount(t, dir)
	check(dir)
}

// mountAt runs a command that mounts a file system on dir until the test ends. It reports
// whether that was possible.
func mountAt(t *testing.T, kind, dir string, command ...string) bool {
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Logf("%s: not tested: %v: %s", kind, err, out)
		return false
	}
	t.Cleanup(func() { unmount(t, dir) })
	return true
}

// unmount unmounts dir. The system may need a while to close the files of a killed process.
func unmount(t *testing.T, dir string) {
	require.Eventually(t, func() bool {
		out, err := exec.Command("umount", dir).CombinedOutput()
		if err != nil {
			t.Logf("%v: %s", err, out)
		}
		return err == nil
	}, time.Minute, time.Second)
}

// killed runs the command and kills it after a random time of at most limit. It reports
// whether the command had ended before.
func killed(t *testing.T, r *rand.Rand, tmp string, limit time.Duration, args ...string) (done bool) {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Args[0] = "cdfz"
	cmd.Env = append(os.Environ(), "TESTSCRIPT_COMMAND=cdfz", "TMPDIR="+tmp)
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		require.NoError(t, err)
		return true
	case <-time.After(time.Duration(r.Int64N(int64(limit)))):
		_ = cmd.Process.Kill()
		return <-ended == nil
	}
}

// sums returns the SHA-256 of the files below a folder that have a suffix, by their names.
func sums(t *testing.T, dir, suffix string) map[string]string {
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, suffix) {
			return err
		}
		b, err := os.ReadFile(name)
		sum := sha256.Sum256(b)
		rel, _ := filepath.Rel(dir, name)
		out[rel] = hex.EncodeToString(sum[:])
		return err
	}))
	return out
}

// walked returns the SHA-256 of what the archives below a folder restore, by the names of
// their sources. All of them must restore.
func walked(t *testing.T, dir string) map[string]string {
	out := map[string]string{}
	for rel := range sums(t, dir, fileio.Suffix) {
		b, err := os.ReadFile(filepath.Join(dir, rel))
		require.NoError(t, err)
		w, err := verify.Walk(context.Background(), bytes.NewReader(b), int64(len(b)), nil)
		require.NoError(t, err, rel)
		out[strings.TrimSuffix(rel, fileio.Suffix)] = w.SHA256
	}
	return out
}

// noTemporaries checks that no run has left anything.
func noTemporaries(t *testing.T, dirs ...string) {
	for _, dir := range dirs {
		require.NoError(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			require.NoError(t, err)
			require.False(t, atomicfile.IsTemporary(d.Name()) || atomicfile.IsAside(d.Name()), name)
			return nil
		}))
	}
}

// TestKills kills archive --delete-source, restore and repair of trees at random points:
// each name holds a whole file or none, no source is gone whose archive does not restore,
// and the next run completes the work and leaves nothing. The same holds if power is lost then,
// and what a run that ended has restored is on disk. 3 kills of each on each file
// system, one with -short, 105 in the soak. The seeds are fixed, but not what the machine does meanwhile.
func TestKills(t *testing.T) {
	files, kills := 12, 3
	if testing.Short() {
		files, kills = 6, 1
	}
	if os.Getenv("CDFZ_SOAK") != "" {
		kills = 105
	}
	total := 0
	for name, system := range killSystems(t) {
		t.Run(name, func(t *testing.T) {
			base := system.dir
			data, tmp, receipts := filepath.Join(base, "data"), t.TempDir(), filepath.Join(base, "r.jsonl")
			again := func(args ...string) {
				var out bytes.Buffer
				require.Zero(t, run(t.Context(), args, nil, &out, &out), "%v: %s", args, &out)
			}
			limit := 300 * time.Millisecond
			r := rand.New(rand.NewPCG(uint64(len(name)), 1))
			before := total
			for range kills {
				require.NoError(t, os.RemoveAll(data))
				_ = os.Remove(receipts)
				_, err := trees.Write(data, files)
				require.NoError(t, err)
				unix.Sync() // sources are on disk
				want := sums(t, data, ".nc")
				require.Len(t, want, files)
				args := []string{"archive", "-q", "--delete-source", "--receipts", receipts, data}
				if system.durable != "" {
					args = append(args, "--durable-mount", system.durable)
				}
				start := time.Now()
				if killed(t, r, tmp, limit, args...) {
					limit = min(limit, time.Since(start)) * 3 / 4
				} else {
					limit = limit * 5 / 4
					total++
				}
				kept := func(data string) {
					left, archived := sums(t, data, ".nc"), walked(t, data)
					for rel, sum := range want {
						if got, ok := left[rel]; ok {
							require.Equal(t, sum, got, rel)
						} else {
							require.Equal(t, sum, archived[rel], rel)
						}
					}
				}
				powerLost(t, name, system, func(dir string) { kept(filepath.Join(dir, "data")) })
				kept(data)
				if _, err := os.Stat(receipts); err == nil {
					var out bytes.Buffer
					if run(t.Context(), []string{"receipts", "-q", receipts}, nil, &out, &out) != terminal.ExitDone {
						require.Contains(t, out.String(), ": no receipts: ") // it was killed before the first
					}
				}
				again(args...)
				require.Empty(t, sums(t, data, ".nc"))
				require.Equal(t, want, walked(t, data))
				again("receipts", "-q", receipts)

				if !killed(t, r, tmp, limit/4+1, "restore", "-q", data) {
					total++
				}
				whole := func(data string) {
					for rel, sum := range sums(t, data, ".nc") {
						require.Equal(t, want[rel], sum)
					}
				}
				powerLost(t, name, system, func(dir string) { whole(filepath.Join(dir, "data")) })
				whole(data)
				again("restore", "-q", "-f", data)
				powerLost(t, name, system, func(dir string) { require.Equal(t, want, sums(t, filepath.Join(dir, "data"), ".nc")) })
				require.Equal(t, want, sums(t, data, ".nc"))

				var ar string
				for rel := range want {
					ar = filepath.Join(data, rel) + fileio.Suffix
				}
				full, err := os.ReadFile(ar)
				require.NoError(t, err)
				require.NoError(t, os.Truncate(ar, int64(len(full)-1-r.IntN(200))))
				if !killed(t, r, tmp, limit/8+1, "repair", "-q", ar) {
					total++
				}
				again("repair", "-q", ar)
				got, err := os.ReadFile(ar)
				require.NoError(t, err)
				require.True(t, bytes.Equal(full, got))

				second := filepath.Join(base, "second.cdfz")
				require.NoError(t, os.WriteFile(second, full, 0o644))
				require.NoError(t, os.Truncate(ar, int64(r.IntN(len(full)))))
				if !killed(t, r, tmp, limit/8+1, "repair", "-q", "--from", second, ar) {
					total++
				}
				again("repair", "-q", "--from", second, ar)
				got, err = os.ReadFile(ar)
				require.NoError(t, err)
				require.True(t, bytes.Equal(full, got))
				require.NoError(t, os.Remove(second))
				noTemporaries(t, base, tmp)
			}
			t.Logf("%d kills", total-before)
		})
	}
	t.Logf("%d kills", total)
	require.Positive(t, total)
}

// TestResume kills archive, restore and archive --replace-changed of one tree at random points, 30 times (6 with -short), and runs
// the same command again each time. In the end the targets are those of a run that nothing has
// disturbed. After every kill, the log has complete lines, but for the last one, and the targets of all files
// that it lists as done exist.
func TestResume(t *testing.T) {
	files, kills := 20, 30
	if testing.Short() {
		files, kills = 8, 6
	}
	base, tmp := t.TempDir(), t.TempDir()
	in := func(name string) string { return filepath.Join(base, name) }
	_, err := trees.Write(in("data"), files)
	require.NoError(t, err)
	// Each command needs a new process: a process cleans a folder only the first time it writes there.
	quiet := func(args ...string) {
		cmd := exec.Command(os.Args[0])
		cmd.Args = append([]string{"cdfz"}, args...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v: %s", args, out)
	}
	r := rand.New(rand.NewPCG(7, 8))
	// until kills the command n times and then lets it end. If the command ends before it is killed, reset
	// makes new work for it.
	until := func(n int, reset func(), log string, args ...string) {
		limit := 300 * time.Millisecond
		for n > 0 {
			start := time.Now()
			if killed(t, r, tmp, limit, args...) {
				limit = max(min(limit, time.Since(start))*3/4, 10*time.Millisecond)
				reset()
				require.NoError(t, os.Remove(log))
				continue
			}
			n--
			limit = limit * 5 / 4
			checkLog(t, log)
		}
		quiet(args...)
		checkLog(t, log)
		noTemporaries(t, base, tmp)
	}
	loses := func(dir string) func() {
		return func() {
			for rel := range sums(t, dir, "") {
				if r.IntN(2) == 0 {
					require.NoError(t, os.Remove(filepath.Join(dir, rel)))
				}
			}
		}
	}
	quiet("archive", "-q", "-o", in("undisturbed")+"/", in("data"))
	until(kills/3, loses(in("out")), in("a.jsonl"), "archive", "-q", "--log", in("a.jsonl"), "-o", in("out")+"/", in("data"))
	want := sums(t, in("undisturbed"), "")
	require.Equal(t, want, sums(t, in("out"), ""))
	until(kills/3, loses(in("back")), in("r.jsonl"), "restore", "-q", "--log", in("r.jsonl"), "-o", in("back")+"/", in("out"))
	require.Equal(t, sums(t, in("data"), ".nc"), sums(t, in("back"), ""))

	// Sources change. The old archives keep other names.
	at := time.Date(2020, 2, 1, 0, 0, 0, 0, time.UTC)
	change := func() {
		at = at.Add(time.Hour)
		for rel := range sums(t, in("data"), "") {
			name := filepath.Join(in("data"), rel)
			b, err := os.ReadFile(name)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(name, append(b, 0), 0o644))
			require.NoError(t, os.Chtimes(name, at, at))
		}
	}
	change()
	until(kills/3, change, in("c.jsonl"), "archive", "-q", "--replace-changed", "--log", in("c.jsonl"), "-o", in("out")+"/", in("data"))
	quiet("verify", "-q", in("out"))
	left := map[string]int{} // archives that have the bytes of the first ones, by their sums
	for _, sum := range sums(t, in("out"), "") {
		left[sum]++
	}
	for rel, sum := range want {
		require.Equal(t, 1, left[sum], rel)
		quiet("verify", "-q", "--against", filepath.Join(in("data"), strings.TrimSuffix(rel, fileio.Suffix)), filepath.Join(in("out"), rel))
	}
}

// TestScrub kills verify --state again and again. Every archive is proved once, whatever the kills.
func TestScrub(t *testing.T) {
	base, tmp := t.TempDir(), t.TempDir()
	data, out, name := filepath.Join(base, "data"), filepath.Join(base, "out"), filepath.Join(base, "state.jsonl")
	_, err := trees.Write(data, 40)
	require.NoError(t, err)
	var msg bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"archive", "-q", "-o", out + "/", data}, nil, &msg, &msg), &msg)
	r := rand.New(rand.NewPCG(9, 10))
	args := []string{"verify", "-q", "--rate", "32K", "--state", name, "--older-than", "1d", out}
	n := 0
	// The time grows, so that a slow machine proves archives before the command is killed, too.
	for limit := 80 * time.Millisecond; !killed(t, r, tmp, limit, args...); limit += limit / 20 {
		n++
		require.Less(t, n, 1000)
	}
	t.Logf("%d kills", n)
	require.Positive(t, n)
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	times := map[string]int{}
	for line := range bytes.Lines(b) {
		var l struct{ Archive string }
		require.NoError(t, json.Unmarshal(line, &l), "%s", line)
		times[l.Archive]++
	}
	delete(times, "") // the head
	require.Len(t, times, 40)
	for name, n := range times {
		require.Equal(t, 1, n, name)
	}
}

// checkLog checks that the complete lines of a log, if there is one, are JSON, and that all targets in it are
// there. A kill may leave a part of a line at the end.
func checkLog(t *testing.T, name string) {
	b, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	require.NoError(t, err)
	for line := range bytes.Lines(b[:bytes.LastIndexByte(b, '\n')+1]) {
		var l struct{ Target, Outcome string }
		require.NoError(t, json.Unmarshal(line, &l), "%s", line)
		if l.Target == "" {
			continue
		}
		require.Contains(t, []string{"ok", "unchanged"}, l.Outcome)
		if of, _, ok := strings.Cut(l.Target, volume.Suffix+"/"); ok {
			l.Target = of + volume.Suffix
		}
		require.FileExists(t, l.Target)
	}
}
