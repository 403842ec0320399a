package run

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Cost is the cost of a run.
type Cost struct {
	Wall, CPU time.Duration
	RSS       int64 // peak of a process, in bytes
}

// Task is measured several times.
type Task struct {
	Name  string
	Run   func(round int) (Cost, error)
	Costs []Cost // by round
}

// Wall returns the median of wall times.
func (t *Task) Wall() time.Duration { return Median(t.Costs, Cost.wall) }

// CPU returns the median of processor times.
func (t *Task) CPU() time.Duration { return Median(t.Costs, Cost.cpu) }

func (c Cost) wall() time.Duration { return c.Wall }
func (c Cost) cpu() time.Duration  { return c.CPU }

// Turns runs the tasks in turns, so that other load on the machine affects all of them. If warm,
// it begins with a round, number -1, that does not count.
func Turns(n int, warm bool, tasks ...*Task) error {
	first := 0
	if warm {
		first = -1
	}
	for round := first; round < n; round++ {
		for _, t := range tasks {
			c, err := t.Run(round)
			if err != nil {
				return fmt.Errorf("%s: %w", t.Name, err)
			}
			if round >= 0 {
				t.Costs = append(t.Costs, c)
			}
		}
	}
	return nil
}

// Func returns the cost of f in this process.
func Func(f func() error) (Cost, error) {
	start, used := time.Now(), CPU()
	err := f()
	c := Cost{Wall: time.Since(start), CPU: CPU() - used}
	if used == 0 { // unknown on this system
		c.CPU = c.Wall
	}
	return c, err
}

// Command returns the cost of a program.
func Command(ctx context.Context, args ...string) (Cost, error) {
	c, _, err := Output(ctx, args...)
	return c, err
}

// Output returns the cost of a program, and its output.
func Output(ctx context.Context, args ...string) (Cost, []byte, error) {
	var b bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdout = &b
	c, err := Cmd(cmd, nil)
	return c, b.Bytes(), err
}

// Cmd runs a program and returns its cost. Its messages become part of the error. after, if not
// nil, runs when the program has succeeded, within the wall time.
func Cmd(cmd *exec.Cmd, after func() error) (Cost, error) {
	var messages bytes.Buffer
	if cmd.Stderr == nil {
		cmd.Stderr = &messages
	}
	start := time.Now()
	err := cmd.Run()
	if err == nil && after != nil {
		err = after()
	}
	c := Cost{Wall: time.Since(start)}
	if ps := cmd.ProcessState; ps != nil {
		c.CPU, c.RSS = ps.UserTime()+ps.SystemTime(), peakRSS(ps)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(messages.Bytes()))
	}
	return c, err
}

// Convert runs a program that converts the file in to the file out. In its arguments, IN and OUT
// stand for the files. Without OUT it writes to standard output. after is that of [Cmd].
func Convert(ctx context.Context, args []string, in, out string, after func() error) (Cost, error) {
	args, toFile := Fill(args, map[string]string{"IN": in, "OUT": out}), slices.Contains(args, "OUT")
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	if toFile {
		return Cmd(cmd, after)
	}
	f, err := os.Create(out)
	if err != nil {
		return Cost{}, err
	}
	cmd.Stdout = f // the process writes to it directly
	c, err := Cmd(cmd, after)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return c, err
}

// Fill returns arguments with the words in names replaced by their values.
func Fill(args []string, names map[string]string) []string {
	filled := slices.Clone(args)
	for i, a := range args {
		if v, ok := names[a]; ok {
			filled[i] = v
		}
	}
	return filled
}

// Median returns the median of a property of the members of a list, the zero value for none.
func Median[T any, V cmp.Ordered](list []T, of func(T) V) V { return Quantile(list, 0.5, of) }

// Quantile returns a property such that a share of the list has a smaller one.
func Quantile[T any, V cmp.Ordered](list []T, share float64, of func(T) V) (v V) {
	if len(list) == 0 {
		return v
	}
	sorted := make([]V, len(list))
	for i, x := range list {
		sorted[i] = of(x)
	}
	slices.Sort(sorted)
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

// Itself is the property of numbers that Median and Quantile take.
func Itself[T any](x T) T { return x }

// BytesBelow returns the sum of the sizes of all files below a folder.
func BytesBelow(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := d.Info()
		if err == nil {
			sum += st.Size()
		}
		return err
	})
	return sum, err
}
