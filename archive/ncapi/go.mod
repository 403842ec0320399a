module github.com/cdfz-format/cdfz/archive/ncapi

go 1.26.0

require (
	github.com/batchatco/go-native-netcdf v0.0.0-20260301225244-0bb1a8cdaa17
	github.com/cdfz-format/cdfz v0.0.0 // not released yet
	github.com/stretchr/testify v1.12.1
)
