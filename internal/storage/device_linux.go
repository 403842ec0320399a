package storage

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sysBlock has a link for each block device.
const sysBlock = "/sys/dev/block"

const majorLoop = 7

// memoryDevices matches the names of disks in memory.
var memoryDevices = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(ram|zram|nullb)\d+`) })

// device adds a block device to what a file system is stored on.
func (m *Mounts) device(p *Place, major, minor uint32, depth int) {
	p.volumes = append(p.volumes, fmt.Sprintf("the device %d:%d", major, minor))
	m.behind(p, fmt.Sprintf("%d:%d", major, minor), depth)
}

// behind looks for memory and for files behind a block device.
func (m *Mounts) behind(p *Place, number string, depth int) {
	lost := func() {
		p.weak, p.unknown = "the file behind its loop device is out of sight", "the file behind a loop device is out of sight"
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(sysBlock, number))
	switch {
	case depth > maxNested:
		return
	case err != nil && strings.HasPrefix(number, fmt.Sprint(majorLoop, ":")):
		lost()
		return
	case err != nil:
		return
	case memoryDevices().MatchString(filepath.Base(dir)):
		p.weak, p.memory = "its device is in memory", true
		return
	}
	if _, err := os.Stat(filepath.Join(dir, "partition")); err == nil {
		if b, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "dev")); err == nil {
			m.behind(p, strings.TrimSpace(string(b)), depth+1)
		}
		return
	}
	if strings.HasPrefix(number, fmt.Sprint(majorLoop, ":")) {
		b, err := os.ReadFile(filepath.Join(dir, "loop", "backing_file"))
		if err != nil {
			lost()
			return
		}
		q, err := m.below(strings.TrimSuffix(string(b), "\n"), nil, depth)
		if err != nil {
			lost()
			return
		}
		p.inherit(q)
		return
	}
	slaves, err := filepath.Glob(filepath.Join(dir, "slaves", "*", "dev"))
	if err != nil {
		return
	}
	for _, name := range slaves {
		if b, err := os.ReadFile(name); err == nil {
			m.behind(p, strings.TrimSpace(string(b)), depth+1)
		}
	}
}

// ioctl makes a request about an open file. arg is read and written.
func ioctl[T any](f *os.File, request uintptr, arg *T) error {
	_, _, no := unix.Syscall(unix.SYS_IOCTL, f.Fd(), request, uintptr(unsafe.Pointer(arg)))
	if no != 0 {
		return no
	}
	return nil
}
