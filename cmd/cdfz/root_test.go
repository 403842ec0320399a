package main

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cdfz-format/cdfz/cmd/cdfz/internal/cli"
)

// TestVerbs checks that a verb is found by its name, alone or among all, and so is its code, and
// that its help has examples.
func TestVerbs(t *testing.T) {
	all := root(cli.New(nil, io.Discard, io.Discard), nil).Commands()
	require.Len(t, all, len(verbs))
	for i, v := range verbs {
		require.Equal(t, v.name, all[i].Name())
		one := root(cli.New(nil, io.Discard, io.Discard), []string{v.name, "--help"}).Commands()
		require.Len(t, one, 1)
		require.Equal(t, v.name, one[0].Name())
		require.Equal(t, all[i].UsageString(), one[0].UsageString())
		if v.name != "version" && v.name != "man" {
			require.NotEmpty(t, all[i].Example, v.name)
			require.DirExists(t, filepath.Join("internal", v.name))
		}
	}
}
