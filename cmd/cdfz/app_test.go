package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVerbs: a verb is found by its name, alone or among all.
func TestVerbs(t *testing.T) {
	all := (&app{}).root(nil).Commands()
	require.Len(t, all, len(verbs))
	for i, v := range verbs {
		require.Equal(t, v.name, all[i].Name())
		one := (&app{}).root([]string{v.name, "--help"}).Commands()
		require.Len(t, one, 1)
		require.Equal(t, v.name, one[0].Name())
		require.Equal(t, all[i].UsageString(), one[0].UsageString())
	}
}
