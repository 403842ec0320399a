//go:build judge

package archive

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// judgeProcess is a program of testdata/judge. It takes seconds to start, so one
// process serves many files. It answers each line of JSON with another.
type judgeProcess struct {
	in  *json.Encoder
	out *bufio.Reader
}

func startJudge(t testing.TB, script string) judgeProcess {
	t.Helper()
	cmd := exec.Command("/usr/bin/python3", "../testdata/judge/"+script)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return judgeProcess{json.NewEncoder(in), bufio.NewReader(out)}
}

// ask sends a job and reads the verdict.
func (j judgeProcess) ask(t testing.TB, job, verdict any) {
	t.Helper()
	var line []byte
	err := j.in.Encode(job)
	if err == nil {
		line, err = j.out.ReadBytes('\n')
	}
	if err == nil {
		err = json.Unmarshal(line, verdict)
	}
	require.NoError(t, err, "judge: %s", line)
}
