package run

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Child is a program that answers requests on its standard input with a line each.
type Child struct {
	cmd      *exec.Cmd
	in       io.WriteCloser
	out      *bufio.Reader
	messages bytes.Buffer
}

// Start starts a program, with additional variables of the environment.
func Start(ctx context.Context, env []string, args ...string) (*Child, error) {
	c := &Child{cmd: exec.CommandContext(ctx, args[0], args[1:]...)}
	c.cmd.Env = append(os.Environ(), env...)
	c.cmd.Stderr = &c.messages
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	return c, c.cmd.Start()
}

// Ask returns the answer to a request of whole lines.
func (c *Child) Ask(request []byte) ([]byte, error) {
	_, err := c.in.Write(request)
	var line []byte
	if err == nil {
		line, err = c.out.ReadBytes('\n')
	}
	if err != nil {
		c.Stop()
		return nil, fmt.Errorf("%w: %s", err, c.messages.Bytes())
	}
	return line, nil
}

// Stop ends the program.
func (c *Child) Stop() {
	c.in.Close()
	c.cmd.Wait()
}
