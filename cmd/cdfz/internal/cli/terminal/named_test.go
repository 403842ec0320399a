package terminal

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamedOnce(t *testing.T) {
	for text, want := range map[string]string{
		"member a.nc: open a.nc: no such file":           "member a.nc: no such file",
		"member d/a.nc: d/a.nc: damaged":                 "member d/a.nc: damaged",
		"a.nc: a.nc: damaged":                            "a.nc: damaged",
		`variable "a": variable "a"[0:2] (block 3): bad`: `variable "a"[0:2] (block 3): bad`,
		"member a.nc: open b.nc: no such file":           "member a.nc: open b.nc: no such file",
		"line 1: 1: bad":                                 "line 1: 1: bad",
		`variable "a": variable "ab"[0:2]`:               `variable "a": variable "ab"[0:2]`,
		"":                                               "",
	} {
		require.Equal(t, want, namedOnce(text))
	}
}
