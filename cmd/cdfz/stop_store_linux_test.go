package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestInterruptedUpload interrupts runs that upload in parts. They remove the parts before they end, also from a store that
// is slow.
func TestInterruptedUpload(t *testing.T) {
	s := newBucket(t)
	image := byteImage(rand.New(rand.NewPCG(1, 1)), 33<<20)
	require.NoError(t, os.WriteFile("x.nc", image, 0o644))
	s.done("archive", "-q", "-F", "none", "-o", "a/", "x.nc")
	for i, args := range [][]string{
		{"restore", "-q", "-o", "s3://bucket/x.nc", "a/x.nc.cdfz"},
		{"pack", "-q", "--size", "40M", "-o", "s3://bucket/vol/", "a"},
	} {
		begun, removed := make(chan bool), make(chan bool, 1)
		once := sync.OnceFunc(func() { close(begun) })
		s.set(func(w http.ResponseWriter, r *http.Request) bool {
			q := r.URL.Query()
			switch {
			case r.Method == http.MethodPost && q.Has("uploads"):
				fmt.Fprint(w, "<InitiateMultipartUploadResult><UploadId>1</UploadId></InitiateMultipartUploadResult>")
			case q.Has("partNumber"):
				once()
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
			case r.Method == http.MethodDelete:
				select {
				case <-time.After(time.Second):
					removed <- true
				case <-r.Context().Done(): // the run has ended
				}
			default:
				return false
			}
			return true
		})
		cmd := exec.Command(os.Args[0], args...)
		cmd.Args[0] = "cdfz"
		cmd.Env = append(os.Environ(), "TESTSCRIPT_COMMAND=cdfz")
		var msg bytes.Buffer
		cmd.Stderr = &msg
		require.NoError(t, cmd.Start())
		select {
		case <-begun:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			t.Fatalf("%v: no part was sent: %s", args, &msg)
		}
		require.NoError(t, cmd.Process.Signal(unix.SIGINT))
		require.Error(t, cmd.Wait())
		require.Equal(t, interrupted, cmd.ProcessState.ExitCode(), i)
		select {
		case <-removed:
		case <-time.After(time.Second):
			t.Fatalf("%v: the parts are still there", args)
		}
	}
}
