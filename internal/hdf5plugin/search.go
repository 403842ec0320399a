package hdf5plugin

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/cdfz-format/cdfz/internal/urls"
)

// Default is the element of a search path that stands for [DefaultFolders].
const Default = "default"

// DefaultFolders returns the folders that HDF5 searches if HDF5_PLUGIN_PATH is not set, as
// documented and as packaged by Debian (H5PL_DEFAULT_PATH). They are searched only on
// request.
func DefaultFolders() []string { return defaultFolders(runtime.GOOS, runtime.GOARCH, os.Getenv) }

func defaultFolders(goos, goarch string, getenv func(string) string) []string {
	switch goos {
	case "windows":
		return []string{getenv("ALLUSERSPROFILE") + `\hdf5\lib\plugin`}
	case "linux":
		machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64", "386": "i386"}[goarch]
		if machine == "" {
			machine = goarch
		}
		return []string{"/usr/local/hdf5/lib/plugin", "/usr/lib/" + machine + "-linux-gnu/hdf5/serial/plugins"}
	}
	return []string{"/usr/local/hdf5/lib/plugin"}
}

// SearchPath returns the folders of the user's search path: those of given, and then those
// of the variable HDF5_PLUGIN_PATH. Both are lists like PATH. A URL, which no folder is, is one element without its
// user, password and query: messages show folders. The element [Default] stands
// for the default folders. If HDF5_PLUGIN_PRELOAD is "::", which disables plugins in HDF5,
// the variable is ignored. An empty result means that the user wants no plugins.
func SearchPath(given []string, getenv func(string) string) []string {
	lists := slices.Clone(given)
	if getenv("HDF5_PLUGIN_PRELOAD") != "::" {
		lists = append(lists, getenv("HDF5_PLUGIN_PATH"))
	}
	var out []string
	add := func(dir string) {
		if dir != "" && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	for _, list := range lists {
		for _, dir := range splitList(list) {
			if dir != Default {
				add(dir)
				continue
			}
			for _, dir := range DefaultFolders() {
				add(dir)
			}
		}
	}
	return out
}

// urlStart matches the start of a URL that is an element of a list. A scheme of one letter is a drive.
var urlStart = regexp.MustCompile(`(?:^|` + string(filepath.ListSeparator) + `)([A-Za-z][A-Za-z0-9+.-]+://)`)

// splitList divides a list of folders. The colons of a URL divide nothing, and it loses its secrets.
func splitList(list string) []string {
	at := urlStart.FindStringSubmatchIndex(list)
	if at == nil {
		return filepath.SplitList(list)
	}
	rest := list[at[2]:]
	// The last @ ends the password, which may have any characters, and a slash the host.
	from := max(at[3]-at[2], strings.LastIndexByte(rest, '@')+1)
	if i := strings.IndexByte(rest[from:], '/'); i >= 0 {
		from += i
	} else {
		from = len(rest)
	}
	end := len(rest)
	if i := strings.IndexAny(rest[from:], "?#"+string(filepath.ListSeparator)); i >= 0 && rest[from+i] == filepath.ListSeparator {
		end = from + i
	}
	out := append(filepath.SplitList(list[:at[2]]), urls.Redact(rest[:end]))
	return append(out, splitList(strings.TrimPrefix(rest[end:], string(filepath.ListSeparator)))...)
}

// isPlugin reports whether HDF5 on a system takes a file of that name for a plugin
// (H5PL__path_table_iterate in H5PLpath.c).
func isPlugin(goos, name string) bool {
	switch goos {
	case "windows":
		return strings.HasSuffix(strings.ToLower(name), ".dll")
	case "cygwin":
		return strings.HasPrefix(name, "cyg") && strings.Contains(name, ".dll")
	case "darwin":
		return strings.HasPrefix(name, "lib") && (strings.Contains(name, ".dylib") || strings.Contains(name, ".so"))
	}
	return strings.HasPrefix(name, "lib") && strings.Contains(name, ".so")
}

// candidates returns the absolute paths of the files in a folder that could be plugins, in
// the order of their names. HDF5 takes them in the order of the folder, which differs
// between machines.
func candidates(dir string) ([]string, error) {
	if urlStart.MatchString(dir) {
		return nil, errors.New("expected a folder, found a URL")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir) // sorted
	var out []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !isPlugin(runtime.GOOS, e.Name()) {
			continue
		}
		// Anything else, such as a pipe, could block the reader for ever.
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			out = append(out, path)
		}
	}
	return out, err
}
