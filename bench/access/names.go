package main

import (
	"fmt"
	"strings"
)

func joined(n []int64) string { return strings.ReplaceAll(strings.Trim(fmt.Sprint(n), "[]"), " ", ",") }

// kinds are the kinds of measurements.
const (
	kindPoint  = "point"
	kindMap    = "map"
	kindPoints = "1000 points"
	kindSeries = "series"
	kindScan   = "scan"
)

var kinds = []string{kindPoint, kindMap, kindPoints, kindSeries, kindScan}

// The programs, as the report names them.
const (
	toolCdfz    = "cdfz"
	toolNC4     = "netCDF-4"
	toolChunked = "netCDF-4, chunked"
	toolRaw     = "classic, netCDF-C"
	toolZarr    = "zarr"
	toolSeek    = "zstd seekable"
)

var toolOrder = []string{toolCdfz, toolNC4, toolChunked, toolRaw, toolZarr, toolSeek}
