module github.com/cdfz-format/cdfz

go 1.26.0

require (
	github.com/VictoriaMetrics/metrics v1.45.0 // metrics of cdfz serve
	github.com/agnivade/levenshtein v1.2.2 // "did you mean"
	github.com/chromedp/cdproto v0.159.0 // chromedp's types
	github.com/chromedp/chromedp v0.23.0 // Chromium as a judge of the page of cdfz serve
	github.com/dsnet/compress v0.0.2-0.20230904184137-39efe44ab707 // writes bzip2
	github.com/ebitengine/purego v0.11.3 // libnetcdf as a judge, without cgo
	github.com/go-json-experiment/json v0.0.0-20260214004413-d219187c3433 // jsontext: plan and manifest
	github.com/golang/snappy v1.0.0 // encodes to the same bytes on every CPU
	github.com/hanwen/go-fuse/v2 v2.12.1 // cdfz mount
	github.com/hashicorp/golang-lru/v2 v2.0.7 // caches
	github.com/johannesboyne/gofakes3 v1.2.0 // an S3 server for tests
	github.com/klauspost/compress v1.20.3 // zstd and deflate
	github.com/klauspost/cpuid/v2 v2.4.0 // whether there is VPCLMULQDQ
	github.com/klauspost/reedsolomon v1.14.2 // parity
	github.com/minio/minio-go/v7 v7.4.1 // credentials, signatures and uploads of s3:// URLs
	github.com/parquet-go/parquet-go v0.32.0 // a judge of the Parquet that cdfz writes and reads
	github.com/pierrec/lz4/v4 v4.1.33 // LZ4
	github.com/rogpeppe/go-internal v1.16.0 // testscript: tests of the command
	github.com/schollz/progressbar/v3 v3.19.1 // progress bar
	github.com/spf13/cobra v1.10.2 // verbs, flags, completions, manual pages
	github.com/spf13/pflag v1.0.10 // the errors of cobra's flags, for our messages
	github.com/stretchr/testify v1.12.1 // tests
	github.com/ulikunitz/xz v0.5.17 // LZMA, compressed netCDF files
	github.com/zeebo/xxh3 v1.1.0 // sums of images that all cores compute
	golang.org/x/crypto v0.58.0 // bcrypt: passwords of cdfz serve
	golang.org/x/mod v0.41.0 // the rules for names in modules, in tests
	golang.org/x/net v0.60.0 // bounds the connections of cdfz serve
	golang.org/x/sync v0.24.0 // errgroup, semaphore
	golang.org/x/sys v0.49.0 // unnamed files, locks, whether there is AVX2
	golang.org/x/term v0.47.0 // whether a stream is a terminal
	golang.org/x/time v0.16.0 // verify --rate
	gopkg.in/ini.v1 v1.67.3 // ~/.aws/config
)

require (
	github.com/andybalholm/brotli v1.1.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/cpuguy83/go-md2man/v2 v2.0.6 // indirect
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/klauspost/crc32 v1.3.0 // indirect
	github.com/minio/crc64nvme v1.1.1 // indirect
	github.com/minio/md5-simd v1.1.2 // indirect
	github.com/mitchellh/colorstring v0.0.0-20190213212951-d06e56a500db // indirect
	github.com/parquet-go/bitpack v1.0.0 // indirect
	github.com/parquet-go/jsonlite v1.0.0 // indirect
	github.com/philhofer/fwd v1.2.0 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/rs/xid v1.6.0 // indirect
	github.com/russross/blackfriday/v2 v2.1.0 // indirect
	github.com/ryszard/goskiplist v0.0.0-20150312221310-2dfbae5fcf46 // indirect
	github.com/tinylib/msgp v1.6.4 // indirect
	github.com/twpayne/go-geom v1.6.1 // indirect
	github.com/valyala/fastrand v1.1.0 // indirect
	github.com/valyala/histogram v1.2.0 // indirect
	go.shabbyrobe.org/gocovmerge v0.0.0-20230507111327-fa4f82cfbf4d // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/tools v0.51.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)
