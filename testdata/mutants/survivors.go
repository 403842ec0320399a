package main

import (
	"fmt"
	"os"
	"strings"
)

// readSurvivors reads the list of checks that no vector finds: the key of each and the reason,
// separated by a tab. Lines that begin with # are comments.
func readSurvivors(path string) (map[string]string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	list := map[string]string{}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, reason, ok := strings.Cut(line, "\t")
		if _, twice := list[key]; !ok || reason == "" || twice {
			return nil, fmt.Errorf("%s, line %d: expected a check, a tab and a reason, each check once, found %q", path, n, line)
		}
		list[key] = reason
	}
	return list, nil
}
