package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// version is a version as semver.org has it, without build metadata.
type version struct {
	numbers string // 1.0.0
	pre     string // rc.1, or nothing
}

var semver = regexp.MustCompile(`^((?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*))(?:-(dev|(?:alpha|beta|rc)\.(?:0|[1-9]\d*)))?$`)

// parseVersion refuses what Python's versions cannot express, such as 1.0.0-next.
func parseVersion(s string) (version, error) {
	m := semver.FindStringSubmatch(s)
	if m == nil {
		return version{}, fmt.Errorf("expected a version such as 1.0.0, 1.0.0-rc.1 or 1.1.0-dev, found %q", s)
	}
	return version{m[1], m[2]}, nil
}

func (v version) String() string {
	if v.pre == "" {
		return v.numbers
	}
	return v.numbers + "-" + v.pre
}

// python returns the version as PEP 440 has it: 1.0.0rc1.
func (v version) python() string {
	kind, n, _ := strings.Cut(v.pre, ".")
	switch kind {
	case "":
		return v.numbers
	case "dev":
		return v.numbers + ".dev0"
	case "alpha", "beta":
		kind = kind[:1]
	}
	return v.numbers + kind + n
}

// debian returns the version as Debian and RPM have it: 1.0.0~rc.1.
func (v version) debian() string { return strings.Replace(v.String(), "-", "~", 1) }

// place is where a file names the version.
type place struct {
	file string
	line *regexp.Regexp // with one group
	text func(v version) string
}

// places are all files with the version. TestVersionPlaces in package archive compares them.
var places = []place{
	{"archive/internal/plan/version.go", regexp.MustCompile(`(?m)^const Version = "(.*)"$`), version.String},
	{"python/cdfz/__init__.py", regexp.MustCompile(`(?m)^__version__ = "(.*)"$`), version.String},
	{"c/lorenz.h", regexp.MustCompile(`(?m)^#define LORENZ_VERSION "(.*?)"`), version.String},
	{"c/lorenz.h", regexp.MustCompile(`(?m)^#define LORENZ_VERSION_MAJOR (\d+)$`), func(v version) string { return strings.Split(v.numbers, ".")[0] }},
	{"c/lorenz.h", regexp.MustCompile(`(?m)^#define LORENZ_VERSION_MINOR (\d+)$`), func(v version) string { return strings.Split(v.numbers, ".")[1] }},
	{"c/lorenz.h", regexp.MustCompile(`(?m)^#define LORENZ_VERSION_PATCH (\d+)$`), func(v version) string { return strings.Split(v.numbers, ".")[2] }},
	{"js/package.json", regexp.MustCompile(`(?m)^  "version": "(.*)",$`), version.String},
	{"CITATION.cff", regexp.MustCompile(`(?m)^version: (.*)$`), version.String},
}

// setVersion writes a version into the files of a checkout.
func setVersion(top, s string) error {
	v, err := parseVersion(s)
	if err != nil {
		return err
	}
	for _, p := range places {
		name := filepath.Join(top, p.file)
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		at := p.line.FindSubmatchIndex(b)
		if at == nil {
			return fmt.Errorf("%s: expected a line %s, found none", p.file, p.line)
		}
		b = append(append(append([]byte{}, b[:at[2]]...), p.text(v)...), b[at[3]:]...)
		if err := os.WriteFile(name, b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// readVersion returns the version of a checkout.
func readVersion(top string) (string, error) {
	b, err := os.ReadFile(filepath.Join(top, places[0].file))
	if err != nil {
		return "", err
	}
	m := places[0].line.FindSubmatch(b)
	if m == nil {
		return "", fmt.Errorf("%s: expected a line %s, found none", places[0].file, places[0].line)
	}
	return string(m[1]), nil
}
