package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/fleet/internal/fleet"
	"github.com/cdfz-format/cdfz/testdata/trees"
)

// asFleet makes the test program run main.
const asFleet = "CDFZ_FLEET_TEST"

// cdfz is the path of the program.
var cdfz string

func TestMain(m *testing.M) {
	if os.Getenv(asFleet) != "" {
		main()
		return
	}
	dir, err := os.MkdirTemp("", "cdfz-fleet")
	if err == nil {
		cdfz = filepath.Join(dir, "cdfz")
		build := exec.Command("go", "build", "-o", cdfz, "./cmd/cdfz")
		build.Dir, build.Stderr = filepath.Join("..", "..", ".."), os.Stderr
		err = build.Run()
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// soak reports whether the full counts are wanted.
func soak() bool { return os.Getenv("CDFZ_SOAK") != "" }

// pipeline returns a command that runs a pipeline on prism in a folder.
func pipeline(ctx context.Context, dir string, args ...string) *exec.Cmd {
	args = append(args[:1:1], append([]string{"-cdfz", cdfz, "-wait", "1ms"}, args[1:]...)...)
	c := exec.CommandContext(ctx, os.Args[0], args...)
	c.Dir, c.Env = dir, append(os.Environ(), asFleet+"=1")
	return c
}

// run1 runs a pipeline to its end.
func run1(t *testing.T, dir string, args ...string) (sum fleet.Summary, code int, msg string) {
	t.Helper()
	var out, errs bytes.Buffer
	c := pipeline(t.Context(), dir, args...)
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); c.ProcessState == nil {
		require.NoError(t, err)
	}
	if out.Len() > 0 {
		require.NoError(t, json.Unmarshal(out.Bytes(), &sum), "%s", out.String())
	}
	return sum, c.ProcessState.ExitCode(), errs.String()
}

// command runs cdfz, which must succeed, and returns what it prints.
func command(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), cdfz, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%v: %s", args, out)
	return string(out)
}

// sums returns the SHA-256 of all files below a folder by path.
func sums(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(b)
		rel, err := filepath.Rel(dir, p)
		all[rel] = hex.EncodeToString(sum[:])
		return err
	})
	require.NoError(t, err)
	return all
}

// lines returns the objects of files of JSON lines.
func lines(t *testing.T, pattern string) (all []map[string]any) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	require.NoError(t, err)
	for _, n := range names {
		b, err := os.ReadFile(n)
		require.NoError(t, err)
		s := bufio.NewScanner(bytes.NewReader(b))
		for s.Scan() {
			var line map[string]any
			require.NoError(t, json.Unmarshal(s.Bytes(), &line), "%s: %s", n, s.Text())
			all = append(all, line)
		}
		require.NoError(t, s.Err())
	}
	return all
}

// archived checks the result of pipelines that archived data/ into arch/ with jobs/: an archive and a
// receipt for each source, and nothing else. It returns how many sources were archived more than
// once, and how many have no or several receipts.
func archived(t *testing.T, dir string, want map[string]string) (twice, duplicates, losses int) {
	t.Helper()
	receipts := map[string]int{}
	for _, l := range lines(t, filepath.Join(dir, "jobs", "*.receipts.jsonl")) {
		if src, ok := l["source"].(string); ok {
			rel, err := filepath.Rel(filepath.Join(dir, "data"), src)
			require.NoError(t, err)
			require.Equal(t, want[rel], l["sha256"], src)
			receipts[rel]++
		}
	}
	made := map[string]int{}
	for _, l := range lines(t, filepath.Join(dir, "jobs", "*.archive.jsonl")) {
		if l["outcome"] == "ok" {
			made[l["source"].(string)]++
		}
	}
	for _, n := range made {
		if n > 1 {
			twice++
		}
	}
	found := sums(t, filepath.Join(dir, "arch"))
	for name := range want {
		switch n := receipts[name]; {
		case n > 1:
			duplicates++
		case n == 0 || found[name+".cdfz"] == "":
			losses++
		}
		delete(found, name+".cdfz")
	}
	require.Empty(t, found, "something is left over")
	return twice, duplicates, losses
}

// tree makes data/ with n files, and returns their sums.
func tree(t *testing.T, dir string, n int) map[string]string {
	t.Helper()
	_, err := trees.Write(filepath.Join(dir, "data"), n)
	require.NoError(t, err)
	return sums(t, filepath.Join(dir, "data"))
}

// TestPipelines archives, verifies and restores a list with files that cannot be done.
func TestPipelines(t *testing.T) {
	dir := t.TempDir()
	want := tree(t, dir, 30)
	var list bytes.Buffer
	for n := range want {
		fmt.Fprintln(&list, n)
	}
	poison := map[string]string{ // by kind
		"header.nc": "damaged", "cut.nc": "damaged", "text.nc": "other", "missing.nc": "failed", "folder.nc": "failed", "link.nc": "failed", "../out.nc": "failed",
	}
	first, err := os.ReadFile(filepath.Join(dir, "data", strings.SplitN(list.String(), "\n", 2)[0]))
	require.NoError(t, err)
	data := filepath.Join(dir, "data")
	require.NoError(t, os.WriteFile(filepath.Join(data, "header.nc"), []byte("CDF\x01\x00\x00\x00\x00\xff\xff\xff\xff"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(data, "cut.nc"), first[:100], 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(data, "text.nc"), []byte("no netCDF"), 0o666))
	require.NoError(t, os.Mkdir(filepath.Join(data, "folder.nc"), 0o777))
	require.NoError(t, os.Symlink("nowhere.nc", filepath.Join(data, "link.nc")))
	for n := range poison {
		fmt.Fprintln(&list, n)
	}
	fmt.Fprintf(&list, "cut.nc\n./cut.nc\n\n") // again
	require.NoError(t, os.WriteFile(filepath.Join(dir, "list"), list.Bytes(), 0o666))

	args := []string{"archive", "-source", "data", "-list", "list", "-o", "arch", "-dir", "jobs", "-shards", "3", "-large", "40000", "-catalogue", "-failures", "f1"}
	sum, code, msg := run1(t, dir, args...)
	require.Equal(t, exitFailed, code, msg)
	require.EqualValues(t, len(want), sum.Files)
	require.Equal(t, map[string]int64{"damaged": 2, "other": 1, "failed": 4}, sum.Failures)
	require.Greater(t, sum.Ratio, 1.0)
	require.Greater(t, sum.Shards, int64(3), "large files are shards of their own")
	failed := map[string]string{}
	for _, l := range lines(t, filepath.Join(dir, "f1"))[1:] {
		require.NotEmpty(t, l["reason"])
		rel := strings.TrimPrefix(l["source"].(string), data+string(filepath.Separator))
		require.Empty(t, failed[rel])
		failed[rel] = l["kind"].(string)
	}
	require.Equal(t, poison, failed)
	twice, duplicates, losses := archived(t, dir, want)
	require.Zero(t, twice+duplicates+losses)

	// Again: nothing is left to do, and an earlier file of failures is not touched.
	_, code, msg = run1(t, dir, args...)
	require.Equal(t, exitUsage, code, msg)
	args[len(args)-1] = "f2"
	sum, code, msg = run1(t, dir, args...)
	require.Equal(t, exitFailed, code, msg)
	require.Zero(t, sum.Files)
	require.EqualValues(t, len(want), sum.Unchanged)
	twice, duplicates, losses = archived(t, dir, want)
	require.Zero(t, twice+duplicates+losses)

	parts, err := filepath.Glob(filepath.Join(dir, "jobs", "*.parquet"))
	require.NoError(t, err)
	command(t, dir, append([]string{"catalogue", "-q", "-o", "all.parquet"}, parts...)...)
	require.Contains(t, command(t, dir, append([]string{"receipts"}, receiptsOf(t, dir)...)...), fmt.Sprintf("%d receipts: %d ok, 0 failed", len(want), len(want)))

	// In a folder without a list, other files are no failures, and nothing is tried again for them.
	require.NoError(t, os.Mkdir(filepath.Join(dir, "others"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "others", "README"), []byte("text"), 0o666))
	sum, code, msg = run1(t, dir, "archive", "-source", "others", "-o", "arch", "-dir", "jobs4")
	require.Zero(t, code, msg)
	require.EqualValues(t, 1, sum.Other)
	require.EqualValues(t, 1, sum.Starts)

	sum, code, msg = run1(t, dir, "verify", "-source", "arch", "-dir", "scrub", "-shards", "2")
	require.Zero(t, code, msg)
	require.EqualValues(t, len(want), sum.Files)
	sum, code, msg = run1(t, dir, "restore", "-source", "arch", "-o", "back", "-dir", "scrub", "-shards", "2")
	require.Zero(t, code, msg)
	require.EqualValues(t, len(want), sum.Files)
	require.Equal(t, want, sums(t, filepath.Join(dir, "back")))

	// A damaged archive has an exit code of its own.
	for n := range want {
		p := filepath.Join(dir, "arch", n+".cdfz")
		b, err := os.ReadFile(p)
		require.NoError(t, err)
		b[len(b)/2] ^= 1
		require.NoError(t, os.WriteFile(p, b, 0o666))
		break
	}
	sum, code, msg = run1(t, dir, "verify", "-source", "arch", "-dir", "scrub", "-shards", "2", "-failures", "f3")
	require.Equal(t, exitDamaged, code, msg)
	require.Equal(t, map[string]int64{"damaged": 1}, sum.Failures)
	require.Len(t, lines(t, filepath.Join(dir, "f3")), 2)
}

// TestPack archives a tree, packs the archives in shards, and restores it from the volumes.
func TestPack(t *testing.T) {
	dir := t.TempDir()
	want := tree(t, dir, 60)
	_, code, msg := run1(t, dir, "archive", "-source", "data", "-o", "arch", "-dir", "jobs", "-shards", "5")
	require.Zero(t, code, msg)
	sum, code, msg := run1(t, dir, "pack", "-source", "arch", "-o", "vol", "-dir", "jobs", "-shards", "3", "--", "--size", "100k")
	require.Zero(t, code, msg)
	require.EqualValues(t, 3, sum.Shards)
	require.EqualValues(t, 3, sum.Starts)
	volumes := sums(t, filepath.Join(dir, "vol"))
	require.EqualValues(t, len(volumes), sum.Volumes)
	require.Greater(t, len(volumes), 3)
	for name := range volumes {
		require.Regexp(t, `^[123]-of-3-\d{4}\.tar$`, name)
	}
	command(t, dir, "verify", "-q", "vol")
	command(t, dir, "restore", "-q", "-o", "back/", "vol/")
	require.Equal(t, want, sums(t, filepath.Join(dir, "back")))

	// Again: nothing is packed twice. What is added is.
	again, code, msg := run1(t, dir, "pack", "-source", "arch", "-o", "vol", "-dir", "jobs", "-shards", "3", "--", "--size", "100k")
	require.Zero(t, code, msg)
	require.Zero(t, again.Volumes)
	require.EqualValues(t, len(want), again.Unchanged-folders(t, filepath.Join(dir, "arch")))
	require.Equal(t, volumes, sums(t, filepath.Join(dir, "vol")))
	require.NoError(t, os.Rename(filepath.Join(dir, "arch", "0000"), filepath.Join(dir, "arch", "1000")))
	again, code, msg = run1(t, dir, "pack", "-source", "arch", "-o", "vol", "-dir", "jobs", "-shards", "3", "--", "--size", "100k")
	require.Zero(t, code, msg)
	require.Positive(t, again.Volumes)

	// What cannot be packed is a failure of its shard, which is tried twice.
	require.NoError(t, exec.Command("mkfifo", filepath.Join(dir, "arch", "fifo")).Run())
	bad, code, msg := run1(t, dir, "pack", "-source", "arch", "-o", "vol", "-dir", "jobs", "-shards", "3")
	require.Equal(t, 4, code, msg)
	require.EqualValues(t, 1, bad.Lasting)
	require.EqualValues(t, 4, bad.Starts)
	var failed map[string]any
	for _, l := range lines(t, filepath.Join(dir, "jobs", "failures-*.jsonl")) {
		if l["kind"] != nil {
			failed = l
		}
	}
	require.Contains(t, failed["reason"], "FIFO")
	require.Contains(t, failed["source"], "/arch/ --shard ")
}

// folders counts the folders below a folder.
func folders(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && p != dir {
			n++
		}
		return err
	})
	require.NoError(t, err)
	return n
}

func receiptsOf(t *testing.T, dir string) []string {
	names, err := filepath.Glob(filepath.Join(dir, "jobs", "*.receipts.jsonl"))
	require.NoError(t, err)
	return names
}

// TestUsage has jobs that cannot be run: nothing is written.
func TestUsage(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "jobs"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "jobs", "00001-of-00005.archive.jsonl"), nil, 0o666))
	for _, c := range []struct{ args, want string }{
		{"package -dir d", "expected verb archive, verify, restore or pack"},
		{"pack -dir d", "pack needs a target"},
		{"pack -source s3://bucket/x/ -o out -dir d", "pack needs a folder"},
		{"pack -list x -o out -dir d", "pack takes no list"},
		{"pack -o out -dir d -shards 65537", "expected 1 to 65536 shards to pack"},
		{"pack -o out -dir d -catalogue", "not for pack"},
		{"pack -o out -dir d -- --size 1", "--size"},
		{"pack -o out -dir d -- --shard 1/2", "--shard: "},
		{"archive -dir d", "needs a target"},
		{"archive -o out", "Dir, Failures"},
		{"archive -o out -dir d -shards 0", "expected 1 to 99999 shards"},
		{"archive -o out -dir d -large 0", "size of large files"},
		{"archive -o out -dir d -attempts 0", "at least one attempt"},
		{"archive -o s3://bucket/x -dir d", "slash at the end"},
		{"archive -source s3://bucket/x -o out -dir d", "slash at the end"},
		{"verify -o out -dir d", "verify has no target"},
		{"verify -dir d -catalogue", "only archive"},
		{"archive -o out -dir jobs", "another number of shards"},
		{"archive -o out -dir d -cdfz ./none", "none"},
		{"archive -o out -dir d data", `unexpected argument "data"`},
		{"archive data -o out -dir d", `unexpected argument "data"`},
		{"archive -o out -dir d -null", "-null is about the names of -list"},
		{"archive -o out -dir d -no_such_flag", "not defined: -no_such_flag"},
		{"archive -o out -dir d -template_location x", "not defined: -template_location"}, // Dataflow's
		{"archive -o out -dir d -runner dataflow", "expected -runner flink, prism, spark, universal"},
		{"archive -o out -dir d -runner direct", "expected -runner flink"},
		{"archive -o out -dir d -async", "runner prism does not heed -async"},
		{"archive -o out -dir d -parallelism 3", "runner prism does not heed -parallelism"},
		{"archive -o out -dir d -resource_hints min_ram=1GB", "runner prism does not heed -resource_hints"},
		{"archive -o out -dir d -environment_type DOCKER", "need -endpoint"},
		{"archive -o out -dir d -runner spark -endpoint x -parallelism 3", "runner spark does not heed -parallelism"},
		{"archive -o out -dir d -runner flink", "runner flink needs -endpoint"},
		{"archive -o out -dir d -runner flink -endpoint x -environment_type LOOPBACK -async", "LOOPBACK end with this program"},
		{"archive -o out -dir d -worker", "-worker is for workers"},
		{"verify -dir d -dry_run", "verify has no dry run"},
		{"restore -o out -dir d --dry-run", "restore has no dry run"},
		{"archive -o out -dir d -dry_run -catalogue", "a dry run makes no catalogue"},
		{"archive -o out -dir d -- --no-such-option", "unknown flag --no-such-option"},
		{"archive -o out -dir d -- --block 3", "--block"},
		{"archive -o out -dir d -- --delete-source --balance", "--balance: "},
		{"archive -o out -dir d -- --dry-run=true", "--dry-run: -dry_run is a flag of this program"},
		{"archive -o out -dir d -- --shard 1/2", "--shard: "},
		{"archive -o out -dir d -- --log=x", "--log: "},
		{"archive -o out -dir d -- --no-wait", "--no-wait: "},
		{"verify -dir d -- --no-wait=true", "--no-wait: "},
		{"archive -o out -dir d -- -fo x", "-o: "},
		{"archive -o out -dir d -- -0", "-0: "},
		{"archive -o out -dir d -- x.nc", "expected at most one FILE"},
		{"archive -o out -dir d -- -- x.nc", "another --"},
		{"verify -dir d -- --delete-source", "unknown flag --delete-source"},
	} {
		_, code, msg := run1(t, dir, strings.Fields(c.args)...)
		require.Equal(t, exitUsage, code, "%s: %s", c.args, msg)
		require.Contains(t, msg, c.want, c.args)
	}
	require.Len(t, sums(t, dir), 1)

	require.NoDirExists(t, filepath.Join(dir, "d"))
}

// TestDryRun counts what would be archived. With sources that would be deleted, nothing is written or
// deleted but the sums and the failures.
func TestDryRun(t *testing.T) {
	dir := t.TempDir()
	want := tree(t, dir, 12)
	data := filepath.Join(dir, "data")
	size := int64(0)
	for n := range want {
		st, err := os.Stat(filepath.Join(data, n))
		require.NoError(t, err)
		size += st.Size()
	}
	require.NoError(t, os.WriteFile(filepath.Join(data, "header.nc"), []byte("CDF\x01\x00\x00\x00\x00\xff\xff\xff\xff"), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(data, "README"), []byte("text"), 0o666))
	before := sums(t, data)
	for i, flag := range []string{"-dry_run", "--dry-run"} {
		failures := fmt.Sprintf("f%d", i)
		sum, code, msg := run1(t, dir, "archive", "-source", "data", "-o", "arch", "-dir", "jobs", "-shards", "3", "-failures", failures, flag, "--", "--delete-source")
		require.Equal(t, exitLasting, code, msg)
		require.EqualValues(t, len(want), sum.Planned)
		require.EqualValues(t, size, sum.Bytes)
		require.Positive(t, sum.ArchiveBytes)
		require.Zero(t, sum.Files+sum.Unchanged)
		require.EqualValues(t, 1, sum.Other)
		require.EqualValues(t, 1, sum.Failed)
		require.Len(t, lines(t, filepath.Join(dir, failures)), 2)
		require.Equal(t, before, sums(t, data))
		require.NoDirExists(t, filepath.Join(dir, "arch"))
		written, err := filepath.Glob(filepath.Join(dir, "jobs", "*"))
		require.NoError(t, err)
		require.Len(t, written, i+1, "the sums")
	}
}
