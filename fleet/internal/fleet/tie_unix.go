//go:build unix

package fleet

import (
	"os"
	"os/exec"
	"sync"
)

// lifeline is a pipe of this worker. Nothing is written into it. When the worker ends, however it ends, the
// system closes the other end, and every cdfz that has inherited this one ends, too. A signal at the death
// of the parent (PR_SET_PDEATHSIG) would not do: Linux sends it when the thread ends that has started the
// process, and Go ends threads.
var lifeline = sync.OnceValues(func() (p pipe, err error) {
	p.r, p.w, err = os.Pipe()
	return p, err
})

// pipe has both ends, so that the one of the worker stays open as long as it lives.
type pipe struct{ r, w *os.File }

// tie lets a command end when this worker ends.
func tie(cmd *exec.Cmd) error {
	p, err := lifeline()
	if err != nil {
		return err
	}
	cmd.ExtraFiles = []*os.File{p.r} // descriptor 3
	cmd.Env = append(cmd.Environ(), "CDFZ_LIFELINE=3")
	return nil
}
