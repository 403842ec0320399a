package atomicfile

import (
	"os"

	"golang.org/x/sys/unix"
)

func exchange(in *place, a, b string) error {
	dir := in.at()
	if err := unix.RenameatxNp(dir, in.name(a), dir, in.name(b), unix.RENAME_SWAP); err != nil {
		return &os.LinkError{Op: "exchange", Old: a, New: b, Err: err}
	}
	return nil
}
