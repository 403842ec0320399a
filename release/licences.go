package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licencesFile is what cdfz version --licenses prints.
const licencesFile = "cmd/cdfz/licences.txt"

// scripts are the packages of npm whose code is in the pages of cdfz serve and cdfz export --viewer, and in the package
// js/, and the files with their licences.
var scripts = []struct{ name, version, file string }{
	{"fzstd", "0.1.1", "js/vendor/fzstd-license.txt"},
	{"gifenc", "1.0.3", "cmd/cdfz/internal/page/static/vendor/gifenc-license.txt"},
	{"uplot", "1.6.32", "cmd/cdfz/internal/page/static/vendor/uplot-license.txt"},
	{"world-atlas", "2.0.2", "cmd/cdfz/internal/page/static/vendor/world-atlas-license.txt"},
}

// linked is a module that the program links on some system.
type linked struct {
	path, version, dir string
	folders            []string // of the packages that are linked
}

// linkedModules returns the modules that the program links on any of the systems, sorted by path, without ours.
func linkedModules(top string) ([]linked, error) {
	all := map[string]*linked{}
	for _, t := range targets {
		tags := ""
		if t.host() {
			tags = "plugins"
		}
		args := []string{"list", "-deps", "-json=ImportPath,Dir,Module,Standard", "-tags", tags, "./cmd/cdfz"}
		if tags != "" {
			args = append(args, "./cmd/cdfz-plugin-host")
		}
		text, err := output(top, t.env(), "go", args...)
		if err != nil {
			return nil, err
		}
		d := json.NewDecoder(strings.NewReader(text))
		for {
			var p struct {
				Dir    string
				Module *struct {
					Path, Version, Dir string
					Main               bool
				}
			}
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if p.Module == nil || p.Module.Main {
				continue
			}
			m := all[p.Module.Path]
			if m == nil {
				m = &linked{path: p.Module.Path, version: p.Module.Version, dir: p.Module.Dir}
				all[m.path] = m
			}
			if !slices.Contains(m.folders, p.Dir) {
				m.folders = append(m.folders, p.Dir)
			}
		}
	}
	list := make([]linked, 0, len(all))
	for _, m := range all {
		list = append(list, *m)
	}
	slices.SortFunc(list, func(a, b linked) int { return strings.Compare(a.path, b.path) })
	return list, nil
}

var (
	termsName   = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-.].*)?$`)
	licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying)`)
)

// terms returns the paths of the files with the terms of a module: those in its folder, and those between that and the
// packages that are linked.
func (m linked) terms() ([]string, error) {
	var names []string
	seen := map[string]bool{}
	for _, dir := range m.folders {
		for ; len(dir) >= len(m.dir) && !seen[dir]; dir = filepath.Dir(dir) {
			seen[dir] = true
			entries, err := os.ReadDir(dir)
			if err != nil {
				return nil, err
			}
			for _, e := range entries {
				if e.Type().IsRegular() && termsName.MatchString(e.Name()) && filepath.Ext(e.Name()) != ".go" {
					names = append(names, filepath.Join(dir, e.Name()))
				}
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// kinds are phrases by which licences are told from each other.
var kinds = []struct{ name, phrase string }{
	{"MPL-2.0", "Mozilla Public License"},
	{"Apache-2.0", "Apache License"},
	{"CC0-1.0", "CC0 1.0 Universal"},
	{"BSD-3-Clause", "Neither the name"},
	{"BSD-3-Clause", "be used to endorse or promote"},
	{"BSD-2-Clause", "Redistributions in binary form"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software"},
	{"ISC", "Permission to use, copy, modify, and distribute this software"},
	{"MIT", "Permission is hereby granted, free of charge"},
	{"Unlicense", "This is free and unencumbered software"},
}

// kindsOf returns the licences in a text.
func kindsOf(text string) []string {
	text = strings.Join(strings.Fields(text), " ")
	var found []string
	for _, k := range kinds {
		// The phrase of two clauses is in those of three, too.
		if strings.Contains(text, k.phrase) && !slices.Contains(found, k.name) && (k.name != "BSD-2-Clause" || !slices.Contains(found, "BSD-3-Clause")) {
			found = append(found, k.name)
		}
	}
	return found
}

// licencesText returns the list of modules, and the texts of their licences, each once.
func licencesText(top string) (string, error) {
	modules, err := linkedModules(top)
	if err != nil {
		return "", err
	}
	root, err := output(top, nil, "go", "env", "GOROOT")
	if err != nil {
		return "", err
	}
	root = strings.TrimSpace(root)
	modules = append(modules, linked{path: "Go's standard library", dir: root, folders: []string{root}})
	var list, texts strings.Builder
	list.WriteString("cdfz is under the Apache License 2.0. These modules are linked into the program, on some systems only, and these\npackages of npm are in its web pages:\n\n")
	var order []string
	users := map[string][]string{}
	for _, m := range modules {
		files, err := m.terms()
		if err != nil {
			return "", err
		}
		var found []string
		for _, name := range files {
			b, err := os.ReadFile(name)
			if err != nil {
				return "", err
			}
			text := strings.TrimSpace(strings.ReplaceAll(string(b), "\r\n", "\n"))
			base, err := filepath.Rel(m.dir, name)
			if err != nil {
				return "", err
			}
			here := kindsOf(text)
			found = append(found, here...)
			if len(here) == 0 && licenceName.MatchString(filepath.Base(name)) {
				return "", fmt.Errorf("%s %s: %s: a licence that this program does not know", m.path, m.version, base)
			}
			if users[text] == nil {
				order = append(order, text)
			}
			users[text] = append(users[text], m.path+": "+filepath.ToSlash(base))
		}
		if len(found) == 0 {
			return "", fmt.Errorf("%s %s: expected a file with its licence, found none", m.path, m.version)
		}
		fmt.Fprintf(&list, "%s: %s\n", strings.TrimSpace(m.path+" "+m.version), strings.Join(slices.Compact(slices.Sorted(slices.Values(found))), ", "))
	}
	for _, s := range scripts {
		b, err := os.ReadFile(filepath.Join(top, s.file))
		if err != nil {
			return "", err
		}
		text := strings.TrimSpace(string(b))
		found := kindsOf(text)
		if len(found) == 0 {
			return "", fmt.Errorf("%s: a licence that this program does not know", s.file)
		}
		if users[text] == nil {
			order = append(order, text)
		}
		users[text] = append(users[text], "npm/"+s.name+": "+filepath.Base(s.file))
		fmt.Fprintf(&list, "npm/%s v%s: %s\n", s.name, s.version, strings.Join(found, ", "))
	}
	for _, text := range order {
		fmt.Fprintf(&texts, "\n%s\n%s\n\n%s\n", strings.Repeat("-", 100), strings.Join(users[text], "\n"), text)
	}
	return list.String() + texts.String(), nil
}

func writeLicences(top string) error {
	text, err := licencesText(top)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(top, licencesFile), []byte(text), 0o644)
}

// bill writes the bill of materials of the program, and the licences of what it links.
func (r *release) bill() error {
	text, err := licencesText(r.tree("."))
	if err != nil {
		return err
	}
	if b, err := os.ReadFile(r.tree(licencesFile)); err != nil {
		return err
	} else if string(b) != text {
		return fmt.Errorf("%s is not what make licences writes", licencesFile)
	}
	if err := os.WriteFile(r.out("cdfz-%s-licences.txt", r.version), []byte(text), 0o644); err != nil {
		return err
	}
	if !r.complete {
		return nil
	}
	sbom, err := r.sbom()
	if err != nil {
		return err
	}
	return os.WriteFile(r.out("cdfz-%s-sbom.cdx.json", r.version), sbom, 0o644)
}
