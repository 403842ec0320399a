// Package js has the files of the npm package cdfz, and those that show archives on the page of cdfz serve without a
// server, for the viewer that cdfz export writes.
package js

import "embed"

// Files are the modules of JavaScript, in folders src, vendor and viewer.
//
//go:embed src/*.js vendor/* viewer/*.js
var Files embed.FS
