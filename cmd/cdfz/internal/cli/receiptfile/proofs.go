package receiptfile

import (
	"os"
	"time"

	"github.com/cdfz-format/cdfz/internal/atomicfile"
)

// Proofs calls use for each receipt of a file, with the time when its run began: the archive was proved after
// that. The error is that of reading, or the first damage of the file. Nothing is changed.
func Proofs(name string, use func(rec *Receipt, began time.Time)) error {
	f, err := os.Open(name)
	if err != nil {
		return atomicfile.Cause(err)
	}
	defer f.Close()
	var damage error
	s := new(scan)
	s.use = func(_ int, rec *Receipt) { use(rec, s.c.began) }
	s.bad = func(e *LineError) {
		if damage == nil {
			damage = e
		}
	}
	if err := s.all(f); err != nil {
		return err
	}
	return damage
}
