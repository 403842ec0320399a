// Package nativetest starts the programs in c/test that answer tests of the C library.
package nativetest

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// Program is a running program. It ends with the test.
type Program struct {
	In  io.WriteCloser
	Out *bufio.Reader
	err bytes.Buffer
}

// Start runs the command that CDFZ_NATIVE has. It fails the test if the program fails in the end.
func Start(t *testing.T) *Program {
	t.Helper()
	name := os.Getenv("CDFZ_NATIVE")
	require.NotEmpty(t, name, "CDFZ_NATIVE is not set: it names the program that make test-native builds")
	p := new(Program)
	cmd := exec.Command("/bin/sh", "-c", name)
	cmd.Stderr = &p.err
	var err error
	p.In, err = cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	p.Out = bufio.NewReader(out)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		p.In.Close()
		require.NoError(t, cmd.Wait(), "%s", p.err.String())
	})
	return p
}

// Last ends the program and returns what it wrote since, for the report of an error.
func (p *Program) Last() string {
	p.In.Close()
	rest, _ := io.ReadAll(p.Out)
	return string(rest) + p.err.String()
}
