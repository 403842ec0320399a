package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/json"
	"maps"
	"slices"

	"github.com/cdfz-format/cdfz/bench/internal/run"
)

// entry decodes the JSON of an entry of an archive.
func entry[T any](archive []byte, name string) (v T, err error) {
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return v, err
	}
	f, err := z.Open(name)
	if err != nil {
		return v, err
	}
	defer f.Close()
	return v, json.NewDecoder(f).Decode(&v)
}

// object is a JSON object.
type object = map[string]any

// removals are parts of plan and manifest that could be left out.
var removals = []struct {
	name   string
	entry  string
	remove func(o object)
}{
	{"entries, stored and front of the manifest", ".cdfz/manifest.json", func(o object) { without(o, "entries", "stored", "front") }},
	{"type, shape and segment of variables in the plan", ".cdfz/plan.json", func(o object) {
		list, _ := o["vars"].([]any)
		for _, v := range list {
			without(v.(object), "type", "shape", "segment")
		}
	}},
}

func without(o object, names ...string) {
	for _, n := range names {
		delete(o, n)
	}
}

// partsOf prints the sizes of archives without some parts, relative to those with them.
func partsOf(rep *run.Report, now map[string]made) error {
	t := table(rep, "archives without")
	for _, r := range removals {
		var all ratios
		for _, a := range now {
			o, err := entry[object](a.bytes, r.entry)
			if err != nil {
				return err
			}
			before := deflated(o)
			r.remove(o)
			all.add(a.size, float64(len(a.bytes)-before+deflated(o))/float64(len(a.bytes)))
		}
		row(t, r.name, &all)
	}
	return nil
}

// deflated returns the length of a deflated JSON object.
func deflated(o object) int {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		panic(err)
	}
	w.Write(text) // a buffer does not fail
	w.Close()
	return b.Len()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
