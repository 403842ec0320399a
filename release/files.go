package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// sources writes the files of the commit into the folder tree, with the version, and the tarball of the sources.
func (r *release) sources() error {
	var err error
	if r.commit, err = output(r.top, nil, "git", "rev-parse", "HEAD"); err != nil {
		return err
	}
	r.commit = strings.TrimSpace(r.commit)
	seconds, err := output(r.top, nil, "git", "show", "-s", "--format=%ct", "HEAD")
	if err != nil {
		return err
	}
	if r.time, err = unix(seconds); err != nil {
		return err
	}
	if changed, err := output(r.top, nil, "git", "status", "--porcelain", "--untracked-files=no"); err != nil {
		return err
	} else if changed != "" {
		fmt.Fprintf(os.Stderr, "release: these changes are not committed, and are left out:\n%s", changed)
	}
	if err := os.Mkdir(r.tree("."), 0o755); err != nil {
		return err
	}
	tarball := filepath.Join(r.work, "sources.tar")
	// The settings of who makes the release change nothing.
	if _, err := output(r.top, nil, "git", "-c", "core.autocrlf=false", "-c", "core.attributesFile=/dev/null", "archive", "-o", tarball, "HEAD"); err != nil {
		return err
	}
	if _, err := output(r.work, nil, "tar", "-xf", tarball, "-C", r.tree(".")); err != nil {
		return err
	}
	had, err := readVersion(r.tree("."))
	if err != nil {
		return err
	}
	if had != r.version.String() {
		if tag, _ := output(r.top, nil, "git", "tag", "--points-at", "HEAD", "v"+r.version.String()); tag != "" {
			return fmt.Errorf("the commit has the tag v%s, but its files have version %s", r.version, had)
		}
		fmt.Fprintf(os.Stderr, "release: the commit has version %s: for a release, commit what make version VERSION=%s writes\n", had, r.version)
		if err := setVersion(r.tree("."), r.version.String()); err != nil {
			return err
		}
	}
	return r.tarGz(r.out("cdfz-%s.tar.gz", r.version), r.tree("."), "cdfz-"+r.version.String())
}

// walk calls do for the folders, files and links below a folder in the order of their names, with names that begin
// with a prefix.
func walk(dir, prefix string, do func(name, file string, info fs.FileInfo) error) error {
	return filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		return do(path.Join(prefix, filepath.ToSlash(rel)), file, info)
	})
}

// mode returns the permissions of a file in an archive, whatever the umask was.
func mode(info fs.FileInfo) int64 {
	if info.IsDir() && info.Mode()&fs.ModeSticky != 0 {
		return 0o1777
	}
	if info.IsDir() || info.Mode()&0o100 != 0 {
		return 0o755
	}
	return 0o644
}

// tarOf writes a folder as a tar file: in the order of names, with one time, and owned by root.
func (r *release) tarOf(w io.Writer, dir, prefix string) error {
	t := tar.NewWriter(w)
	err := walk(dir, prefix, func(name, file string, info fs.FileInfo) error {
		if name == "." || name == "" {
			return nil
		}
		h := &tar.Header{Name: name, Mode: mode(info), ModTime: r.time, Format: tar.FormatPAX}
		switch {
		case info.IsDir():
			h.Typeflag, h.Name = tar.TypeDir, name+"/"
		case info.Mode().IsRegular():
			h.Typeflag, h.Size = tar.TypeReg, info.Size()
		default:
			target, err := os.Readlink(file)
			if err != nil {
				return err
			}
			h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, target, 0o777
		}
		if err := t.WriteHeader(h); err != nil || h.Typeflag != tar.TypeReg {
			return err
		}
		return copyFrom(t, file)
	})
	if err != nil {
		return err
	}
	return t.Close()
}

func copyFrom(w io.Writer, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// create makes a file with what write writes.
func create(name string, write func(w io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := write(f); err != nil {
		return err
	}
	return f.Close()
}

// gzipped compresses what write writes, without a name and a time.
func gzipped(w io.Writer, write func(w io.Writer) error) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := write(z); err != nil {
		return err
	}
	return z.Close()
}

// tarGz writes a folder as a compressed tar file.
func (r *release) tarGz(name, dir, prefix string) error {
	return create(name, func(w io.Writer) error {
		return gzipped(w, func(w io.Writer) error { return r.tarOf(w, dir, prefix) })
	})
}

// zipOf writes a folder as a ZIP file.
func (r *release) zipOf(name, dir, prefix string) error {
	return create(name, func(w io.Writer) error {
		z := zip.NewWriter(w)
		z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
		err := walk(dir, prefix, func(name, file string, info fs.FileInfo) error {
			if !info.Mode().IsRegular() {
				return nil
			}
			h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: r.time.UTC()}
			h.SetMode(fs.FileMode(mode(info)))
			f, err := z.CreateHeader(h)
			if err != nil {
				return err
			}
			return copyFrom(f, file)
		})
		if err != nil {
			return err
		}
		return z.Close()
	})
}

// install copies a file as write writes it.
func install(from, to string, perm fs.FileMode) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return write(to, b, perm)
}

// write makes a file and the folders above it. It compresses what it writes if the name ends with
// .gz and that is not compressed yet.
func write(to string, b []byte, perm fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	err := create(to, func(w io.Writer) error {
		plain := func(w io.Writer) error {
			_, err := w.Write(b)
			return err
		}
		if strings.HasSuffix(to, ".gz") && !bytes.HasPrefix(b, []byte{0x1f, 0x8b}) {
			return gzipped(w, plain)
		}
		return plain(w)
	})
	if err != nil {
		return err
	}
	return os.Chmod(to, perm)
}

// sum returns the SHA-256 of a file, in hexadecimal.
func sum(name string) (string, error) {
	h := sha256.New()
	if err := copyFrom(h, name); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// sums writes BUILD.txt, which tells how to make the same files, and SHA256SUMS. All files get the time of the commit.
func (r *release) sums() error {
	var b strings.Builder
	fmt.Fprintf(&b, "cdfz %s, commit %s of %s\n\nmake release VERSION=%s\n\nThe same files come from the same commit with:\n\n", r.version, r.commit, r.time.UTC().Format("2006-01-02T15:04:05Z"), r.version)
	for _, c := range [][]string{{"go", "version"}, {"gcc", "--version"}, {"aarch64-linux-gnu-gcc", "--version"}, {"/usr/bin/python3", "--version"},
		{"/usr/bin/python3", "-c", "import setuptools, wheel; print('setuptools', setuptools.__version__, 'wheel', wheel.__version__)"},
		{"dpkg-query", "-W", "-f", "${Package} ${Version}\n", "libc6-dev", "libhdf5-dev", "libnetcdf-dev", "zlib1g-dev", "libzstd-dev", "mkdocs", "mkdocs-material"}} {
		text, err := output(r.work, nil, c[0], c[1:]...)
		if err != nil {
			if r.complete {
				return err
			}
			continue
		}
		for line := range strings.Lines(text) {
			b.WriteString(strings.TrimSpace(line) + "\n")
			if c[0] != "dpkg-query" {
				break
			}
		}
	}
	if err := os.WriteFile(r.out("BUILD.txt"), []byte(b.String()), 0o644); err != nil {
		return err
	}
	var lines []string
	err := walk(r.dist, "", func(name, file string, info fs.FileInfo) error {
		if !info.Mode().IsRegular() {
			return nil
		}
		s, err := sum(file)
		lines = append(lines, s+"  "+name+"\n")
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	if err := os.WriteFile(r.out("SHA256SUMS"), []byte(strings.Join(lines, "")), 0o644); err != nil {
		return err
	}
	return walk(r.dist, "", func(name, file string, info fs.FileInfo) error {
		if !info.Mode().IsRegular() {
			return nil
		}
		return os.Chtimes(file, r.time, r.time)
	})
}
