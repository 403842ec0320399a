package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWords: the dictionary is what the words make.
func TestWords(t *testing.T) {
	words, err := os.ReadFile("../words.txt")
	require.NoError(t, err)
	got, err := dictionary(words)
	require.NoError(t, err)
	want, err := os.ReadFile("../dictionary1.bin")
	require.NoError(t, err)
	require.True(t, string(want) == string(got))
}
