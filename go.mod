module github.com/cdfz-format/cdfz

go 1.26.0

require (
	github.com/dsnet/compress v0.0.2-0.20230904184137-39efe44ab707
	github.com/klauspost/compress v1.20.3
	github.com/maypok86/otter/v2 v2.4.0
	github.com/pierrec/lz4/v4 v4.1.33
	github.com/stretchr/testify v1.12.1
)

require go.yaml.in/yaml/v3 v3.0.5 // indirect
