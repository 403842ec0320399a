package main

import (
	"archive/zip"
	"debug/elf"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// maintainer is who Debian's tools name.
const maintainer = "The cdfz developers <cdfz-format@users.noreply.github.com>"

// pkg is a package in the formats of Debian and RPM. Its files lie in a folder of the name of each format.
type pkg struct {
	name, arch, section, summary, text string
	depends, recommends                map[string][]string // by format
	ldconfig                           bool                // it has a library that programs are linked with
	scripts                            map[string]nfpm.Scripts
	overrides                          []string // what lintian says, and the reason as a comment before it
}

func (p *pkg) root(r *release, format string) string {
	return filepath.Join(r.work, "packages", format, p.name+"-"+p.arch)
}

var formats = []string{"deb", "rpm"}

// packages writes the packages for the targets with Linux. Those with libraries in C are for this machine's processor.
func (r *release) packages() error {
	for _, t := range r.targets {
		if t.os != "linux" {
			continue
		}
		if err := r.commandPackage(t); err != nil {
			return err
		}
	}
	if !r.complete {
		return nil
	}
	return r.libraries()
}

// commandPackage writes the package cdfz.
func (r *release) commandPackage(t target) error {
	p := &pkg{name: "cdfz", arch: t.arch, section: "science", summary: "compressed archives of classic netCDF files",
		text: `cdfz turns classic netCDF files (CDF-1, CDF-2, CDF-5) into compressed archives, reads any part of them without
decompressing the rest, and restores the original files bit for bit. Archives are ZIP files, and Zarr stores which
xarray opens. Folders of archives can be mounted, searched, verified, repaired, and served over HTTP and OPeNDAP.`,
		recommends: map[string][]string{"deb": {"fuse3"}, "rpm": {"fuse3"}},
		overrides: []string{
			"# The program is one file for all systems, and links no C library.",
			"cdfz: statically-linked-binary *",
			"# Go links programs without these.",
			"cdfz: hardening-no-pie *",
			"cdfz: hardening-no-relro *",
		}}
	if t.host() { // cdfz-plugin-host is linked with the C library
		p.depends = map[string][]string{"deb": {"libc6"}, "rpm": {"libc.so.6()(64bit)"}}
	}
	for _, format := range formats {
		to := func(name string) string { return filepath.Join(p.root(r, format), filepath.FromSlash(name)) }
		if err := install(filepath.Join(r.bin(t), "cdfz"), to("usr/bin/cdfz"), 0o755); err != nil {
			return err
		}
		if t.host() {
			if err := install(filepath.Join(r.bin(t), "cdfz-plugin-host"), to("usr/bin/cdfz-plugin-host"), 0o755); err != nil {
				return err
			}
			if err := os.MkdirAll(to("usr/share/man/man1"), 0o755); err != nil {
				return err
			}
			if err := os.Symlink("cdfz-plugins.1.gz", to("usr/share/man/man1/cdfz-plugin-host.1.gz")); err != nil {
				return err
			}
		}
		pages, err := filepath.Glob(filepath.Join(r.texts(), "man", "*.1"))
		if err != nil {
			return err
		}
		for _, page := range pages {
			if err := install(page, to("usr/share/man/man1/"+filepath.Base(page)+".gz"), 0o644); err != nil {
				return err
			}
		}
		zsh := map[string]string{"deb": "vendor-completions", "rpm": "site-functions"}[format]
		for from, name := range map[string]string{"bash/cdfz": "bash-completion/completions/cdfz", "zsh/_cdfz": "zsh/" + zsh + "/_cdfz", "fish/cdfz.fish": "fish/vendor_completions.d/cdfz.fish"} {
			if err := install(filepath.Join(r.texts(), "completions", from), to("usr/share/"+name), 0o644); err != nil {
				return err
			}
		}
		if err := install(r.tree(licencesFile), to("usr/share/doc/cdfz/licences.txt.gz"), 0o644); err != nil {
			return err
		}
	}
	return r.pack(p)
}

// triplets are Debian's names of processors in paths.
var triplets = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu", "riscv64": "riscv64-linux-gnu"}

// libraries writes the packages of the library in C, of what it is linked into, and of the Python package.
func (r *release) libraries() error {
	arch, err := output(r.work, nil, "go", "env", "GOARCH")
	if err != nil {
		return err
	}
	arch = strings.TrimSpace(arch)
	lib := &pkg{name: "libcdfz0", arch: arch, section: "libs", ldconfig: true, summary: "reader of cdfz archives of netCDF files, library",
		overrides: []string{"# nfpm does not write this file. Debian's own packages of programs that use the library would need it.", "libcdfz0: no-shlibs *"},
		text:      "A library in C that reads archives of cdfz: variables, parts of them, and the original file."}
	dev := &pkg{name: "libcdfz-dev", arch: arch, section: "libdevel", summary: "reader of cdfz archives of netCDF files, for programs in C",
		text: "Headers, the static library and manual pages for programs in C that read archives of cdfz.",
		depends: map[string][]string{"deb": {fmt.Sprintf("libcdfz0 (= %s-1)", r.version.debian()), "zlib1g-dev", "libzstd-dev"},
			"rpm": {"libcdfz0", "pkgconfig(zlib)", "pkgconfig(libzstd)"}}}
	netcdf := &pkg{name: "libnetcdf-cdfz", arch: arch, section: "libs", summary: "cdfz archives for programs that use netCDF-C",
		text: `With this library, programs that use netCDF-C 4.9 read archives of cdfz by their names: ncdump, NCO, R, netCDF4 for
Python. LD_PRELOAD=libnccdfz.so adds it to a program.`,
		depends:  map[string][]string{"deb": {"libnetcdf22 | libnetcdf19t64 | libnetcdf19"}, "rpm": {"netcdf"}},
		ldconfig: true,
		overrides: []string{"# The name is the one that users preload, and programs are not linked with it.",
			"libnetcdf-cdfz: package-name-doesnt-match-sonames *", "libnetcdf-cdfz: shared-library-lacks-version *"}}
	hdf5 := &pkg{name: "hdf5-plugin-lorenz", arch: arch, section: "science", summary: "HDF5 filter for blocks of cdfz",
		text:       "A plugin with which programs that use HDF5 read the netCDF-4 files that cdfz exports with its own compression.",
		recommends: map[string][]string{"deb": {"libhdf5-310 | libhdf5-103-1t64 | libhdf5-103-1"}, "rpm": {"hdf5"}}}
	python := &pkg{name: "python3-cdfz", arch: arch, section: "python", summary: "reader of cdfz archives of netCDF files for Python and xarray",
		text: "An engine of xarray, codecs of Zarr, and the original files, from archives of cdfz.",
		depends: map[string][]string{"deb": {"python3 (>= 3.9)", "python3-numpy", "python3-numcodecs | python3-zstandard"},
			"rpm": {"python3 >= 3.9", "python3-numpy", "python3-zstandard"}},
		recommends: map[string][]string{"deb": {"cdfz", "python3-xarray"}, "rpm": {"cdfz", "python3-xarray"}},
		scripts: map[string]nfpm.Scripts{
			"deb": {PostInstall: pythonDeb("if command -v py3compile >/dev/null 2>&1; then py3compile -p python3-cdfz; fi", "configure"),
				PreRemove: pythonDeb("if command -v py3clean >/dev/null 2>&1; then py3clean -p python3-cdfz; else rm -rf /usr/lib/python3/dist-packages/cdfz/__pycache__; fi", "")},
			"rpm": {PostInstall: pthInstall, PreRemove: pthRemove},
		}}
	for _, format := range formats {
		dir := "usr/lib/" + triplets[arch]
		if format == "rpm" {
			dir = "usr/lib64"
		}
		built := filepath.Join(r.work, "c-"+format)
		args := []string{"-s", "-C", "c", "OUT=../built", "PREFIX=/usr", "LIBDIR=/" + dir, "DESTDIR=" + built,
			"CFLAGS=-O2 -fstack-protector-strong -Wp,-D_FORTIFY_SOURCE=2", "LDFLAGS=-s -Wl,-z,relro,-z,now"}
		if _, err := output(r.tree("."), nil, "make", append(args, "install")...); err != nil {
			return err
		}
		from := func(name string) string { return filepath.Join(built, filepath.FromSlash(name)) }
		plugins := map[string]string{"deb": dir + "/hdf5/serial/plugins", "rpm": dir + "/hdf5/plugin"}[format]
		for _, f := range []struct {
			p        *pkg
			from, to string
		}{
			{lib, dir + "/libcdfz.so.0", ""},
			{dev, "usr/include/cdfz.h", ""}, {dev, "usr/include/lorenz.h", ""}, {dev, dir + "/libcdfz.a", ""}, {dev, dir + "/pkgconfig/cdfz.pc", ""},
			{dev, "usr/share/man/man3/cdfz.3", "usr/share/man/man3/cdfz.3.gz"},
			{netcdf, dir + "/libnccdfz.so", ""}, {netcdf, dir + "/pkgconfig/nccdfz.pc", ""}, {netcdf, "usr/share/man/man3/nccdfz.3", "usr/share/man/man3/nccdfz.3.gz"},
			{hdf5, dir + "/hdf5/plugin/libh5lorenz.so", plugins + "/libh5lorenz.so"},
		} {
			if f.to == "" {
				f.to = f.from
			}
			if err := install(from(f.from), filepath.Join(f.p.root(r, format), f.to), 0o644); err != nil {
				return err
			}
		}
		if err := os.Symlink("libcdfz.so.0", filepath.Join(dev.root(r, format), dir, "libcdfz.so")); err != nil {
			return err
		}
		for p, name := range map[*pkg]string{lib: dir + "/libcdfz.so.0", netcdf: dir + "/libnccdfz.so", hdf5: plugins + "/libh5lorenz.so"} {
			if err := p.needs(filepath.Join(p.root(r, format), name), format); err != nil {
				return err
			}
		}
		if err := r.pythonFiles(python.root(r, format), map[string]string{"deb": "usr/lib/python3/dist-packages", "rpm": "usr/share/cdfz/python"}[format]); err != nil {
			return err
		}
		if err := python.needs(filepath.Join(python.root(r, format), map[string]string{"deb": "usr/lib/python3/dist-packages", "rpm": "usr/share/cdfz/python"}[format], "cdfz/liblorenz.so"), format); err != nil {
			return err
		}
	}
	for _, p := range []*pkg{lib, dev, netcdf, hdf5, python} {
		if err := r.pack(p); err != nil {
			return err
		}
	}
	return nil
}

// pythonDeb returns a script of a package of Debian that does something when its argument is step, or always.
func pythonDeb(do, step string) string {
	if step != "" {
		do = fmt.Sprintf("if [ \"$1\" = %s ]; then\n  %s\nfi", step, do)
	}
	return "#!/bin/sh\nset -e\n" + do + "\n"
}

// A package of RPM does not know which version of Python is there. It adds a line with its folder to that version's.
const (
	pthInstall = `#!/bin/sh
python3 -c 'import pathlib, sysconfig
(pathlib.Path(sysconfig.get_path("purelib")) / "cdfz.pth").write_text("/usr/share/cdfz/python\n")'
`
	pthRemove = `#!/bin/sh
[ "$1" != 0 ] || python3 -c 'import pathlib, shutil, sysconfig
(pathlib.Path(sysconfig.get_path("purelib")) / "cdfz.pth").unlink(missing_ok=True)
shutil.rmtree("/usr/share/cdfz/python/cdfz/__pycache__", ignore_errors=True)'
`
)

// pythonFiles writes the Python package with the decoder in C, and without the program, which has its own package.
func (r *release) pythonFiles(root, dir string) error {
	z, err := zip.OpenReader(r.out("python/%s", r.wheelName(manylinux+"_"+machine())))
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		base := filepath.Base(f.Name)
		if base == "RECORD" || base == "WHEEL" || strings.HasPrefix(base, "LICENSE") || strings.HasPrefix(f.Name, "cdfz/bin/") {
			continue // for installers, and the program
		}
		in, err := f.Open()
		if err != nil {
			return err
		}
		b, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(root, dir, filepath.FromSlash(f.Name)), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// debianLibraries are Debian's packages of the libraries that ours need.
var debianLibraries = map[string]string{"libz.so.1": "zlib1g", "libzstd.so.1": "libzstd1"}

// needs adds the libraries that a library needs to the dependencies of its package.
func (p *pkg) needs(name, format string) error {
	f, err := elf.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	libs, err := f.ImportedLibraries()
	if err != nil {
		return err
	}
	if p.depends == nil {
		p.depends = map[string][]string{}
	}
	glibc, err := glibcOf(f)
	if err != nil {
		return err
	}
	list := []string{"libc6 (>= " + glibc + ")"}
	if format == "rpm" {
		list = []string{fmt.Sprintf("libc.so.6(GLIBC_%s)(64bit)", glibc)}
	}
	for _, l := range libs {
		switch {
		case strings.HasPrefix(l, "libc.so") || strings.HasPrefix(l, "ld-linux"):
		case format == "rpm":
			list = append(list, l+"()(64bit)")
		case debianLibraries[l] == "":
			return fmt.Errorf("%s needs %s, whose package this program does not know", filepath.Base(name), l)
		default:
			list = append(list, debianLibraries[l])
		}
	}
	p.depends[format] = append(list, p.depends[format]...)
	return nil
}

var glibcVersion = regexp.MustCompile(`^GLIBC_(\d+)\.(\d+)`)

// glibcOf returns the latest version of the GNU C library that a library's symbols need.
func glibcOf(f *elf.File) (string, error) {
	symbols, err := f.ImportedSymbols()
	if err != nil {
		return "", err
	}
	most := []int{2, 0}
	for _, s := range symbols {
		m := glibcVersion.FindStringSubmatch(s.Version)
		if m == nil {
			continue
		}
		major, _ := strconv.Atoi(m[1])
		minor, _ := strconv.Atoi(m[2])
		if v := []int{major, minor}; slices.Compare(v, most) > 0 {
			most = v
		}
	}
	return fmt.Sprintf("%d.%d", most[0], most[1]), nil
}

// pack writes a package in both formats, with what Debian's policy and the licence ask for.
func (r *release) pack(p *pkg) error {
	for _, format := range formats {
		root := p.root(r, format)
		if err := r.terms(p, format, root); err != nil {
			return err
		}
		info := &nfpm.Info{
			Name: p.name, Arch: p.arch, Platform: "linux", Version: r.version.String(), Release: "1", Section: p.section, Priority: "optional",
			Maintainer: maintainer, Homepage: home, License: "Apache-2.0", Description: p.summary + "\n" + wrapped(p.text), MTime: r.time,
			Overridables: nfpm.Overridables{
				Depends: p.depends[format], Recommends: p.recommends[format],
				Deb: nfpm.Deb{Compression: "gzip"},
				RPM: nfpm.RPM{BuildHost: "localhost", Summary: p.summary, Compression: "zstd", Group: "Applications/Engineering"},
			},
		}
		if p.ldconfig && format == "deb" {
			info.Deb.Triggers.ActivateNoAwait = []string{"ldconfig"}
		}
		if p.ldconfig && format == "rpm" {
			info.Scripts = nfpm.Scripts{PostInstall: "#!/bin/sh\n/sbin/ldconfig\n", PostRemove: "#!/bin/sh\n/sbin/ldconfig\n"}
		}
		if s, ok := p.scripts[format]; ok {
			info.Scripts = s
		}
		for _, s := range []*string{&info.Scripts.PostInstall, &info.Scripts.PreRemove, &info.Scripts.PostRemove} {
			if *s == "" {
				continue
			}
			dir := filepath.Join(r.work, "scripts")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			name, err := os.CreateTemp(dir, "")
			if err != nil {
				return err
			}
			if _, err := name.WriteString(*s); err != nil {
				return err
			}
			*s = name.Name()
			if err := name.Close(); err != nil {
				return err
			}
		}
		err := walk(root, "/", func(name, file string, i fs.FileInfo) error {
			c := &files.Content{Source: file, Destination: name, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", MTime: r.time, Mode: fs.FileMode(mode(i))}}
			switch {
			case i.IsDir() && format == "rpm" && (strings.Contains(name, "/"+p.name) || strings.Contains(name, "/cdfz")):
				c.Source, c.Type, c.FileInfo.Mode = "", files.TypeDir, 0o755 // those that the package has for itself go with it
			case i.IsDir():
				return nil // nfpm adds them
			case i.Mode().IsRegular():
			default:
				target, err := os.Readlink(file)
				if err != nil {
					return err
				}
				c.Source, c.Type, c.FileInfo.Mode = target, files.TypeSymlink, 0
			}
			info.Contents = append(info.Contents, c)
			return nil
		})
		if err != nil {
			return err
		}
		info = nfpm.WithDefaults(info)
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		// Sites that files are published on replace the ~ of a candidate in their names, and their sums would not be found.
		info.Target = r.out("%s", strings.ReplaceAll(packager.ConventionalFileName(info), "~", "-"))
		if err := create(info.Target, func(w io.Writer) error { return packager.Package(info, w) }); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(info.Target), err)
		}
	}
	return nil
}

// terms writes a package's copyright and log of changes, where its format has them.
func (r *release) terms(p *pkg, format, root string) error {
	doc := filepath.Join(root, "usr/share/doc", p.name)
	if format == "rpm" {
		if err := install(r.tree("CHANGELOG.md"), filepath.Join(doc, "CHANGELOG.md"), 0o644); err != nil {
			return err
		}
		return install(r.tree("LICENSE"), filepath.Join(root, "usr/share/licenses", p.name, "LICENSE"), 0o644)
	}
	for name, text := range map[string]string{
		"copyright": fmt.Sprintf(`Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: cdfz
Source: %s

Files: *
Copyright: %d The cdfz developers
License: Apache-2.0
Comment: The program links modules in Go under other free licences, which cdfz version --licenses prints.

License: Apache-2.0
 On Debian systems, the text of the Apache License 2.0 is in /usr/share/common-licenses/Apache-2.0.
`, home, r.time.Year()),
		"changelog.Debian.gz": fmt.Sprintf("cdfz (%s-1) unstable; urgency=medium\n\n  * Version %s. changelog.gz tells what is new.\n\n -- %s  %s\n",
			r.version.debian(), r.version, maintainer, r.time.Format("Mon, 02 Jan 2006 15:04:05 -0700")),
	} {
		if err := write(filepath.Join(doc, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := install(r.tree("CHANGELOG.md"), filepath.Join(doc, "changelog.gz"), 0o644); err != nil {
		return err
	}
	overrides := append([]string{"# A package of the project, not of Debian: there is no request for packaging to close.", p.name + ": initial-upload-closes-no-bugs *"}, p.overrides...)
	return write(filepath.Join(root, "usr/share/lintian/overrides", p.name), []byte(strings.Join(overrides, "\n")+"\n"), 0o644)
}

// wrapped returns a text in lines of at most 76 bytes.
func wrapped(text string) string {
	var b strings.Builder
	n := 0
	for _, word := range strings.Fields(text) {
		switch {
		case n == 0:
		case n+1+len(word) > 76:
			b.WriteByte('\n')
			n = 0
		default:
			b.WriteByte(' ')
			n++
		}
		b.WriteString(word)
		n += len(word)
	}
	return b.String()
}
