package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// processes returns the processes of the program cdfz.
func processes() (pids []int) {
	names, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, n := range names {
		if exe, err := os.Readlink(n); err == nil && exe == cdfz {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(n))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// TestKills runs two pipelines over one tree at the same time, and kills cdfz and whole pipelines with
// their workers at random points. Killed pipelines begin again.
func TestKills(t *testing.T) {
	files, kills, deaths := 120, 25, 4
	if soak() {
		files, kills, deaths = 2000, 400, 40
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	dir := t.TempDir()
	want := tree(t, dir, files)
	args := []string{"archive", "-source", "data", "-o", "arch", "-dir", "jobs", "-shards", "12", "-attempts", "1000", "-catalogue"}

	var mu sync.Mutex
	running := map[*exec.Cmd]bool{}
	left := deaths // pipelines that are still to be killed
	runs, killed, died := 0, 0, 0
	var wg sync.WaitGroup
	errs := make(chan error, 2)
	for range 2 {
		wg.Go(func() {
			for {
				c := pipeline(t.Context(), dir, args...)
				mu.Lock()
				runs++
				err := c.Start()
				running[c] = err == nil
				mu.Unlock()
				if err != nil {
					errs <- err
					return
				}
				err = c.Wait()
				mu.Lock()
				delete(running, c)
				mu.Unlock()
				if err == nil {
					return
				} else if code := c.ProcessState.ExitCode(); code >= 0 {
					errs <- fmt.Errorf("a pipeline has ended with %d", code)
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	next := time.Now().Add(time.Second)
	for end := false; !end; {
		select {
		case <-done:
			end = true
		case <-time.After(time.Duration(1+r.IntN(100)) * time.Millisecond):
		}
		if pids := processes(); killed < kills && len(pids) > 0 {
			if p, err := os.FindProcess(pids[r.IntN(len(pids))]); err == nil && p.Kill() == nil {
				killed++
			}
		}
		if time.Now().Before(next) || left == 0 {
			continue
		}
		next = time.Now().Add(time.Duration(300+r.IntN(2000)) * time.Millisecond)
		mu.Lock()
		for c := range running {
			if c.Process.Kill() == nil {
				left--
				died++
			}
			break
		}
		mu.Unlock()
	}
	for len(processes()) > 0 { // those of pipelines that were killed
		time.Sleep(10 * time.Millisecond)
	}
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}

	twice, duplicates, losses := archived(t, dir, want)
	t.Logf("files %d, pipelines 2, runs of them %d, kill -9 of pipelines %d, of cdfz %d", len(want), runs, died, killed)
	t.Logf("duplicate receipts %d, made twice %d, losses %d", duplicates, twice, losses)
	require.Zero(t, duplicates+losses)
	require.Zero(t, twice)
	require.Positive(t, killed)
	require.Positive(t, died)
	require.Contains(t, command(t, dir, append([]string{"receipts"}, receiptsOf(t, dir)...)...), fmt.Sprintf("%d receipts: %d ok, 0 failed", len(want), len(want)))
	sum, code, msg := run1(t, dir, "restore", "-source", "arch", "-o", "back", "-dir", "jobs2", "-shards", "4")
	require.Zero(t, code, msg)
	require.EqualValues(t, len(want), sum.Files)
	require.Equal(t, want, sums(t, filepath.Join(dir, "back")))
}
