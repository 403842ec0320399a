package storage

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mount is a line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
type mount struct {
	id      int
	dev     string // of the file system, MAJOR:MINOR
	at      string
	kind    string
	source  string
	options []string // of the mount and of the file system, escaped
}

// mounts returns the mounts of this process.
func mounts() ([]mount, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return parseMounts(f)
}

func parseMounts(r io.Reader) ([]mount, error) {
	var list []mount
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20) // an overlay can have many layers
	for s.Scan() {
		left, right, ok := strings.Cut(s.Text(), " - ")
		a, b := strings.Fields(left), strings.Split(right, " ") // a source may be empty
		if !ok || len(a) < 6 || len(b) < 3 {
			continue
		}
		id, err := strconv.Atoi(a[0])
		if err != nil {
			continue
		}
		list = append(list, mount{
			id: id, dev: a[2], at: unescape(a[4]), kind: unescape(b[0]), source: unescape(b[1]),
			options: append(strings.Split(a[5], ","), strings.Split(b[2], ",")...),
		})
	}
	return list, s.Err()
}

// unescape replaces the octal numbers that stand for blanks, backslashes and commas.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// option returns the values of an option, which may be given several times.
func (m *mount) option(name string) []string {
	var values []string
	for _, o := range m.options {
		if v, ok := strings.CutPrefix(o, name+"="); ok {
			values = append(values, unescape(v))
		}
	}
	return values
}

// mountID returns the number of the mount by which a file was opened.
func mountID(f *os.File) (int, error) {
	fd := int(f.Fd())
	var x unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &x); err == nil && x.Mask&unix.STATX_MNT_ID != 0 {
		return int(x.Mnt_id), nil
	}
	b, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(fd)) // Linux before 5.8
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(b) {
		if v, ok := bytes.CutPrefix(line, []byte("mnt_id:")); ok {
			return strconv.Atoi(string(bytes.TrimSpace(v)))
		}
	}
	return 0, errors.New("the system does not tell the mount of a file")
}
