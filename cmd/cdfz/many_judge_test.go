//go:build judge && linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// fewFiles is a limit for the open files of a server, and manyFiles the number of archives that its users have open.
const fewFiles, manyFiles = 100, 240

// limited makes a command line that runs this test's cdfz with few open files.
func limited(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	script := fmt.Sprintf(`ulimit -n %d; exec -a cdfz "$0" "$@"`, fewFiles)
	return exec.Command("bash", append([]string{"-c", script, exe}, args...)...)
}

// manyArchives makes files and a folder of their archives. The kernel does not read the files ahead to their ends.
func manyArchives(t *testing.T) (images map[string][]byte, archives string) {
	t.Helper()
	images = map[string][]byte{}
	for i := range manyFiles {
		images[fmt.Sprintf("%03d.nc", i)] = byteImage(rand.New(rand.NewPCG(uint64(i), 1)), 60000)
	}
	_, archives = archived(t, images)
	return images, archives
}

// openFiles returns the number of files that a process has open.
func openFiles(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", cmd.Process.Pid))
	require.NoError(t, err)
	return len(list)
}

// TestJudgeMountFew has more files open in a mount than its process may have.
func TestJudgeMountFew(t *testing.T) {
	images, archives := manyArchives(t)
	at := t.TempDir()
	cmd := limited(t, "mount", archives, at)
	startMount(t, at, cmd)
	var open []*os.File
	for i := range manyFiles {
		f, err := os.Open(filepath.Join(at, fmt.Sprintf("%03d.nc", i)))
		require.NoError(t, err)
		defer f.Close()
		open = append(open, f)
	}
	check := func(off, n int) {
		got := make([]byte, n)
		for i, f := range open {
			image := images[fmt.Sprintf("%03d.nc", i)]
			_, err := f.ReadAt(got, int64(len(image)-off))
			require.NoError(t, err)
			require.True(t, bytes.Equal(image[len(image)-off:len(image)-off+n], got))
		}
		require.Less(t, openFiles(t, cmd), fewFiles/2)
	}
	check(len(images["000.nc"]), 10)
	check(1, 1)

	// One that was read just now is still open, and others are not.
	for _, i := range []int{0, manyFiles - 1} {
		require.NoError(t, os.Remove(filepath.Join(archives, fmt.Sprintf("%03d.nc.cdfz", i))))
	}
	var b [1]byte
	_, err := open[manyFiles-1].ReadAt(b[:], 30000)
	require.NoError(t, err)
	_, err = open[0].ReadAt(b[:], 30000)
	require.ErrorContains(t, err, "stale file handle")
}

// TestJudgeRunFew has more files open in several programs than the server of the run may have.
func TestJudgeRunFew(t *testing.T) {
	_, archives := manyArchives(t)
	cmd := limited(t, "run", "--", "bash", "-c", `
for k in 0 1 2 3; do
  (files=(*.nc); for f in "${files[@]:k*60:60}"; do exec {fd}<$f || exit 1; all+=($fd); done
   for fd in "${all[@]}"; do head -c 3 <&$fd; done; echo) &
  wait_for+=($!)
done
for p in "${wait_for[@]}"; do wait $p || echo failed; done`)
	cmd.Dir = archives
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, strings.Repeat("CDF", 4*60), strings.ReplaceAll(string(out), "\n", ""))
}

// TestJudgeServeFew sends more requests at the same time than the server may have open files, and for more files.
func TestJudgeServeFew(t *testing.T) {
	images, archives := manyArchives(t)
	s := serveWith(t, limited(t, "serve", "--listen", "127.0.0.1:0", archives))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var g errgroup.Group
	g.SetLimit(2 * fewFiles)
	for i := range 2 * manyFiles {
		g.Go(func() error {
			name := fmt.Sprintf("%03d.nc", i%manyFiles)
			for {
				a, err := client.Get(s.at + "/files/" + name)
				if err != nil {
					return err
				}
				b, err := io.ReadAll(a.Body)
				a.Body.Close()
				switch {
				case err != nil:
					return err
				case a.StatusCode == http.StatusServiceUnavailable:
					time.Sleep(20 * time.Millisecond) // as clients do
					continue
				case !bytes.Equal(b, images[name]):
					return fmt.Errorf("%s: %s with %d bytes", name, a.Status, len(b))
				}
				return nil
			}
		})
	}
	require.NoError(t, g.Wait())
}

// TestJudgeJoinFew reads one value of each of many archives.
func TestJudgeJoinFew(t *testing.T) {
	_, archives := manyArchives(t)
	files, err := filepath.Glob(filepath.Join(archives, "*.cdfz"))
	require.NoError(t, err)
	all := filepath.Join(archives, "all.ncml")
	out, err := limited(t, append([]string{"join", "-q", "--new", "run", "-o", all}, files...)...).CombinedOutput()
	require.NoError(t, err, string(out))
	out, err = limited(t, "get", all, "v[:,0]", "--format", "csv").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, manyFiles+1, bytes.Count(out, []byte("\n")), string(out))
}
