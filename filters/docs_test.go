package filters_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/cdfz-format/cdfz/filters/all" // the tests of this package use its filters
)

var (
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)
	testName = regexp.MustCompile(`\b(?:Test|Fuzz|Example)[A-Z]\w*`)
	rowID    = regexp.MustCompile(`\b([BKFPQDL])(\d+)(?:–[BKFPQDL](\d+))?\b`)
)

// rowCount has the number of rows for each letter.
var rowCount = map[string]int{"B": 22, "K": 17, "F": 19, "P": 15, "Q": 14, "D": 3, "L": 20}

// TestDocumentedRows checks CONTRIBUTING.md: it has each row once, the tests that it names
// exist, and a test that a row names contains the number of the row.
func TestDocumentedRows(t *testing.T) {
	sources := testSources(t)
	b, err := os.ReadFile("../CONTRIBUTING.md")
	require.NoError(t, err)
	doc := string(b)
	for _, name := range testName.FindAllString(doc, -1) {
		require.Contains(t, sources, name)
	}
	section := doc[strings.Index(doc, "## Requirements of the filters"):]
	letters, seen := map[string]string{}, map[string]bool{}
	for line := range strings.Lines(section) {
		cell := strings.Split(strings.TrimSuffix(strings.TrimSpace(line), " |"), " | ")
		if len(cell) < 3 {
			continue
		}
		first, last := strings.TrimPrefix(cell[0], "| "), cell[2]
		if letter, test := first, testName.FindString(cell[1]); len(letter) == 1 && test != "" {
			letters[letter] = test
			continue
		}
		if len(cell) != 4 {
			continue
		}
		ids := expand(t, first)
		for _, id := range ids {
			require.False(t, seen[id], "row %s twice", id)
			seen[id] = true
		}
		if len(ids) > 0 {
			requireTests(t, ids, last, letters, sources)
		}
	}
	for letter, n := range rowCount {
		for i := range n {
			require.True(t, seen[letter+strconv.Itoa(i+1)], "row %s%d is missing", letter, i+1)
		}
	}
	require.Len(t, letters, 11)
	require.Equal(t, 110, len(seen))
}

// requireTests checks that the tests of rows exist, and that one of them has the number
// of each row.
func requireTests(t *testing.T, ids []string, text string, letters, sources map[string]string) {
	if strings.HasPrefix(text, "not implemented") || text == "the command" { // which TestRowCommands in cmd/cdfz runs
		return
	}
	var found []string
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(" ,;`", r) }) {
		if name := letters[word]; name != "" {
			word = name
		}
		if sources[word] != "" {
			found = append(found, word)
		}
	}
	for _, id := range ids {
		number := regexp.MustCompile(`(\b|Test)` + id + `(\b|_)`)
		assert.True(t, slices.ContainsFunc(found, func(name string) bool { return number.MatchString(sources[name]) }), "row %s is not in %v", id, found)
	}
}

// expand returns the numbers of rows in a cell such as "K1–K4" or "P1, P2".
func expand(t *testing.T, cell string) (ids []string) {
	for _, m := range rowID.FindAllStringSubmatch(cell, -1) {
		from, err := strconv.Atoi(m[2])
		require.NoError(t, err)
		to := from
		if m[3] != "" {
			to, err = strconv.Atoi(m[3])
			require.NoError(t, err)
		}
		for i := from; i <= to; i++ {
			ids = append(ids, fmt.Sprint(m[1], i))
		}
	}
	return ids
}

// testSources returns the source of each test of the module and each script of the
// command, by its name.
func testSources(t *testing.T) map[string]string {
	sources := map[string]string{}
	require.NoError(t, filepath.WalkDir("..", func(name string, e fs.DirEntry, err error) error {
		script := filepath.Ext(name) == ".txtar"
		if err != nil || !script && !strings.HasSuffix(name, "_test.go") {
			return err
		}
		b, err := os.ReadFile(name)
		if script {
			sources[filepath.Base(name)] = string(b)
		}
		for _, m := range testFunc.FindAllStringSubmatch(string(b), -1) {
			sources[m[1]] += string(b)
		}
		return err
	}))
	return sources
}
