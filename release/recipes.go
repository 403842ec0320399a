package main

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

//go:embed all:templates
var templates embed.FS

// recipe is what the templates of recipes are filled with. They have << >> for {{ }}, which some of them use themselves.
type recipe struct {
	Version, Python, Home, Source, SHA256 string // the tarball of sources and its sum
	Sums                                  map[string]string
}

// recipes writes what other package systems build cdfz from.
func (r *release) recipes() error {
	source := r.out("cdfz-%s.tar.gz", r.version)
	digest, err := sum(source)
	if err != nil {
		return err
	}
	data := recipe{Version: r.version.String(), Python: r.version.python(), Home: home, SHA256: digest, Sums: map[string]string{},
		Source: home + "/releases/download/v" + r.version.String() + "/" + filepath.Base(source)}
	for _, t := range r.targets {
		name := r.out("cdfz-%s-%s-%s.tar.gz", r.version, t.os, t.arch)
		if t.os == "windows" {
			continue
		}
		if data.Sums[t.os+"_"+t.arch], err = sum(name); err != nil {
			return err
		}
	}
	dir, err := r.dir("recipes")
	if err != nil {
		return err
	}
	err = fs.WalkDir(templates, "templates", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := templates.ReadFile(name)
		if err != nil {
			return err
		}
		t, err := template.New(name).Delims("<<", ">>").Option("missingkey=error").Parse(string(b))
		if err != nil {
			return err
		}
		var filled bytes.Buffer
		if err := t.Execute(&filled, data); err != nil {
			return err
		}
		to := strings.ReplaceAll(strings.TrimPrefix(name, "templates/"), "VERSION", r.version.String())
		return write(filepath.Join(dir, filepath.FromSlash(to)), filled.Bytes(), 0o644)
	})
	if err != nil {
		return err
	}
	return r.tarGz(r.out("cdfz-recipes-%s.tar.gz", r.version), dir, "recipes")
}

// sbom returns the bill of materials of the program for Linux on amd64, in the format of CycloneDX.
func (r *release) sbom() ([]byte, error) {
	name := filepath.Join(r.work, "sbom.json")
	// The tool takes the version of the program from git.
	for _, args := range [][]string{{"init", "-q"}, {"add", "go.mod"}, {"-c", "user.name=cdfz", "-c", "user.email=cdfz", "commit", "-q", "-m", "files"}, {"tag", "v" + r.version.String()}} {
		env := []string{"GIT_AUTHOR_DATE=" + r.epoch() + " +0000", "GIT_COMMITTER_DATE=" + r.epoch() + " +0000", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"}
		if _, err := output(r.tree("."), env, "git", args...); err != nil {
			return nil, err
		}
	}
	defer os.RemoveAll(r.tree(".git"))
	env := append(target{"linux", "amd64"}.env(), "GOFLAGS=-mod=mod")
	tool := filepath.Join(r.work, "cyclonedx-gomod")
	if _, err := output(filepath.Join(r.top, "release"), nil, "go", "build", "-o", tool, "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod"); err != nil {
		return nil, err
	}
	if _, err := output(r.tree("."), env, tool, "app", "-json", "-licenses", "-std", "-noserial", "-notimestamp", "-main", "cmd/cdfz", "-output", name, "."); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(f, cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		return nil, err
	}
	// The tool knows modules only.
	for _, s := range scripts {
		b, err := os.ReadFile(r.tree(s.file))
		if err != nil {
			return nil, err
		}
		url := fmt.Sprintf("pkg:npm/%s@%s", s.name, s.version)
		c := cyclonedx.Component{BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: s.name, Version: s.version, PackageURL: url}
		var licences cyclonedx.Licenses
		for _, kind := range kindsOf(string(b)) {
			licences = append(licences, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: kind}})
		}
		c.Licenses = &licences
		*bom.Components = append(*bom.Components, c)
	}
	var b bytes.Buffer
	err = cyclonedx.NewBOMEncoder(&b, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(&bom)
	return b.Bytes(), err
}
