//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cdfz-format/cdfz/bench/internal/run"
)

// killed kills the command that writes at random moments, looks at what is left, and runs it again.
func (s *steps) killed(ctx context.Context, data string, t *run.Table) error {
	if err := s.clear(true); err != nil {
		return err
	}
	whole, err := run.Cmd(s.start(ctx, s.write), nil)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(47, 0))
	for i := range *kills {
		if err := s.clear(true); err != nil {
			return err
		}
		// A part of the time each, so that few kills are everywhere.
		at := time.Duration(float64(whole.Wall) * (float64(i) + rng.Float64()) / float64(*kills))
		if err := s.kill(ctx, at); err != nil {
			return err
		}
		left, size, err := s.left()
		if err != nil {
			return err
		}
		list, check := s.outcome(ctx, s.list), s.outcome(ctx, s.check)
		cmd := s.start(ctx, s.write)
		again, err := run.Cmd(cmd, nil)
		then := "written"
		if err != nil {
			then = ended(err)
		}
		restored := s.restored(ctx, data)
		t.Row(s.name, at.Seconds(), whole.Wall.Seconds(), left, float64(size)/1e6, list, check, again.CPU.Seconds(), then, restored)
	}
	return nil
}

// kill begins the command that writes, and kills it with all that it has started.
func (s *steps) kill(ctx context.Context, after time.Duration) error {
	cmd := s.start(ctx, s.write)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	time.Sleep(after)
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = cmd.Wait()
	if errors.Is(err, syscall.ESRCH) { // it has ended before
		err = nil
	}
	return err
}

// left describes the result so far: what is there, and what of it is hidden.
func (s *steps) left() (text string, size int64, err error) {
	names, hidden := 0, 0
	err = filepath.WalkDir(s.out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if strings.HasPrefix(d.Name(), ".") {
			hidden++
			return nil
		}
		names++
		st, err := d.Info()
		size += st.Size()
		return err
	})
	text = fmt.Sprintf("%d files", names)
	if hidden > 0 {
		text += fmt.Sprintf(", %d temporary", hidden)
	}
	return text, size, err
}

// outcome runs a step, and describes how it ends: with 0 for an incomplete result, nothing tells that.
func (s *steps) outcome(ctx context.Context, command string) string {
	cmd := s.start(ctx, command)
	out, err := cmd.Output()
	return fmt.Sprintf("%s, %d lines", ended(err), strings.Count(string(out), "\n"))
}

// ended describes the end of a command.
func ended(err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "exit 0"
	case errors.As(err, &exit):
		return fmt.Sprintf("exit %d", exit.ExitCode())
	}
	return err.Error()
}

// restored restores all, and compares it with the folder.
func (s *steps) restored(ctx context.Context, data string) string {
	if err := os.RemoveAll(filepath.Join(s.work, "back")); err != nil {
		return err.Error()
	}
	if out, err := s.start(ctx, s.restore).CombinedOutput(); err != nil {
		return "fails: " + lastLine(out)
	}
	cmd := exec.CommandContext(ctx, "diff", "-rq", data, filepath.Join(s.work, "back"))
	out, err := cmd.Output()
	if err == nil {
		return "all"
	}
	return fmt.Sprintf("%d files differ", strings.Count(string(out), "\n"))
}

func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.ReplaceAll(lines[len(lines)-1], "\t", " ")
}
