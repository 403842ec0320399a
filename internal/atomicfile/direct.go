package atomicfile

// directFrom is the expected size from which a file is written without the page cache. On virtual
// machines that have given free memory back, new pages of the cache can cost more processor time
// than everything else, and they displace the pages of other files.
const directFrom = 256 << 20

// Direct writes must be multiples of directUnit on common devices and file systems. Others refuse such writes, and the file is written as usual. Large slices begin at a page.
const directUnit = 4096

// setDirect makes writes bypass the page cache, or use it again.
func (t *File) setDirect(on bool) {
	if t.direct == on || on && t.refused {
		return
	}
	if sys.direct(t.f, on) != nil {
		t.refused = true
		return
	}
	t.direct = on
}

// writeData writes at offset at, where the last write or seek has ended. It bypasses the page cache if possible and
// if the file is to be large.
func (t *File) writeData(p []byte, at int64) (n int, err error) {
	whole := len(p) / directUnit * directUnit
	t.setDirect(t.o.Size >= directFrom && at%directUnit == 0 && whole > 0)
	if t.direct {
		n, err = t.f.Write(p[:whole])
		if err != nil && !unsupported(Cause(err)) {
			return n, err
		}
		t.refused = err != nil
		if n == len(p) {
			return n, nil
		}
		t.setDirect(false)
	}
	k, err := t.f.Write(p[n:])
	return n + k, err
}
