package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Programs that read a file answer measurement requests. A request on standard input is
// the number of selections, then a line for each:
//
//	VAR RANK START… COUNT… BYTES
//
// The program opens the file again, reads all selections and answers with a line:
//
//	OPEN READ OPEN-CPU READ-CPU SUM
//
// Times are in ns, and READ excludes the work between reads. SUM adds up all bytes,
// each times its position in its selection counted from 1, modulo 2^64, in this
// machine's byte order.

// selection is a part of a variable.
type selection struct {
	name         string
	start, count []int64
	bytes        int64
}

// sample is the answer to a measurement.
type sample struct {
	open, read       time.Duration // wall
	openCPU, readCPU time.Duration
	sum              uint64
}

// child is a program that answers measurement requests.
type child struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

func startChild(ctx context.Context, name string, env []string, args ...string) (*child, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &child{name, cmd, in, bufio.NewReader(out)}, nil
}

// stop ends the program.
func (c *child) stop() error {
	c.in.Close()
	return c.cmd.Wait()
}

// measure lets the program read the selections.
func (c *child) measure(sel []selection) (sample, error) {
	var b strings.Builder
	fmt.Fprintln(&b, len(sel))
	for _, s := range sel {
		fmt.Fprint(&b, s.name, " ", len(s.start))
		for _, x := range append(append([]int64{}, s.start...), s.count...) {
			fmt.Fprint(&b, " ", x)
		}
		fmt.Fprintln(&b, "", s.bytes)
	}
	var s sample
	_, err := io.WriteString(c.in, b.String())
	if err == nil {
		_, err = fmt.Fscanln(c.out, &s.open, &s.read, &s.openCPU, &s.readCPU, &s.sum)
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", c.name, err)
	}
	return s, nil
}
