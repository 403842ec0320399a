package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/archive/volume"
	"github.com/cdfz-format/cdfz/internal/atomicfile"
	"github.com/cdfz-format/cdfz/testdata/trees"
)

// started is the program with arguments, to be started in the working folder.
func started(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Args[0] = "cdfz"
	cmd.Env = append(os.Environ(), "TESTSCRIPT_COMMAND=cdfz")
	return cmd
}

// TestPackTurns holds a folder of volumes, as a run does that adds some. Another run waits for it, unless that is not wanted, it
// is stopped, adds volumes of other names, or adds none.
func TestPackTurns(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := trees.Write("data", 3)
	require.NoError(t, err)
	mustRun(t, "archive", "-q", "-o", "arch/", "data")
	for n, args := range [][]string{{"pack", "arch"}, {"archive", "--pack", "1G", "data"}} {
		vol := fmt.Sprintf("vol%d/", n)
		args = append(args, "-o", vol)
		hold, err := atomicfile.HoldName(vol+"volumes", &atomicfile.Options{MakeDirs: true})
		require.NoError(t, err)
		_, errs, code := runCode(append(args, "--no-wait")...)
		require.Equal(t, 5, code, errs)
		require.Equal(t, "cdfz: "+vol+": another run is adding to this folder\n", errs)
		_, errs, code = runCode(append(args, "--no-wait", "-q")...)
		require.Equal(t, 5, code, errs)
		require.Empty(t, errs)
		mustRun(t, append(args, "--no-wait", "--shard", "1/1")...)
		if args[0] == "archive" {
			mustRun(t, append(args, "--dry-run")...)
		}
		for _, stopped := range []bool{true, false} {
			cmd := started(args...)
			stderr, err := cmd.StderrPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			lines := bufio.NewScanner(stderr)
			require.True(t, lines.Scan())
			require.Equal(t, "cdfz: "+vol+": another run is adding to this folder; waiting for it", lines.Text())
			if stopped {
				require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			} else {
				require.NoError(t, os.Rename(vol+"1-of-1-0001.tar", vol+"0001.tar")) // what the other run wrote
				require.NoError(t, hold.Close())
			}
			for lines.Scan() {
				require.True(t, stopped, lines.Text())
			}
			_ = cmd.Wait()
			require.Equal(t, map[bool]int{true: 143}[stopped], cmd.ProcessState.ExitCode())
		}
		names, err := os.ReadDir(vol)
		require.NoError(t, err)
		require.Len(t, names, 1) // nothing was left to do
		require.NoError(t, hold.Close())
	}
}

// TestPackTwoRuns packs into one folder in several runs at the same time, of one tree and of several. All end with 0, and each
// member is in one volume, intact.
func TestPackTwoRuns(t *testing.T) {
	const runs = 3
	for _, c := range []struct {
		name string
		args []string
		one  bool // all runs have one source
	}{
		{"pack", []string{"pack", "-q", "--size", "24K", "-o", "vol/", "arch%d"}, false},
		{"pack one", []string{"pack", "-q", "--size", "24K", "-o", "vol/", "arch"}, true},
		{"archive", []string{"archive", "-q", "--pack", "24K", "-o", "vol/", "data/tree%d"}, false},
		{"archive one", []string{"archive", "-q", "--pack", "24K", "-o", "vol/", "data"}, true},
		{"whole", []string{"archive", "-q", "--whole", "--pack", "24K", "--receipts", "%d.jsonl", "--delete-source", "-o", "vol/", "data"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for i := range runs {
				dir := fmt.Sprintf("data/tree%d/%d", i, i)
				_, err := trees.Write(dir, 6)
				require.NoError(t, err)
				mustRun(t, "archive", "-q", "-o", fmt.Sprintf("arch%d/", i), fmt.Sprintf("data/tree%d", i))
			}
			mustRun(t, "archive", "-q", "-o", "arch/", "data")
			require.NoError(t, os.CopyFS("kept", os.DirFS("data")))
			var all sync.WaitGroup
			for i := range runs {
				args := make([]string, len(c.args))
				for k, a := range c.args {
					args[k] = strings.ReplaceAll(a, "%d", fmt.Sprint(i))
				}
				all.Go(func() {
					cmd := started(args...)
					var msg bytes.Buffer
					cmd.Stderr = &msg
					if err := cmd.Run(); err != nil {
						t.Errorf("%v: %v: %s", args, err, msg.Bytes())
					}
				})
			}
			all.Wait()
			seen := map[string]int{}
			volumes, err := filepath.Glob("vol/*")
			require.NoError(t, err)
			require.Greater(t, len(volumes), runs)
			for _, name := range volumes {
				b, err := os.ReadFile(name)
				require.NoError(t, err)
				v, err := volume.Open(t.Context(), bytes.NewReader(b), int64(len(b)))
				require.NoError(t, err, name)
				require.NoError(t, v.Check(t.Context()))
				for e, err := range v.Members(t.Context(), "") {
					require.NoError(t, err)
					if e.Kind != volume.Folder {
						seen[e.Path]++
					}
				}
			}
			for path, n := range seen {
				if path != ".cdfz-tree" {
					require.Equal(t, 1, n, path)
				}
			}
			mustRun(t, "restore", "-q", "-o", "back/", "vol/")
			kept := "kept"
			if !c.one {
				require.NoError(t, os.Mkdir("flat", 0o755))
				for i := range runs {
					require.NoError(t, os.Rename(fmt.Sprintf("kept/tree%d/%d", i, i), fmt.Sprintf("flat/%d", i)))
				}
				kept = "flat"
			}
			out, err := exec.Command("diff", "-r", kept, "back").CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

// TestPackUnconditional writes a volume into a store that ignores conditions, while another run writes one of its name.
func TestPackUnconditional(t *testing.T) {
	s := newBucket(t)
	_, err := trees.Write("data", 3)
	require.NoError(t, err)
	looked := 0
	s.set(func(w http.ResponseWriter, r *http.Request) bool {
		r.Header.Del("If-None-Match")
		if r.Method != http.MethodHead {
			return false
		}
		s.next.ServeHTTP(w, r)
		if looked++; looked == 1 { // when the volume begins
			b := "another volume"
			_, err := s.back.PutObject("bucket", "vol/0001.tar", map[string]string{"Last-Modified": time.Now().UTC().Format(http.TimeFormat)}, strings.NewReader(b), int64(len(b)), nil)
			assert.NoError(t, err)
		}
		return true
	})
	code, _, errs := s.run("pack", "-o", "s3://bucket/vol/", "data")
	require.Equal(t, 1, code, errs)
	require.Contains(t, errs, "another run has written a volume of this name meanwhile")
	require.Equal(t, "another volume", string(object(t, s, "vol/0001.tar")))
}

// TestPackOvertaken lets another run write a volume into a store while one of the same name is on its way there: it stays, the run
// says so, and the same command packs the rest.
func TestPackOvertaken(t *testing.T) {
	for n, args := range [][]string{{"pack", "arch"}, {"archive", "--pack", "1G", "data"}} {
		t.Run(args[0], func(t *testing.T) {
			s := newBucket(t)
			_, err := trees.Write("data", 3)
			require.NoError(t, err)
			s.done("archive", "-q", "-o", "arch/", "data")
			require.NoError(t, os.MkdirAll("other", 0o755))
			require.NoError(t, os.WriteFile("other/x", []byte("another member"), 0o644))
			s.done("pack", "-q", "-o", "other.tar", "other")
			other, err := os.ReadFile("other.tar")
			require.NoError(t, err)
			args = append(args, "-o", "s3://bucket/vol/")
			s.set(func(_ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPut {
					s.put("vol/0001.tar", other)
				}
				return false
			})
			code, _, errs := s.run(args...)
			require.Equal(t, 1, code, "%d: %s", n, errs) // it may be repeated
			require.Contains(t, errs, "another run has written a volume of this name meanwhile")
			require.Contains(t, errs, "hint: the same command packs what no volume has")
			require.Equal(t, other, object(t, s, "vol/0001.tar"))
			s.set(nil)
			s.done(args...)
			require.Equal(t, other, object(t, s, "vol/0001.tar"))
			s.done("restore", "-q", "-o", "back/", "s3://bucket/vol/0002.tar")
			out, err := exec.Command("diff", "-r", "data", "back").CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}
