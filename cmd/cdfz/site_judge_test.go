//go:build judge

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJudgeSite makes the site, which checks its links, and compares the figures of its front page with the results. A page that
// loads something from the network, and a link to nothing, must fail.
func TestJudgeSite(t *testing.T) {
	dir := t.TempDir()
	out, err := exec.Command("../../.ci/site/build", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	b, err := os.ReadFile(filepath.Join(dir, "index.html"))
	require.NoError(t, err)
	results, err := os.ReadFile("../../bench/results/2026-11-27-ratio.txt")
	require.NoError(t, err)
	bars := regexp.MustCompile(`--n:([0-9.]+)">([0-9.]+)<`).FindAllSubmatch(b, -1)
	require.Len(t, bars, 5)
	for _, bar := range bars {
		require.Regexp(t, ` `+regexp.QuoteMeta(string(bar[1]))+`(\s|$)`, string(results))
		ratio, err := strconv.ParseFloat(string(bar[1]), 64)
		require.NoError(t, err)
		shown, err := strconv.ParseFloat(string(bar[2]), 64)
		require.NoError(t, err)
		require.InDelta(t, ratio, shown, 0.00501)
	}
	for name, text := range map[string]string{
		"load": `<script src="https://example.org/x.js"></script>`, "link": `<a href="nowhere.html">x</a>`, "part": `<a href="index.html#nowhere">x</a>`,
	} {
		page := filepath.Join(dir, "fault.html")
		require.NoError(t, os.WriteFile(page, []byte(text), 0o666))
		require.Error(t, exec.Command("../../.ci/site/check", dir).Run(), name)
		require.NoError(t, os.Remove(page))
	}
	require.NoError(t, exec.Command("../../.ci/site/check", dir).Run())
}
