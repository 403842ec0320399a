//go:build !linux

package access

import (
	"io/fs"
	"os"
)

const accessACL = ""

func ofOpen(_ *os.File, st fs.FileInfo) *Rights { return fromInfo(st) }

func ofPath(_ string, st fs.FileInfo) *Rights { return fromInfo(st) }

func hasACL(*os.File) bool { return false }

func (r *Rights) setACL(*os.File) bool { return false }

func dropACL(*os.File, string) bool { return true }

func setPreset(*os.File, []byte) {}

func (r *Rights) fromACL([]byte) bool { return false }

func setRaw(*os.File, []byte) bool { return false }
